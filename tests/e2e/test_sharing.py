"""`zot --host`: all that can be wrong with a host, or between a run and a host, and the line that a user sees."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import folder
from tests.support.host import source
from tests.support.host_process import hosting
from tests.support.messages_server import MessagesServer, text_reply, tool_reply
from tests.support.zot_process import wait_until
from wire.dialects.attach import PROTOCOL, Attached, encode
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.zot_process import Outcome, Zot

WHO = """
hello(intercept=[GUARDS] if GUARDS else ())
send(type="register_command", name=NAME if NAME != "own" else "who")
send(type="ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        send(type="command_response", id=frame["id"], action="display", display=NAME + " " + str(os.getpid()))
    else:
        send(type="event_intercept_response", id=frame["id"])
"""
SHARED = {"sessions": "shared"}


def who(parent: Path, name: str = "who", *, guards: str = "", said: str = "", **manifest: Any) -> Path:
    """An extension whose command `who` names it and its process."""
    made = folder(parent, name, [sys.executable, "-I", "-S", "x.py"], **manifest)
    (made / "x.py").write_text(source(f"NAME = {said or name!r}\nGUARDS = {guards!r}\n" + WHO))
    return made


def ask(zot: Zot, host: object, *flags: str | Path, name: str = "who", **popen: Any) -> Outcome:
    """Runs the command of this extension in a run at this host."""
    return zot.run("--host", str(host), *flags, "-p", f"/{name}", **popen)


def refused(outcome: Outcome) -> str:
    """The line of a run that does not begin: nothing was asked of a model or an extension."""
    assert (outcome.status, outcome.stdout, outcome.leftovers) == (Status.REQUIRED_EXTENSION.exit_code, b"", [])
    (line,) = outcome.warnings
    assert "Traceback" not in line
    return line


# --- no host, or one that cannot be used -------------------------------------------------------------------------


def test_no_host_in_the_folder_names_the_command_that_starts_one(zot: Zot) -> None:
    line = refused(ask(zot, "."))
    assert line == f"zot: --host .: no zot host works in {zot.cwd}; start one: zot host --cwd {zot.cwd}"


def test_a_pid_that_is_no_host_and_a_folder_that_is_not_there(zot: Zot) -> None:
    line = "zot: --host 1: no zot host with this pid; zot ps lists hosts, zot host starts one"
    assert refused(ask(zot, "1")) == line
    assert refused(ask(zot, "nowhere")) == "zot: --host nowhere: neither the pid of a host nor a folder"


@contextmanager
def fake_host(zot: Zot, answer: bytes | None) -> Iterator[int]:
    """A socket that answers the first line so; with None never."""
    pid = os.getpid()
    run = zot.home / "run"
    run.mkdir(mode=0o700, parents=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(run / f"{pid}.attach"))
    listener.listen()
    taken = []

    def serve() -> None:
        sock, _ = listener.accept()
        taken.append(sock)
        sock.recv(65536)
        if answer is not None:
            sock.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield pid
    finally:
        thread.join()
        for sock in [*taken, listener]:
            sock.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b'{"type":"hail"}\n', "speaks another version of the attach protocol ("),
        (b"HTTP/1.1 400 Bad Request\n", "speaks another version of the attach protocol ("),
        (
            encode(Attached(PROTOCOL + 1, "9.0", 1, "/", "", ())),
            "speaks another version of the attach protocol; restart it with this zot",
        ),
        (
            b'{"type":"error","message":"this host speaks version 7"}\n',
            "refuses this run: this host speaks version 7",
        ),
        (None, "does not answer within 5 s"),
    ],
    ids=["unknown line", "no JSON", "version", "refusal", "silence"],
)
def test_a_host_that_cannot_be_spoken_to(zot: Zot, answer: bytes | None, said: str) -> None:
    with fake_host(zot, answer) as pid:
        assert f"zot: host {pid} {said}" in refused(ask(zot, pid))


@pytest.mark.slow
def test_a_stopped_host_is_waited_for_within_bounds(zot: Zot) -> None:
    with hosting(zot, who(zot.folder, **SHARED)) as host:
        host.running.signal(signal.SIGSTOP)
        try:
            assert refused(ask(zot, host.pid)) == f"zot: host {host.pid} does not answer within 5 s"
        finally:
            host.running.signal(signal.SIGCONT)
        assert "who" in ask(zot, host.pid).text


def test_the_socket_of_a_killed_host_is_no_host(zot: Zot) -> None:
    with hosting(zot, who(zot.folder, **SHARED)) as host:
        host.running.process.kill()
        host.running.process.wait()
    assert refused(ask(zot, host.pid)).startswith(f"zot: --host {host.pid}: no zot host with this pid")
    assert "no zot host works in" in refused(ask(zot, "."))


def test_two_hosts_in_one_folder(zot: Zot) -> None:
    with hosting(zot) as one, hosting(zot) as two:
        line = refused(ask(zot, "."))
        assert line.startswith(f"zot: --host .: 2 hosts work in {zot.cwd}; name one by its pid: ")
        assert {str(one.pid), str(two.pid)} <= set(line.replace(",", " ").split())


# --- extensions that are not shared ------------------------------------------------------------------------------


def test_two_runs_have_one_process_and_a_private_one_has_its_own(zot: Zot) -> None:
    shared, private = who(zot.folder, **SHARED), who(zot.folder / "other", "mine")
    with hosting(zot, shared) as host:
        first, second = ask(zot, host.pid), ask(zot, ".", "-e", private)
        assert first.text == second.text
        assert ask(zot, ".", "-e", private, name="mine").text.startswith("mine ")
        assert list(host.stats()) == ["who"]
        assert first.text.split() == ["who", str(host.stats()["who"].pids[0])]
        assert (first.status, first.stderr, first.leftovers) == (0, "", [])


def test_a_guard_whose_failure_means_allow_stays_private(zot: Zot) -> None:
    guard = who(zot.folder, guards="tool_call", **SHARED)
    with hosting(zot, guard) as host:
        outcome = ask(zot, host.pid, "-e", guard)
        assert 'a shared one needs "on_failure": "deny", or --share who' in outcome.stderr
        assert outcome.text.split()[1] != str(host.stats()["who"].pids[0])
    with hosting(zot, guard, flags=("--share", "who")) as host:
        outcome = ask(zot, host.pid, "-e", guard)
        assert outcome.text.split()[1] == str(host.stats()["who"].pids[0])


def test_an_extension_that_nobody_shares_is_named_with_the_reason(zot: Zot) -> None:
    mine = who(zot.folder)
    with hosting(zot, mine) as host:
        outcome = ask(zot, host.pid, "-e", mine)
    assert f"host {host.pid} shares nothing with this run" in outcome.stderr
    assert "--share who" in outcome.stderr
    assert outcome.status == 0


def test_a_name_that_is_not_there_is_refused_with_a_near_one(zot: Zot) -> None:
    outcome = zot.run("host", "-e", who(zot.folder, "watcher"), "--share", "watchr")
    assert outcome.status == Status.USAGE.exit_code
    assert "--share: no such extension: 'watchr'; did you mean 'watcher'?" in outcome.stderr
    assert outcome.leftovers == []


def test_a_private_one_of_the_same_name_wins(zot: Zot) -> None:
    theirs, mine = who(zot.folder, **SHARED), who(zot.folder / "mine", said="own", **SHARED)
    with hosting(zot, theirs) as host:
        outcome = ask(zot, host.pid, "-e", mine)
        assert outcome.text.startswith("own ")
        said = f"zot: extension who: this run's own is used, not that of host {host.pid} ({theirs})"
        assert said in outcome.warnings


def test_no_ext_takes_none_that_the_run_has_not_found(zot: Zot) -> None:
    shared = who(zot.folder, **SHARED)
    with hosting(zot, shared) as host:
        assert ask(zot, host.pid, "--no-ext").status != 0
        assert ask(zot, host.pid, "--no-ext", "-e", shared).text.split()[1] == str(host.stats()["who"].pids[0])


def test_extensions_of_another_project_are_not_shared(zot: Zot) -> None:
    place = zot.cwd / ".zot" / "extensions"
    place.mkdir(parents=True)
    who(place, **SHARED)
    other = zot.folder / "other project"
    other.mkdir()
    with hosting(zot, flags=("--trust-project",)) as host:
        assert host.stats()["who"].state == "ready"
        outcome = ask(zot, host.pid, cwd=other)
        assert outcome.status != 0
        said = f"host {host.pid} works in {zot.cwd}: 1 extension of that project (who) not shared with {other}"
        assert said in outcome.stderr


def test_changed_files_are_refused_or_taken_as_they_are(zot: Zot) -> None:
    shared = who(zot.folder, **SHARED)
    with hosting(zot, shared) as host:
        (shared / "x.py").write_text((shared / "x.py").read_text() + "\n# changed")
        line = refused(ask(zot, host.pid, "-e", shared))
        assert f"zot: host {host.pid} runs another version: extension who: its files have changed since" in line
        assert f"zot ext reload NAME --host {host.pid}, or add --host-version" in line
        outcome = ask(zot, host.pid, "-e", shared, "--host-version")
        assert outcome.text.split()[1] == str(host.stats()["who"].pids[0])


def test_variables_that_differ_are_one_line(zot: Zot) -> None:
    shared = who(zot.folder, env=["DESK_TOKEN"], **SHARED)
    zot.env["DESK_TOKEN"] = "planted"
    with hosting(zot, shared) as host:
        assert ask(zot, host.pid, "-e", shared).stderr == ""
        outcome = ask(zot, host.pid, "-e", shared, env={"DESK_TOKEN": "another"})
        said = f"extension who: DESK_TOKEN differ from those of host {host.pid}, which count"
        assert said in outcome.stderr
        assert "planted" not in outcome.stderr


# --- settings ----------------------------------------------------------------------------------------------------


def test_the_setting_host_auto_with_and_without_a_host(zot: Zot) -> None:
    shared = who(zot.folder, **SHARED)
    zot.home.mkdir()
    (zot.home / "config.json").write_text('{"host": "auto"}')
    alone = zot.run("-e", shared, "-p", "/who")
    assert alone.status == 0
    said = (
        f"zot: no zot host works in {zot.cwd}; start one: zot host --cwd {zot.cwd}; this run starts its own extensions"
    )
    assert alone.warnings == [said]
    with hosting(zot, shared) as host:
        with_host = zot.run("-e", shared, "-p", "/who")
        assert with_host.text.split()[1] == str(host.stats()["who"].pids[0])
        (shared / "x.py").write_text((shared / "x.py").read_text() + "\n# changed")
        own = wait_until(lambda: next_process(zot, shared, host.stats()["who"].pids[0]))
        assert "extension who: its files have changed since the host started it" in own.stderr


def next_process(zot: Zot, extension: Path, pid: int) -> Outcome | None:
    """A run whose `who` is not this process: a host looks at files ten times a second at most."""
    outcome = zot.run("-e", extension, "-p", "/who")
    return None if outcome.text.split()[1] == str(pid) else outcome


def test_the_setting_share_shares_whatever_the_manifest_says(zot: Zot) -> None:
    mine = who(zot.folder)
    zot.home.mkdir()
    (zot.home / "config.json").write_text('{"share": ["who"]}')
    with hosting(zot, mine) as host:
        assert ask(zot, host.pid).text.split()[1] == str(host.stats()["who"].pids[0])


# --- in mid-run --------------------------------------------------------------------------------------------------

HANG = """
hello("hang")
send(type="ready")
for frame in frames():
    Path(sys.argv[0] + ".begun").write_text("x")
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=lambda number: number.name)
def test_a_host_that_is_gone_or_stopped_in_mid_run(zot: Zot, number: signal.Signals) -> None:
    shared = folder(
        zot.folder, "hang", [sys.executable, "-I", "-S", "x.py"], timeouts={"tool_call": 2 if number == 19 else 600},
        **SHARED,
    )  # fmt: skip
    (shared / "x.py").write_text("from pathlib import Path\n" + source(HANG))
    with (
        MessagesServer(tool_reply([("hang", {})]), text_reply("Done.")) as server,
        hosting(zot, shared) as host,
        zot.start("--json", "--host", host.pid, "--base-url", server.base_url, "--api-key", "k", "go") as running,
    ):
        wait_until((shared / "x.py.begun").exists)
        host.running.signal(number)
        outcome = running.finish()
        if number == signal.SIGSTOP:
            host.running.signal(signal.SIGCONT)
    outcome.check(Status.OK)
    (text,) = outcome.tool_texts()
    if number == signal.SIGKILL:
        assert f"its host (pid {host.pid}) has ended" in text
        assert f"its host (pid {host.pid}) has ended" in outcome.stderr
    else:
        assert "no answer within 2 s" in text
    assert outcome.result.text == "Done."
    assert json.dumps(outcome.stderr).count("Traceback") == 0
