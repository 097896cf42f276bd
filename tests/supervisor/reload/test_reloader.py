"""A new version starts beside the old one, takes over in one step, and changes nothing if it does not get ready."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.discovery.discover import Discovery, Found, Scope, Skipped
from supervisor.extension.lifecycle import (
    GenerationState,
    GenerationTrigger,
    State,
    advance_generation,
    may_take_over,
)
from supervisor.process.table import read_process
from supervisor.reload.file_watcher import LOOK_S
from supervisor.reload.plan import Keep, KnownExtension, Replace, Skip, Start, Stop, plan_all, plan_one
from supervisor.reload.reloader import Reloader
from tests.support.host import ONCE, PRELUDE, QUICK, Host
from wire import frames
from wire.manifest import ManifestError, parse_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.extension.extension import Extension
    from wire.control import ReloadOutcome

SOON = {"backoff_s": [0.01, 0.05], "max": 50}
SERVES = """
for frame in frames():
    if frame["type"] == "tool_call" and frame["name"] == "hold":
        held = frame
        open(%(marks)r + ".held", "w").close()
    elif frame["type"] == "tool_call" and frame["name"] == "free":
        result(frame, VERSION)
    elif frame["type"] == "tool_call":
        result(frame, json.dumps({"version": VERSION, "pid": os.getpid(), "seen": seen}))
    elif frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block=True, reason=VERSION)
    elif frame["type"] == "event":
        seen.append(frame["event"])
        if frame["event"] == "turn_end":
            result(held, VERSION)
"""


class Folder:
    """An extension's folder, of which a test writes one version after another."""

    def __init__(self, host: Host, name: str = "one", **manifest: Any) -> None:
        self.host = host
        self.name = name
        self.path = host.folder / f"ext-{name}"
        self.path.mkdir()
        self.marks = host.folder / name
        self.manifest = manifest
        self.version("v1")
        host.found.append(Found(self.path, parse_manifest(self.text()), Scope.EXPLICIT, len(host.found)))

    def text(self) -> bytes:
        fields = {"name": self.name, "exec": sys.executable, "args": ["-I", "-S", str(self.path / "x.py")]}
        fields |= {"timeouts": QUICK, "restart": ONCE, **self.manifest}
        return json.dumps(fields).encode()

    def version(self, version: str, *, tools: tuple[str, ...] = ("who", "hold"), **manifest: Any) -> None:
        """One that says which it is, with these tools, and guards tool calls."""
        self.code(
            f"VERSION, seen, held = {version!r}, [], None\n"
            f"hello(*{tools!r}, intercept=['tool_call'], events=['session_start', 'turn_start', 'turn_end'])\n"
            "send(type='ready')\n" + SERVES % {"marks": str(self.marks)},
            **manifest,
        )

    def code(self, code: str, **manifest: Any) -> None:
        self.manifest |= manifest
        (self.path / "x.py").write_text(PRELUDE + code)
        (self.path / "extension.json").write_bytes(self.text())

    @property
    def extension(self) -> Extension:
        return self.host.extension(self.name)

    def reload(self) -> ReloadOutcome:
        (outcome,) = reload(self.host, self.name)
        return outcome

    def says(self, tool: str = "who") -> dict[str, Any]:
        return json.loads(self.host.text(tool))


def reload(host: Host, name: str | None = None) -> tuple[ReloadOutcome, ...]:
    """Reloads, and waits for what has become of it."""
    got: list[tuple[ReloadOutcome, ...]] = []
    host.reloader.begin(name, got.append)
    assert not got, "never from within the call"
    host.until(lambda: got)
    return got[0]


def lone(host: Host, extension: Extension) -> None:
    """Waits until only the present version is left."""
    host.until(lambda: len(extension.generations) == 1)


def is_gone(pid: int) -> bool:
    return read_process(pid) is None


@pytest.fixture
def folder(host: Host) -> Folder:
    return Folder(host)


# --- it takes over ----------------------------------------------------------------------------------------------


