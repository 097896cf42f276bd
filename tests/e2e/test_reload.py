"""`zot ext reload`, SIGHUP and `--watch` with real hosts and runs."""

from __future__ import annotations

import json
import os
import pty
import signal
import sys
import termios
from contextlib import contextmanager
from fcntl import ioctl
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.host import PRELUDE
from tests.support.host_process import Hosted, hosting
from tests.support.replay_script import Script, ok
from tests.support.zot_process import Zot, wait_until
from wire import control, events, frames
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.zot_process import Running

COMMAND = "read x < pipe; echo $x"
SERVES = """
for frame in frames():
    if frame["type"] == "tool_call" and frame["name"] == "slow":
        open(%(folder)r + "/asked", "w").close()
        while not os.path.exists(%(folder)r + "/gate"): time.sleep(0.005)
        result(frame, VERSION)
    elif frame["type"] == "tool_call":
        result(frame, VERSION)
    elif frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block=True, reason=VERSION)
"""


class Folder:
    """An extension's folder; a test writes one version after another into it."""

    def __init__(self, parent: Path, name: str = "one") -> None:
        self.name = name
        self.path = parent / name
        self.path.mkdir(parents=True)
        self.version("v1")

    def version(
        self,
        version: str,
        *,
        tools: tuple[str, ...] = ("which", "slow"),
        guards: tuple[str, ...] = ("tool_call",),
        **manifest: Any,
    ) -> None:
        self.code(
            f"VERSION = {version!r}\nhello(*{tools!r}, intercept={guards!r})\nsend(type='ready')\n"
            + SERVES % {"folder": str(self.path.parent)},
            **manifest,
        )

    def code(self, code: str, **manifest: Any) -> None:
        """Writes the program first: `--watch` would try a manifest without its program."""
        new = self.path / ".x.py.tmp"
        new.write_text(PRELUDE + code)
        os.replace(new, self.path / "x.py")
        fields = {"name": self.name, "exec": sys.executable, "args": ["-I", "-S", str(self.path / "x.py")], **manifest}
        text = json.dumps(fields)
        if not self.manifest.exists() or self.manifest.read_text() != text:
            self.manifest.write_text(text)

    @property
    def manifest(self) -> Path:
        return self.path / "extension.json"

    def touch_gate(self) -> None:
        (self.path.parent / "gate").touch()

    @property
    def is_asked(self) -> bool:
        return (self.path.parent / "asked").exists()


@pytest.fixture
def folder(zot: Zot) -> Folder:
    return Folder(zot.folder)


def verdict(host: Hosted) -> str:
    question = frames.EventIntercept(host.client.next_id(), "tool_call", tool_name="read", tool_args=frames.Raw(b"{}"))
    answer = host.client.ask(question, frames.InterceptResponse)
    return answer.reason or ""


@contextmanager
def waiting_run(zot: Zot, folder: Folder, *flags: str) -> Iterator[Running]:
    """A run that has begun to call a tool, goes on after `go_on`, and is then to have the tool `more`."""
    folder.version("v1", guards=())
    script = Script(zot.cwd, extra={"which": "", "slow": ""})
    script.call(("bash", {"command": COMMAND}), results=[ok(f"$ {COMMAND}\n\non\n\n[exit 0]  Took 0.0s")])
    script.offer("more").answer("done")
    os.mkfifo(zot.cwd / "pipe")
    with zot.start(*zot.replay_flags(script), "--ext-wait", "120", *flags, "-e", folder.path, "go") as running:
        running.wait_for(events.ToolCall)
        yield running


def go_on(zot: Zot) -> None:
    with (zot.cwd / "pipe").open("w") as pipe:
        pipe.write("on\n")


# --- the command ------------------------------------------------------------------------------------------------


def test_a_call_under_way_ends_in_the_old_version(zot: Zot, folder: Folder):
    with hosting(zot, folder.path) as host:
        caller = host.connect()
        caller.send(frames.ToolCall("slow", "slow", frames.Raw(b"{}")))
        wait_until(lambda: folder.is_asked)
        folder.version("v2", tools=("which",))
        outcome = zot.run("ext", "reload", "one")
        assert (outcome.status, outcome.text, outcome.stderr) == (0, "one  reloaded\n", "")
        assert (host.call("which"), verdict(host)) == ("v2", "v2")
        assert len(host.stats()["one"].pids) == 2
        folder.touch_gate()
        answer = caller.answer_to("slow", frames.ToolResult)
        assert answer.content is not None
        assert answer.content[0].text == "v1"
        wait_until(lambda: len(host.stats()["one"].pids) == 1)
        tools = host.client.ask(control.Registered(host.client.next_id()), control.Registrations).tools
        assert [tool.name for tool in tools] == ["which"]
        caller.close()
    assert "reloaded   one: reload 1: pid " in host.running.errors()


