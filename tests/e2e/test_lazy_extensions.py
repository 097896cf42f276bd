"""Extensions that start when needed, in each kind of host."""

from __future__ import annotations

import os
import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.process.table import read_process
from tests.support.extension_folder import CHILDREN, extension, folder
from tests.support.host_process import hosting
from tests.support.lives import is_gone
from tests.support.mcp_files import write_servers
from tests.support.mcp_served_client import McpClient
from tests.support.replay_script import Script, ok
from tests.support.zot_process import wait_until
from wire.events import Extension
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

LAZY: dict[str, Any] = {"start": "lazy", "env_policy": "minimal"}
"""Each process of a test has a variable of its own."""
ECHO = {"echo": "Returns its text."}


@pytest.fixture
def lazy(zot) -> Path:
    return extension(zot.folder, "echo", **LAZY)


def learn(zot, *extensions: Path) -> None:
    """Starts a host once, so that the registrations are kept."""
    with hosting(zot, *extensions):
        wait_until(lambda: len(kept(zot)) == len(extensions))


def kept(zot) -> list[str]:
    folder = zot.home / "registrations"
    return sorted(name for name in os.listdir(folder) if name[0] != ".") if folder.exists() else []


def events_of(outcome: Any) -> list[str]:
    return [record.event for record in outcome.of(Extension)]


def test_a_host_shows_one_that_sleeps_and_one_call_wakes_it(zot, lazy):
    learn(zot, lazy)
    with hosting(zot, lazy) as host:
        stats = host.stats()["echo"]
        assert (stats.state, stats.pids, stats.tools) == ("asleep", (), 1)
        assert "1 asleep" in zot.run("ps").text
        shown = zot.run("ext", "status", "echo")
        assert (shown.status, shown.text.splitlines()[0].startswith("echo: asleep for ")) == (0, True)
        assert host.call("echo", "hi") == "hi"
        stats = host.stats()["echo"]
        assert (stats.state, stats.start_waits, stats.exits) == ("ready", 1, 0)
        assert zot.run("ext", "stats", "echo").text.count("waited") == 1


@pytest.mark.slow
def test_restart_reload_and_doctor_start_one_that_sleeps(zot, lazy):
    learn(zot, lazy)
    for command in (("ext", "restart", "echo"), ("ext", "reload", "echo")):
        with hosting(zot, lazy) as host:
            assert host.stats()["echo"].state == "asleep"
            assert zot.run(*command).status == 0
            wait_until(lambda: host.stats()["echo"].state == "ready")
            assert host.call("echo", "hi") == "hi"
    assert zot.run("ext", "doctor", lazy).status == 0


def test_a_run_starts_none_that_it_does_not_need(zot):
    lazy = extension(zot.folder, "echo", **LAZY, name="echo")
    plain = Script(zot.cwd, extra=ECHO)
    first = zot.replay(plain.answer("Done."), "-e", lazy).check(Status.OK)
    assert "started" in events_of(first)
    assert len(kept(zot)) == 1, "the end of a run keeps the registrations of its extensions"
    calling = Script(zot.cwd, extra=ECHO).call(("echo", {"text": "hello"}), results=[ok("hello")])
    outcome = zot.replay(calling.answer("Done."), "-e", lazy).check(Status.OK)
    cost = outcome.result.extensions["echo"]
    assert (cost.calls, cost.errors, cost.start_waits) == (2, 0, 1)
    told = [record.message for record in outcome.of(Extension) if record.extension == "echo"]
    assert "awake: a request or an event needs it" in told
    assert not [message for message in told if "first request" in message], "its tools were offered from the beginning"


def test_a_run_without_need_has_no_process_of_it(zot):
    program = 'echo \'{"type":"hello","name":"x"}\'; echo \'{"type":"ready"}\'; cat > /dev/null'
    lazy = folder(zot.folder, "plain", ["/bin/sh", "-c", program], **LAZY)
    for state, starts in (("exited", 1), ("asleep", 0)):
        outcome = zot.replay(Script(zot.cwd).answer("Done."), "-e", lazy).check(Status.OK)
        cost = outcome.result.extensions["plain"]
        assert (cost.state, events_of(outcome).count("started"), cost.exits) == (state, starts, starts)
        assert outcome.stderr == ""


def test_a_server_of_a_file_is_lazy_in_a_host_and_behind_mcp_serve(zot):
    shutil.copy(CHILDREN / "mcp" / "reference.sh", zot.cwd / "server.sh")
    write_servers(zot.cwd / ".mcp.json", one={"command": "sh", "args": ["server.sh", "one"], **LAZY})
    with hosting(zot, flags=("--trust-project",)) as host:
        assert host.call("mcp__one__echo", "hi") == "hi"
        wait_until(lambda: len(kept(zot)) == 1)
    with hosting(zot, flags=("--trust-project",)) as host:
        assert host.stats()["one"].state == "asleep"
        assert host.call("mcp__one__echo", "hi") == "hi"
    with McpClient(zot, "--trust-project") as client:
        assert "mcp__one__echo" in str(client.ask("tools/list"))
        called = client.ask("tools/call", {"name": "mcp__one__echo", "arguments": {"text": "hello"}})
        assert "hello" in str(called)


def test_no_process_outlives_a_killed_host_that_has_woken_one(zot, lazy):
    sleeper = extension(zot.folder, "workbench", zot.folder / "cancels", **LAZY)
    learn(zot, lazy, sleeper)
    with hosting(zot, lazy, sleeper) as host:
        assert host.call("echo", "hi") == "hi"
        [pid] = host.stats()["echo"].pids
        assert host.stats()["workbench"].pids == ()
        os.kill(host.pid, signal.SIGKILL)
        wait_until(lambda: is_gone(pid))
    assert read_process(pid) is None or is_gone(pid)
    with hosting(zot, lazy, sleeper) as host:
        assert {stats.state for stats in host.stats().values()} == {"asleep"}


def test_a_run_that_takes_it_from_a_host_wakes_it_there(zot):
    lazy = extension(zot.folder, "echo", **LAZY, sessions="shared")
    flags = ("--share", "echo")
    with hosting(zot, lazy, flags=flags):
        wait_until(lambda: len(kept(zot)) == 1)
    with hosting(zot, lazy, flags=flags) as host:
        script = Script(zot.cwd, extra=ECHO).call(("echo", {"text": "hello"}), results=[ok("hello")])
        outcome = zot.replay(script.answer("Done."), "--host", str(host.pid)).check(Status.OK)
        assert outcome.result.extensions["echo"].calls == 2
        stats = host.stats()["echo"]
        assert (stats.state, stats.start_waits) == ("ready", 1)