def test_the_new_version_takes_over_and_the_old_one_is_stopped_in_order(host: Host, folder: Folder):
    host.start()
    host.supervisor.begin_session()
    before = folder.says()
    folder.version("v2", tools=("who", "hold", "more"))
    assert (folder.reload().outcome, folder.extension.reloads) == ("reloaded", 1)
    after = folder.says()
    assert (before["version"], after["version"]) == ("v1", "v2")
    assert after["seen"] == ["session_start"]
    assert host.tools() == {"who", "hold", "more"}
    lone(host, folder.extension)
    assert is_gone(before["pid"])
    assert host.said_of("one") == [("reloaded", f"reload 1: pid {after['pid']} has taken over")]
    cost = host.cost("one")
    assert (cost.state, cost.restarts, cost.exits, cost.exit_status, cost.errors) == ("ready", 0, 1, "exit 0", 0)
    assert cost.calls == 2, "one account for both"
    log = host.log("one")
    assert log.index("starting a new version") < log.index("has taken over") < log.index("ended: exit 0")


def test_tools_that_the_new_version_does_not_have_are_gone_and_guards_change_at_once(host: Host, folder: Folder):
    folder.version("v1", tools=("old", "who"))
    host.start()
    assert host.ask().reason == "v1"
    folder.version("v2", tools=("who",))
    folder.reload()
    assert host.tools() == {"who"}
    assert host.ask().reason == "v2"
    folder.code("hello('who')\nsend(type='ready')\nfor frame in frames(): pass")
    folder.reload()
    assert not host.ask().is_blocked
    assert host.supervisor.guards_of("tool_call") == []


def test_what_was_asked_of_the_old_one_is_answered_by_it(host: Host, folder: Folder):
    host.start()
    answers: list[Any] = []
    host.supervisor.begin_call("hold", b"{}", answers.append)
    host.until((host.folder / "one.held").exists)
    old = folder.extension.lead
    folder.version("v2", tools=("who", "hold"))
    folder.reload()
    assert folder.says()["version"] == "v2"
    assert old.is_running
    assert not answers
    old.tell(b'{"type":"event","event":"turn_end"}\n')
    host.until(lambda: answers)
    assert answers[0].frame.content[0].text == "v1"
    lone(host, folder.extension)
    assert host.cost("one").exit_status == "exit 0"


def test_a_call_that_the_old_one_never_answers_ends_by_its_own_deadline(host: Host, folder: Folder):
    folder.version("v1", timeouts={**QUICK, "tool_call": 0.3})
    host.found[-1] = replace(host.found[-1], manifest=parse_manifest(folder.text()))
    host.start()
    answers: list[Any] = []
    host.supervisor.begin_call("hold", b"{}", answers.append)
    folder.version("v2")
    folder.reload()
    host.until(lambda: answers)
    assert answers[0].reason == "no answer within 0.3 s"
    lone(host, folder.extension)


def test_the_old_one_dies_over_its_last_call(host: Host, folder: Folder):
    host.start()
    answers: list[Any] = []
    host.supervisor.begin_call("hold", b"{}", answers.append)
    old = folder.extension.lead
    folder.version("v2")
    folder.reload()
    old.kill(signal.SIGKILL)
    host.until(lambda: answers)
    assert "it ended (signal SIGKILL)" in answers[0].reason
    lone(host, folder.extension)
    kind, line = host.said_of("one")[-1]
    assert kind == "warning"
    assert "the version that was replaced did not finish its calls: it ended (signal SIGKILL)" in line
    assert folder.says()["version"] == "v2"


def test_what_the_old_one_left_running_is_ended_and_what_the_new_one_started_is_not(host: Host, folder: Folder):
    daemon = (
        "pid = os.fork()\n"
        "if not pid:\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        "    open(%r, 'w').write(str(os.getpid()) + '\\n')\n"
        "    time.sleep(600)\n"
        "os.waitpid(pid, 0)\n"
        "while not os.path.exists(%r) or not open(%r).read().endswith('\\n'): time.sleep(0.001)\n"
        "hello()\nsend(type='ready')\nfor frame in frames(): pass"
    )
    marks = [host.folder / f"daemon{number}" for number in (1, 2)]
    folder.code(daemon % ((str(marks[0]),) * 3))
    host.start()
    folder.code(daemon % ((str(marks[1]),) * 3))
    folder.reload()
    old, new = (int(mark.read_text()) for mark in marks)
    lone(host, folder.extension)
    assert is_gone(old)
    assert not is_gone(new)
    host.stop()
    assert is_gone(new)


