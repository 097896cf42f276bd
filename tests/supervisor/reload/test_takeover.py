"""A new version takes over in one step; the old one finishes its calls and is stopped."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from supervisor.extension.lifecycle import WorkerState
from tests.support.extension_versions import Folder, lone
from tests.support.host import QUICK, Host
from tests.support.lives import is_gone
from tests.support.worker_pool import begin
from wire import frames
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from pathlib import Path


def test_the_new_version_takes_over_and_the_old_one_is_stopped_in_order(host: Host, folder: Folder):
    host.start()
    host.supervisor.observers.begin_session()
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


def test_the_numbers_of_events_go_on_in_the_new_version(host: Host, folder: Folder, tmp_path: Path):
    """A reload ends no session: the old version hears of no end, and the new one of the start."""
    said = tmp_path / "said"
    folder.code(
        "hello(events=['session_start', 'session_end', 'turn_start'])\nsend(type='ready')\n"
        f"for frame in frames(): print(frame['event'], frame['sequence'], file=open({str(said)!r}, 'a'))\n"
    )
    host.start()
    host.supervisor.observers.begin_session()
    host.supervisor.tell(frames.Event("turn_start", step=1))
    assert folder.reload().outcome == "reloaded"
    host.supervisor.tell(frames.Event("turn_start", step=2))
    host.stop()
    assert sorted(said.read_text().splitlines()) == [
        "session_end 5", "session_start 1", "session_start 3", "turn_start 2", "turn_start 4",
    ]  # fmt: skip


def test_tools_and_guards_change_at_once_with_the_version(host: Host, folder: Folder):
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
    assert host.supervisor.guards.of("tool_call") == []


def test_a_pending_call_is_answered_by_the_old_version(host: Host, folder: Folder):
    host.start()
    answers = begin(host, "hold")
    host.until((host.folder / "one.held").exists)
    old = folder.extension.lead
    folder.version("v2", tools=("who", "hold"))
    folder.reload()
    assert folder.says()["version"] == "v2"
    assert old.is_running
    assert not answers
    old.requests.tell(frames.Event("turn_end"))
    host.until(lambda: answers)
    assert answers[0].frame.content[0].text == "v1"
    lone(host, folder.extension)
    assert host.cost("one").exit_status == "exit 0"


def test_a_pending_call_of_the_old_version_keeps_its_deadline(host: Host, folder: Folder):
    folder.version("v1", timeouts={**QUICK, "tool_call": 0.3})
    host.found[-1] = replace(host.found[-1], manifest=parse_manifest(folder.text()))
    host.start()
    answers = begin(host, "hold")
    folder.version("v2")
    folder.reload()
    host.until(lambda: answers)
    assert answers[0].reason == "no answer within 0.3 s"
    lone(host, folder.extension)


def test_a_death_of_the_old_version_fails_its_pending_call(host: Host, folder: Folder):
    host.start()
    answers = begin(host, "hold")
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


def test_daemons_of_the_old_version_are_ended_and_those_of_the_new_one_are_not(host: Host, folder: Folder):
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


def test_both_versions_are_accounted_while_both_run(host: Host, folder: Folder):
    host.start()
    begin(host, "hold")
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


def test_all_workers_are_replaced_together(host: Host, folder: Folder):
    folder.version("v1", workers=2)
    host.found[-1] = replace(host.found[-1], manifest=parse_manifest(folder.text()))
    host.start()
    folder.version("v2", workers=3)
    assert folder.reload().outcome == "reloaded"
    assert [worker.state for worker in folder.extension.workers] == [WorkerState.READY] * 3
    lone(host, folder.extension)
    assert host.supervisor.stats()["one"].workers == 3


def test_all_workers_of_the_new_version_must_be_ready_and_agree(host: Host, folder: Folder):
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


def test_the_manifest_of_the_new_version_counts(host: Host, folder: Folder):
    host.add("echo")
    host.start()
    assert [extension.name for extension in host.supervisor.extensions] == ["one", "echo"]
    folder.version("v2", priority=-1, limits={"rss_mb": 900}, on_failure="deny", timeouts={**QUICK, "intercept": 4.0})
    folder.reload()
    extension = folder.extension
    assert (extension.limits.rss_mb, extension.manifest.on_failure) == (900, "deny")
    assert (extension.timeouts.intercept, extension.lead.timeouts.intercept) == (4.0, 4.0)
    assert [extension.name for extension in host.supervisor.extensions] == ["echo", "one"]
    assert [guard.name for guard in host.supervisor.guards.of("tool_call")] == ["echo", "one"]


def test_a_verdict_is_never_missing_during_reloads(host: Host, folder: Folder):
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
    assert seen == sorted(seen, key=lambda version: int(version[1:])), "no verdict of an old one after one of a new one"
    assert all(verdicts)
    lone(host, folder.extension)


def test_a_version_without_guards_takes_over_in_the_middle_of_a_verdict(host: Host, folder: Folder):
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


def test_events_are_told_to_one_version_only(host: Host, folder: Folder):
    host.start()
    host.begin_call("hold", b"{}", lambda _answer: None)
    host.until((host.folder / "one.held").exists)
    folder.version("v2")
    folder.reload()
    host.supervisor.tell(frames.Event("turn_start", step=1))
    assert folder.says()["seen"] == ["turn_start"]
    host.supervisor.cancel_pending("enough")