def test_a_version_that_does_not_start_leaves_the_old_one(zot: Zot, folder: Folder):
    with hosting(zot, folder.path) as host:
        folder.code("print('no key', file=sys.stderr); sys.exit(3)")
        outcome = zot.run("ext", "reload", "one", "--json")
        assert outcome.status == 1
        assert json.loads(outcome.stdout) == {
            "host": host.pid,
            "name": "one",
            "outcome": "kept",
            "reason": 'it exited before its hello (exit 3): "no key"',
            "folder": str(folder.path),
            "newer_source": None,
        }
        assert (host.call("which"), verdict(host)) == ("v1", "v1")
        again = zot.run("ext", "reload", "one")
        assert (again.status, again.text) == (1, 'one  kept: it exited before its hello (exit 3): "no key"\n')
        assert host.running.errors().count("reload failed: it exited before its hello (exit 3)") == 2
        folder.manifest.write_text("{")
        assert zot.run("ext", "reload").status == 1
        assert host.call("which") == "v1"


def test_a_run_can_be_reloaded_and_the_model_gets_the_new_tools(zot: Zot, folder: Folder):
    with waiting_run(zot, folder) as running:
        folder.version("v2", tools=("which", "slow", "more"), guards=())
        outcome = zot.run("ext", "reload", "one", "--host", str(running.pid))
        assert (outcome.status, outcome.text) == (0, "one  reloaded\n"), outcome.stderr
        assert running.wait_for(events.Extension, event="reloaded").extension == "one"
        go_on(zot)
        assert running.finish().check(Status.OK).result.extensions["one"].restarts == 0


# --- signals ----------------------------------------------------------------------------------------------------


def test_a_hang_up_reloads_all_where_there_is_no_terminal(zot: Zot, folder: Folder):
    other = Folder(zot.folder, "other")
    with hosting(zot, folder.path, other.path, flags=("--no-ext",)) as host:
        host.client.ask(control.Watch("w", notices=True), control.Ok)
        folder.version("v2")
        other.code("sys.exit(1)")
        host.running.signal(signal.SIGHUP)
        assert host.next_notice("reloaded").extension == "one"
        wait_until(lambda: "other: reload failed: " in host.running.errors())
        assert host.call("which") == "v2"
        host.running.signal(signal.SIGTERM)
        outcome = host.running.finish()
        assert (outcome.status, outcome.leftovers) == (0, [])


@pytest.mark.slow
def test_a_hang_up_of_its_terminal_stops_the_host_in_order(zot: Zot, folder: Folder):
    ours, theirs = pty.openpty()

    def take_terminal() -> None:
        os.setsid()
        ioctl(theirs, termios.TIOCSCTTY, 0)

    zot.env.pop("XDG_RUNTIME_DIR", None)
    with zot.start("host", "--no-ext", "-e", folder.path, preexec_fn=take_terminal) as running:
        os.close(theirs)
        host = Hosted(zot, running)
        host.settle()
        folder.version("v2")
        running.signal(signal.SIGHUP)
        wait_until(lambda: host.call("which") == "v2")
        host.client.close()
        os.close(ours)
        outcome = running.finish()
    assert (outcome.status, outcome.leftovers) == (0, [])
    assert outcome.warnings[-1].split()[1:] == ["info", "stopped", "by", "SIGHUP", f"pid={running.pid}"]


def test_no_process_outlives_a_host_killed_in_a_reload(zot: Zot, folder: Folder):
    with hosting(zot, folder.path) as host:
        begun = zot.folder / "begun"
        folder.code(f"open({str(begun)!r}, 'w').close()\ntime.sleep(600)")
        host.client.send(control.Reload("r", "one"))
        wait_until(begun.exists)
        assert len(host.stats()["one"].pids) == 2
        host.running.signal(signal.SIGKILL)
        host.running.process.wait()
        wait_until(lambda: host.running.find_child("x.py") is None)


# --- files that change ------------------------------------------------------------------------------------------


def test_watch_reloads_when_files_change(zot: Zot):
    parent = zot.home / "extensions"
    folder = Folder(parent)
    with hosting(zot, flags=("--watch",)) as host:
        folder.version("v2")
        wait_until(lambda: host.call("which") == "v2")
        folder.code("this is no Python")
        wait_until(lambda: "reload failed: " in host.running.errors())
        assert host.call("which") == "v2"
        folder.version("v3")
        wait_until(lambda: host.call("which") == "v3")
        Folder(parent, "two")
        wait_until(lambda: "two" in host.stats() and host.stats()["two"].state == "ready")


def test_a_run_with_watch_reloads_when_files_change(zot: Zot, folder: Folder):
    with waiting_run(zot, folder, "--watch") as running:
        folder.version("v2", tools=("which", "slow", "more"), guards=())
        running.wait_for(events.Extension, event="reloaded")
        go_on(zot)
        running.finish().check(Status.OK)