def test_both_are_accounted_while_both_run(host: Host, folder: Folder):
    host.start()
    answers: list[Any] = []
    host.supervisor.begin_call("hold", b"{}", answers.append)
    folder.version("v2")
    folder.reload()
    host.supervisor.sample()
    stats = host.supervisor.stats()["one"]
    assert len(stats.pids) == 2
    assert stats.processes == 2
    assert stats.pending == 1
    assert host.cost("one").processes_peak == 2
    host.supervisor.cancel_pending("enough")
    lone(host, folder.extension)


def test_a_pool_is_replaced_as_one(host: Host, folder: Folder):
    folder.version("v1", workers=2)
    host.found[-1] = replace(host.found[-1], manifest=parse_manifest(folder.text()))
    host.start()
    folder.version("v2", workers=3)
    assert folder.reload().outcome == "reloaded"
    assert [one.state for one in folder.extension.workers] == [State.READY] * 3
    lone(host, folder.extension)
    assert host.supervisor.stats()["one"].workers == 3


def test_all_of_a_pool_must_be_ready_and_agree(host: Host, folder: Folder):
    host.start()
    folder.code(
        f"first = os.open({str(host.folder)!r} + '/first', os.O_CREAT)\n"
        "import fcntl\n"
        "try: fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB); tool = 'a'\n"
        "except OSError: tool = 'b'\n"
        "hello(tool)\nsend(type='ready')\nfor frame in frames(): pass",
        workers=2,
    )
    outcome = folder.reload()
    assert outcome.outcome == "kept"
    assert "is not like the others: tools differ (a, b)" in outcome.reason
    assert folder.says()["version"] == "v1"
    lone(host, folder.extension)


def test_a_manifest_that_has_changed_counts(host: Host, folder: Folder):
    host.add("echo")
    host.start()
    assert [one.name for one in host.supervisor.extensions] == ["one", "echo"]
    folder.version("v2", priority=-1, limits={"rss_mb": 900}, on_failure="deny", timeouts={**QUICK, "intercept": 4.0})
    folder.reload()
    extension = folder.extension
    assert (extension.limits.rss_mb, extension.manifest.on_failure) == (900, "deny")
    assert (extension.timeouts.intercept, extension.lead.timeouts.intercept) == (4.0, 4.0)
    assert [one.name for one in host.supervisor.extensions] == ["echo", "one"]
    assert [one.name for one in host.supervisor.guards_of("tool_call")] == ["echo", "one"]


def test_a_verdict_is_never_missing(host: Host, folder: Folder):
    host.start()
    verdicts: list[str] = []
    reloads = 0

    def again(_outcomes: Any) -> None:
        nonlocal reloads
        reloads += 1
        if reloads < 8:
            folder.version(f"v{reloads + 2}")
            host.reloader.begin("one", again)

    folder.version("v2")
    host.reloader.begin("one", again)
    while reloads < 8:
        verdicts.append(host.ask().reason)
    assert [kind for kind, _ in host.said_of("one")] == ["reloaded"] * 8
    seen = list(dict.fromkeys(verdicts))
    assert seen == sorted(seen, key=lambda one: int(one[1:])), "no verdict of an old one after one of a new one"
    assert all(verdicts)
    lone(host, folder.extension)


def test_a_version_that_guards_no_more_takes_over_in_the_middle_of_a_verdict(host: Host, folder: Folder):
    asked, gate = host.folder / "asked", host.folder / "go"
    host.write(
        "first",
        f"hello(intercept=['tool_call'])\nsend(type='ready')\n"
        f"for frame in frames():\n"
        f"    open({str(asked)!r}, 'w').close()\n"
        f"    while not os.path.exists({str(gate)!r}): time.sleep(0.001)\n"
        f"    send(type='event_intercept_response', id=frame['id'])\n",
        priority=1,
    )
    host.start()
    folder.code("hello('who')\nsend(type='ready')\nfor frame in frames(): pass", timeouts={**QUICK, "intercept": 0.5})

    def during_the_verdict() -> None:
        if asked.exists():
            host.reloader.begin("one", lambda _outcomes: gate.touch())
        else:
            host.loop.call_later(0.001, during_the_verdict)

    judgements: list[Any] = []
    during_the_verdict()
    assert not host.ask().is_blocked
    folder.version("v3")
    for mark in (asked, gate):
        mark.unlink()
    folder.reload()
    folder.code("hello('who')\nsend(type='ready')\nfor frame in frames(): pass")
    event = frames.Event("tool_call", tool_id="t", tool_name="read", tool_args=frames.Raw(b"{}"))
    host.supervisor.begin_intercept(event, judgements.append)
    during_the_verdict()
    host.until(lambda: judgements)
    assert not judgements[0].is_blocked
    assert "no_verdict" not in [kind for kind, _ in host.said_of("one")]


