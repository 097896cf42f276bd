"""Few descriptors: what cannot be started for want of them costs its extension; the host serves, and says what to
raise."""

from __future__ import annotations

import os
import re
import resource
import sys
from typing import TYPE_CHECKING

import pytest

from supervisor.control.client import ControlError
from supervisor.process import fd_limit
from tests.support.extension_folder import extension, folder
from tests.support.full_extension import Lines, everything, use_everything
from tests.support.host_process import Hosted, hosting
from tests.support.replay_script import Script, ok
from tests.support.zot_process import wait_until
from wire import control
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot

MANY = 30
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors by /proc")


def crowd(parent: Path, count: int = MANY) -> list[Path]:
    """Makes `count` small extensions that are given up after the second failed start."""
    return [
        extension(parent, "echo.sh", f"e{number}", name=f"e{number}", restart={"backoff_s": [0.05, 0.05], "max": 2})
        for number in range(count)
    ]


def limited(zot: Zot, limit: int) -> list[str]:
    return ["/bin/sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *zot.command]


def check_that_few_descriptors_cost_only_some_extensions(zot: Zot, limit: int) -> int:
    """Returns how many extensions came up."""
    zot.command = limited(zot, limit)
    with hosting(zot, *crowd(zot.folder)) as host:
        wait_until(lambda: all(stats.state in ("ready", "failed") for stats in host.stats().values()))
        states = {name: stats.state for name, stats in host.stats().items()}
        up = [name for name, state in states.items() if state == "ready"]
        for name in states:
            host.client.ask(control.GetStatus("s", name), control.StatusReply)
        with host.connect() as other:
            other.ask(control.StopHost("x"), control.Ok)
        outcome = host.running.finish()
    assert (outcome.status, outcome.leftovers) == (0, []), outcome.stderr
    assert "Traceback" not in outcome.stderr
    if len(up) < MANY:
        needed = fd_limit.required_descriptors(MANY)
        assert re.search(rf"Too many open files \(raise ulimit -n to {needed}, now {limit}\)", outcome.stderr)
    return len(up)


def test_with_few_descriptors_a_host_serves_as_many_extensions_as_it_can(zot: Zot) -> None:
    """As in `ulimit -n 100; zot host`."""
    assert 3 <= check_that_few_descriptors_cost_only_some_extensions(zot, 100) < MANY


@pytest.mark.slow
@pytest.mark.parametrize("limit", [*range(32, 64, 8), *range(64, 300, 60), 300])
def test_no_limit_of_descriptors_ends_a_host(zot: Zot, limit: int) -> None:
    check_that_few_descriptors_cost_only_some_extensions(zot, limit)


@pytest.mark.parametrize("command", [["host"], ["-p", "go"], ["--json", "go"]])
def test_too_few_for_anything_is_one_line(zot: Zot, command: list[str]) -> None:
    outcome = zot.run(*command, command=limited(zot, fd_limit.LEAST - 1))
    assert (outcome.status, outcome.stdout) == (1, b"")
    (line,) = outcome.warnings
    assert line.endswith("this process may open 31 files, and needs 32 at least: raise ulimit -n")


def test_a_run_with_few_descriptors_ends_in_order(zot: Zot) -> None:
    """Its tools and its result come before extensions that do not fit."""
    script = Script(zot.cwd, extra={"echo": ""})
    script.call(("write", {"path": "made", "content": "x\n"}), results=[ok("x\n")])
    named = [word for path in crowd(zot.folder, 12) for word in ("-e", path)]
    cassette = script.answer("Done.").write(zot.folder / "cassette.jsonl")
    outcome = zot.run("--json", "--replay", cassette, *named, "go", command=limited(zot, 64))
    assert outcome.leftovers == []
    assert "Traceback" not in outcome.stderr
    assert outcome.result.status in (Status.OK.value, Status.ERROR.value)
    assert "raise ulimit -n to " in outcome.stderr


# --- later ------------------------------------------------------------------------------------------------------


def allow(host: Hosted, descriptors: int) -> None:
    """Changes the soft limit of the host while it runs; those that are open stay open."""
    hard = resource.prlimit(host.pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(host.pid, resource.RLIMIT_NOFILE, (descriptors, hard))


@pytest.mark.parametrize("free", [0, 2, 6, *(pytest.param(free, marks=pytest.mark.slow) for free in (1, 3, 4, 8, 12))])
def test_a_host_whose_descriptors_run_out_serves_on_and_recovers(zot: Zot, free: int) -> None:
    flags = ("--stats", str(zot.folder / "stats"), "--metrics", str(zot.folder / "metrics"))
    restart = {"backoff_s": [0.05, 0.05], "max": 1000, "window_s": 3600}
    with (
        hosting(zot, everything(zot.folder, restart=restart), extension(zot.folder, "echo"), flags=flags) as host,
        Lines(host.socket) as lines,
    ):
        lines.ask({"type": "info"})  # by then the host has accepted the connection
        soft = resource.prlimit(host.pid, resource.RLIMIT_NOFILE)[0]
        allow(host, len(os.listdir(f"/proc/{host.pid}/fd")) + free)
        use_everything(host, lines)
        assert host.call("echo", "still here") == "still here"
        allow(host, soft)
        wait_until(lambda: host.stats()["all"].state == "ready")
        assert host.call("all_say", "hi") == "hi"
        with host.connect() as other:
            assert other.ask(control.Info("i"), control.HostInfoReply).pid == host.pid
        lines.ask({"type": "stop"})
        outcome = host.running.finish()
    assert (outcome.status, outcome.leftovers) == (0, []), outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_a_host_that_stops_without_a_free_descriptor_leaves_nothing(zot: Zot) -> None:
    tree = extension(zot.folder, "daemon_grandchild", zot.folder / "pid")
    with hosting(zot, tree, *crowd(zot.folder, 5)) as host:
        allow(host, len(os.listdir(f"/proc/{host.pid}/fd")))
        host.client.ask(control.StopHost("s"), control.Ok)
        outcome = host.running.finish()
    assert (outcome.status, outcome.leftovers) == (0, []), outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_more_clients_than_descriptors_are_refused_with_a_word(zot: Zot) -> None:
    zot.command = limited(zot, 80)
    with hosting(zot, extension(zot.folder, "echo")) as host:
        clients, refusals = [], []
        for _ in range(200):
            client = host.connect()
            try:
                client.ask(control.Info("i"), control.HostInfoReply)
                clients.append(client)
            except ControlError as error:
                refusals.append(str(error))
                client.close()
        assert len(clients) >= 30
        assert all("hardly any descriptor left (raise ulimit -n" in refusal for refusal in refusals), refusals[:3]
        assert host.call("echo", "still here") == "still here"
        for client in clients:
            client.close()
        wait_until(lambda: _is_taken(host))
        host.client.ask(control.StopHost("s"), control.Ok)
        assert host.running.finish().status == 0


def _is_taken(host: Hosted) -> bool:
    with host.connect() as client:
        try:
            return client.ask(control.Info("i"), control.HostInfoReply).pid == host.pid
        except ControlError:
            return False


def test_an_extension_has_the_limit_that_the_user_has_set(zot: Zot) -> None:
    """The host raises its own for many workers."""
    script = zot.folder / "limit.sh"
    script.write_text(f"ulimit -Sn > {zot.folder}/seen; ulimit -Hn >> {zot.folder}/seen\nexec /bin/sh $1\n")
    echo = extension(zot.folder, "echo.sh") / "extension.json"
    assert echo.exists()
    child = folder(
        zot.folder, "child", ["/bin/sh", str(script), str(zot.folder / "echo.sh")], restart={"policy": "temporary"}
    )
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if 0 <= hard < 300:
        pytest.skip("the hard limit of this machine is below what a host asks for")
    zot.command = ["/bin/sh", "-c", 'ulimit -Sn 128; exec "$@"', "sh", *zot.command]
    with hosting(zot, child) as host:
        wait_until(lambda: (zot.folder / "seen").exists() and len((zot.folder / "seen").read_text().split()) == 2)
        assert resource.prlimit(host.pid, resource.RLIMIT_NOFILE)[0] >= fd_limit.required_descriptors(1)
    soft, same_hard = (zot.folder / "seen").read_text().split()
    assert soft == "128"
    assert same_hard == ("unlimited" if hard < 0 else str(hard))