# --- it does not ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print('no key', file=sys.stderr); sys.exit(3)", 'it exited before its hello (exit 3): "no key"'),
        ("send(type='ready')\nfor frame in frames(): pass", "its first frame must be hello, not ready"),
        ("hello('who'); sys.exit(4)", "it ended (exit 4)"),
        ("time.sleep(600)", "said no hello within 0.2 s"),
    ],
    ids=["crash", "no hello", "crash after hello", "silence"],
)
def test_a_version_that_does_not_start_changes_nothing(host: Host, folder: Folder, code: str, reason: str):
    host.start()
    before = folder.says()
    folder.code(code, timeouts={**QUICK, "hello": 0.2 if "600" in code else 5.0})
    outcome = folder.reload()
    assert (outcome.outcome, outcome.reason) == ("kept", reason)
    log = folder.extension.log.path
    assert host.said_of("one") == [
        ("warning", f"reload failed: {reason}; the version that was running goes on (log: {log})")
    ]
    assert folder.says() == before
    assert host.ask().reason == "v1"
    assert folder.extension.timeouts.hello == QUICK["hello"]
    lone(host, folder.extension)
    folder.version("v2")
    assert folder.reload().outcome == "reloaded"


def test_a_program_that_is_not_there_changes_nothing(host: Host, folder: Folder):
    host.start()
    folder.version("v2", exec="./nothing")
    outcome = folder.reload()
    assert (outcome.outcome, "no such file" in outcome.reason) == ("kept", True)
    assert folder.says()["version"] == "v1"
    lone(host, folder.extension)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "parse manifest"), ('{"name": "one"}', "exec is required"), ('{"name": "two", "exec": "x"}', "'two' now")],
)
def test_a_bad_manifest_changes_nothing(host: Host, folder: Folder, text: str, reason: str):
    host.start()
    (folder.path / "extension.json").write_text(text)
    outcome = folder.reload()
    assert (outcome.outcome, reason in outcome.reason) == ("kept", True)
    assert folder.says()["version"] == "v1"


def test_one_that_may_not_run_is_not_started(host: Host, folder: Folder):
    host.start()
    asked = []

    def may_run(found: Found, old: Any) -> str:
        asked.append((found.manifest.env, old.env))
        return "it asks for OPENAI_API_KEY"

    host.reloader = Reloader(host.supervisor, may_run=may_run)
    folder.version("v2", env=["OPENAI_API_KEY"])
    assert folder.reload().outcome == "kept"
    assert asked == [(("OPENAI_API_KEY",), ())]
    assert "zot ext trust one, then zot ext reload one; the version that was running" in host.said_of("one")[0][1]
    assert folder.says()["version"] == "v1"


# --- what happens meanwhile -------------------------------------------------------------------------------------

SLOWLY = """
open(%r, "w").close()
while not os.path.exists(%r): time.sleep(0.001)
VERSION, seen, held = "v2", [], None
hello("who", intercept=["tool_call"])
send(type="ready")
"""


def slowly(host: Host, folder: Folder) -> tuple[Path, list[tuple[ReloadOutcome, ...]]]:
    """A reload whose new version waits until there is a file."""
    gate, begun = host.folder / "gate", host.folder / "begun"
    folder.code(SLOWLY % (str(begun), str(gate)) + SERVES % {"marks": str(folder.marks)})
    got: list[tuple[ReloadOutcome, ...]] = []
    host.reloader.begin("one", got.append)
    host.until(begun.exists)
    return gate, got


def test_the_old_one_answers_while_the_new_one_starts(host: Host, folder: Folder):
    host.start()
    gate, got = slowly(host, folder)
    assert host.supervisor.stats()["one"].state == "reloading"
    assert (folder.says()["version"], host.ask().reason) == ("v1", "v1")
    gate.touch()
    host.until(lambda: got)
    assert (folder.says()["version"], host.ask().reason) == ("v2", "v2")


def test_the_old_one_dies_while_the_new_one_starts(host: Host, folder: Folder):
    folder.version("v1", restart={"backoff_s": [60, 60]})
    host.found[-1] = replace(host.found[-1], manifest=parse_manifest(folder.text()))
    host.start()
    gate, got = slowly(host, folder)
    folder.extension.lead.kill(signal.SIGKILL)
    host.until(lambda: folder.extension.state is State.BACKOFF)
    assert not host.call_of("one", "who").frame
    gate.touch()
    host.until(lambda: got)
    assert got[0][0].outcome == "started"
    assert folder.says()["version"] == "v2"
    lone(host, folder.extension)


def test_both_die_and_the_restart_policy_goes_on(host: Host, folder: Folder):
    folder.version("v1", restart=SOON)
    host.found[-1] = replace(host.found[-1], manifest=parse_manifest(folder.text()))
    host.start()
    _, got = slowly(host, folder)
    for worker in folder.extension.all_workers:
        worker.kill(signal.SIGKILL)
    folder.version("v3")
    host.until(lambda: got)
    assert got[0][0].outcome == "kept"
    host.until(lambda: host.cost("one").restarts == 1)
    assert folder.says()["version"] == "v3"


def test_a_second_reload_starts_over_and_both_hear_the_same(host: Host, folder: Folder):
    host.start()
    _, got = slowly(host, folder)
    folder.version("v3")
    (second,) = reload(host, "one")
    host.until(lambda: got)
    assert got[0][0] == second
    assert second.outcome == "reloaded"
    assert folder.says()["version"] == "v3"
    lone(host, folder.extension)
    assert [kind for kind, _ in host.said_of("one")] == ["reloaded"]


def test_one_that_is_down_is_started(host: Host, folder: Folder):
    folder.code("sys.exit(3)")
    host.start()
    assert folder.extension.state is State.FAILED
    folder.version("v2")
    assert folder.reload().outcome == "started"
    assert folder.says()["version"] == "v2"
    folder.extension.lead.kill(signal.SIGKILL)
    host.until(lambda: folder.extension.state is State.FAILED)
    folder.code("sys.exit(4)")
    assert folder.reload().outcome == "kept"
    assert "it stays down as it was" in host.said_of("one")[-1][1]


def test_the_end_of_the_host_in_the_middle_of_it(host: Host, folder: Folder):
    host.start()
    host.supervisor.begin_call("hold", b"{}", lambda _answer: None)
    folder.version("v2")
    folder.reload()
    _, got = slowly(host, folder)
    pids = [worker.pid for worker in folder.extension.all_workers]
    assert len(pids) == 3
    host.stop()
    assert all(is_gone(pid) for pid in pids)
    host.until(lambda: got)
    assert got[0][0].reason == "the host is stopping"


def test_many_reloads_leave_nothing(host: Host, folder: Folder):
    host.start()
    host.supervisor.sample()
    open_before = len(os.listdir("/proc/self/fd"))
    for number in range(10):
        folder.version(f"v{number + 2}")
        assert folder.reload().outcome == "reloaded"
        lone(host, folder.extension)
    host.supervisor.sample()  # until then it holds the files of those that have ended
    assert len(os.listdir("/proc/self/fd")) == open_before
    assert len(host.loop.children) == 1


def test_versions_that_still_finish_their_calls_are_not_piled_up(host: Host, folder: Folder):
    host.start()
    for _ in range(8):
        host.supervisor.begin_call("hold", b"{}", lambda _answer: None)
        assert folder.reload().outcome == "reloaded"
    outcome = folder.reload()
    assert (outcome.outcome, "8 earlier versions still finish" in outcome.reason) == ("kept", True)
    host.supervisor.cancel_pending("enough")
    lone(host, folder.extension)


# --- all of them ------------------------------------------------------------------------------------------------


def test_one_that_fails_costs_no_other(host: Host):
    good, bad = Folder(host, "good"), Folder(host, "bad")
    host.start()
    bad.code("sys.exit(1)")
    assert [(one.name, one.outcome) for one in reload(host)] == [("good", "reloaded"), ("bad", "kept")]
    assert {good.extension.reloads, bad.extension.reloads} == {1, 0}


def test_all_are_found_again(host: Host, tmp_path: Path):
    _, goes, off = (Folder(host, name) for name in ("stays", "goes", "off"))
    host.found = [replace(one, scope=Scope.GLOBAL, position=0) for one in host.found]
    host.start()
    new = Folder(host, "new")
    (new_found,) = [one for one in host.found if one.manifest.name == "new"]
    stays_found = next(one for one in host.found if one.manifest.name == "stays")
    discovery = Discovery(
        (stays_found, new_found),
        (Skipped(off.path, "disabled", is_error=False), Skipped(tmp_path / "odd", "read manifest: nothing")),
    )
    host.reloader = Reloader(host.supervisor, rediscover=lambda: discovery)
    said = {one.name: (one.outcome, one.reason) for one in reload(host)}
    assert said == {
        "stays": ("reloaded", ""),
        "goes": ("stopped", "its folder is gone"),
        "off": ("stopped", "it is disabled"),
        "new": ("started", ""),
        "odd": ("skipped", "read manifest: nothing"),
    }
    for one in (goes, off):
        lone(host, one.extension)
        assert one.extension.state is State.EXITED
        assert one.extension.guards == set()
    assert new.extension.is_up
    assert host.ask().blocked_by == "new", "a named one is asked before the others"
    assert [one.name for one in reload(host)] == ["new", "stays", "odd"]
    found = next(one for one in host.found if one.manifest.name == "off")
    host.reloader = Reloader(host.supervisor, rediscover=lambda: Discovery((stays_found, new_found, found), ()))
    assert ("off", "started") in [(one.name, one.outcome) for one in reload(host)]


def test_one_that_a_reload_has_stopped_is_started_again_as_it_was(host: Host, folder: Folder):
    folder.code("hello('env'); send(type='ready')\nfor frame in frames(): result(frame, json.dumps(dict(os.environ)))")
    host.found = [replace(one, scope=Scope.GLOBAL) for one in host.found]
    host.start()
    before = folder.says("env")
    host.reloader = Reloader(host.supervisor, rediscover=lambda: Discovery((), ()))
    assert [one.outcome for one in reload(host)] == ["stopped"]
    host.supervisor.restart("one")
    host.until(lambda: "env" in host.supervisor.tools())
    after = folder.says("env")
    assert (after.pop("ZOT_EXTENSION_START"), before.pop("ZOT_EXTENSION_START")) == ("2", "1")
    assert after == before


@pytest.mark.parametrize("name", [None, "one"])
def test_one_that_is_disabled_while_it_is_started_again_does_not_start(host: Host, folder: Folder, name: str | None):
    host.found = [replace(one, scope=Scope.GLOBAL) for one in host.found]
    host.start()
    (there,) = host.found
    disabled = Skipped(folder.path, "disabled", is_error=False)
    host.reloader = Reloader(host.supervisor, rediscover=lambda: Discovery((), (disabled,)))
    assert [one.outcome for one in reload(host)] == ["stopped"]
    host.reloader = Reloader(host.supervisor, rediscover=lambda: Discovery((there,), ()))
    gate, got = slowly(host, folder)
    host.reloader = Reloader(host.supervisor, rediscover=lambda: Discovery((), (disabled,)))
    folder.version("v3", enabled=False)
    assert [one.outcome for one in reload(host, name)] == ["stopped"]
    host.until(lambda: got)
    gate.touch()
    lone(host, folder.extension)
    assert [one.outcome for one in got[0]] == ["stopped"]
    assert folder.extension.state is State.EXITED


def test_a_name_that_is_new_is_found_and_one_that_is_not_there_is_an_error(host: Host):
    host.start()
    host.found = []
    new = Folder(host, "new")
    host.reloader = Reloader(host.supervisor, rediscover=lambda: Discovery(tuple(host.found), ()))
    assert reload(host, "new")[0].outcome == "started"
    assert new.extension.is_up
    with pytest.raises(KeyError):
        host.reloader.begin("nobody", lambda _outcomes: None)


def test_a_storm_of_reloads_of_all_starts_few_versions_and_ends_with_the_last(host: Host, folder: Folder):
    host.start()
    got: list[tuple[ReloadOutcome, ...]] = []
    for _ in range(30):
        host.reloader.begin(None, got.append)
    folder.version("last")
    host.reloader.begin(None, got.append)
    host.until(lambda: len(got) == 31)
    assert {one.outcome for one in got[-1]} == {"reloaded"}
    assert folder.says()["version"] == "last"
    assert folder.extension.reloads <= 2
    assert [kind for kind, _ in host.said_of("one") if kind == "warning"] == []
    lone(host, folder.extension)


def test_nothing_to_reload(host: Host):
    host.start()
    assert reload(host) == ()


def test_events_are_told_to_one_version_only(host: Host, folder: Folder):
    host.start()
    host.supervisor.begin_call("hold", b"{}", lambda _answer: None)
    host.until((host.folder / "one.held").exists)
    folder.version("v2")
    folder.reload()
    host.supervisor.tell(frames.Event("turn_start", step=1))
    assert folder.says()["seen"] == ["turn_start"]
    host.supervisor.cancel_pending("enough")


# --- policy -----------------------------------------------------------------------------------------------------


def manifest(name: str = "a", **fields: Any) -> Any:
    return parse_manifest(json.dumps({"name": name, "exec": "x", **fields}).encode())


def known(tmp_path: Path, name: str = "a", scope: Scope = Scope.GLOBAL, *, is_stopped: bool = False) -> KnownExtension:
    return KnownExtension(Found(tmp_path / name, manifest(name), scope), is_stopped)


def test_what_becomes_of_one(tmp_path: Path):
    one, named = known(tmp_path), known(tmp_path, scope=Scope.EXPLICIT)
    assert plan_one(one, ManifestError("bad")) == Keep("bad")
    assert isinstance(plan_one(one, manifest("b")), Keep)
    assert isinstance(plan_one(one, manifest(enabled=False)), Stop)
    assert isinstance(plan_one(named, manifest(enabled=False)), Replace), "one that is named starts also if disabled"
    assert plan_one(one, manifest(priority=3)) == Replace(replace(one.found, manifest=manifest(priority=3)))


def test_a_folder_whose_extension_has_another_name_is_not_a_new_one(tmp_path: Path):
    one = known(tmp_path)
    renamed = replace(one.found, manifest=manifest("b"))
    ((name, plan),) = plan_all([one], Discovery((renamed,), ()))
    assert (name, type(plan)) == ("a", Keep)


@given(st.lists(st.sampled_from(["found", "error", "disabled", "gone"])), st.integers(0, 3))
def test_each_gets_one_plan(fates: list[str], new: int):
    from pathlib import Path

    running = [known(Path("/x"), f"e{number}") for number in range(len(fates))]
    by_fate = {
        fate: [one.found for one, other in zip(running, fates, strict=True) if other == fate] for fate in set(fates)
    }
    fresh = [known(Path("/x"), f"n{number}").found for number in range(new)]
    skipped = [Skipped(one.folder, "bad") for one in by_fate.get("error", ())]
    skipped += [Skipped(one.folder, "disabled", is_error=False) for one in by_fate.get("disabled", ())]
    plans = plan_all(running, Discovery((*by_fate.get("found", ()), *fresh), tuple(skipped)))
    names = [name for name, _ in plans]
    assert len(names) == len(set(names)) == len(running) + new
    kinds = {"found": Replace, "error": Keep, "disabled": Stop, "gone": Stop}
    for (_, plan), fate in zip(plans, fates, strict=False):
        assert type(plan) is kinds[fate]
    assert all(type(plan) in (Start, Skip) for _, plan in plans[len(fates) :])


@given(st.sampled_from(GenerationState), st.lists(st.sampled_from(GenerationTrigger)))
def test_what_has_left_never_comes_back(standing: GenerationState, turns: list[GenerationTrigger]):
    order = [GenerationState.CANDIDATE, GenerationState.CURRENT, GenerationState.DRAINING, GenerationState.GONE]
    for turn in turns:
        after = advance_generation(standing, turn)
        assert order.index(after) >= order.index(standing)
        standing = after


@given(st.lists(st.sampled_from(State), min_size=1))
def test_only_a_crew_that_is_ready_takes_over(states: list[State]):
    assert may_take_over(states) == (set(states) == {State.READY})


def test_nobody_looks_at_files_unless_asked(host: Host, folder: Folder):
    host.start()
    turns = host.loop.turns
    host.supervisor.sampler.stop()
    host.loop.run_until(lambda: False, host.loop.clock() + LOOK_S / 5)
    assert host.loop.turns - turns <= 2
