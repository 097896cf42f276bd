"""A new version starts beside the old one, and changes nothing if it does not get ready."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from supervisor.discovery.steps import no_steps
from supervisor.extension.lifecycle import WorkerState
from supervisor.reload.reloader import Reloader
from tests.support.extension_versions import Folder, lone, reload, slowly
from tests.support.host import QUICK, SOON, Host
from tests.support.lives import is_gone
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.discovery.steps import Steps


# --- a version that does not start ----------------------------------------------------------------------------


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
    folder.code(code, timeouts={**QUICK, "hello": 0.2 if "600" in code else 60.0})
    outcome = folder.reload()
    assert (outcome.outcome, outcome.reason) == ("kept", reason)
    log = folder.extension.log.path
    assert host.said_of("one") == [("warning", f"reload failed: {reason}; the running version stays (log: {log})")]
    assert folder.says() == before
    assert host.ask().reason == "v1"
    assert folder.extension.timeouts.hello == QUICK["hello"]
    lone(host, folder.extension)
    folder.version("v2", timeouts=QUICK)
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


def test_a_version_that_may_not_run_is_not_started(host: Host, folder: Folder):
    host.start()
    asked = []

    def may_run(found: FoundExtension, old: Any) -> Steps[FoundExtension | str]:
        asked.append((found.manifest.env, old.env))
        return no_steps("it asks for OPENAI_API_KEY")

    host.reloader = Reloader(host.supervisor, may_run=may_run)
    folder.version("v2", env=["OPENAI_API_KEY"])
    assert folder.reload().outcome == "kept"
    assert asked == [(("OPENAI_API_KEY",), ())]
    assert "zot ext trust one, then zot ext reload one; the running version" in host.said_of("one")[0][1]
    assert folder.says()["version"] == "v1"


def test_a_version_that_is_checked_for_long_holds_up_no_guard(host: Host, folder: Folder):
    host.start()
    answers: list[str] = []
    got: list[Any] = []

    def may_run(found: FoundExtension, _old: Any) -> Steps[FoundExtension | str]:
        while len(answers) < 20:
            yield
        return found

    host.reloader = Reloader(host.supervisor, may_run=may_run)
    folder.version("v2")
    host.reloader.begin("one", got.append)
    while len(answers) < 20:
        answers.append(host.ask(waits=len(answers) % 2 == 0).reason)
    assert set(answers) == {"v1"}
    host.until(lambda: got)
    assert got[0][0].outcome == "reloaded"


def test_a_host_that_stops_while_a_version_is_checked_answers(host: Host, folder: Folder):
    def may_run(_found: FoundExtension, _old: Any) -> Steps[FoundExtension | str]:
        while True:
            yield

    host.start()
    got: list[Any] = []
    host.reloader = Reloader(host.supervisor, may_run=may_run)
    host.reloader.begin("one", got.append)
    host.stop()
    host.until(lambda: got)
    assert (got[0][0].outcome, got[0][0].reason) == ("kept", "the host is stopping")


# --- what happens meanwhile -----------------------------------------------------------------------------------


def test_the_old_version_answers_while_the_new_one_starts(host: Host, folder: Folder):
    host.start()
    gate, got = slowly(host, folder)
    assert host.supervisor.stats()["one"].state == "reloading"
    assert (folder.says()["version"], host.ask().reason) == ("v1", "v1")
    gate.touch()
    host.until(lambda: got)
    assert (folder.says()["version"], host.ask().reason) == ("v2", "v2")


def test_the_new_version_starts_though_the_old_one_dies_meanwhile(host: Host, folder: Folder):
    folder.version("v1", restart={"backoff_s": [60, 60]})
    host.found[-1] = replace(host.found[-1], manifest=parse_manifest(folder.text()))
    host.start()
    gate, got = slowly(host, folder)
    folder.extension.lead.kill(signal.SIGKILL)
    host.until(lambda: folder.extension.state is WorkerState.BACKOFF)
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


def test_an_extension_that_is_down_is_started_by_a_reload(host: Host, folder: Folder):
    folder.code("sys.exit(3)")
    host.start()
    assert folder.extension.state is WorkerState.FAILED
    folder.version("v2")
    assert folder.reload().outcome == "started"
    assert folder.says()["version"] == "v2"
    folder.extension.lead.kill(signal.SIGKILL)
    host.until(lambda: folder.extension.state is WorkerState.FAILED)
    folder.code("sys.exit(4)")
    assert folder.reload().outcome == "kept"
    assert "it stays down" in host.said_of("one")[-1][1]


def test_a_stop_of_the_host_ends_all_versions_of_a_reload(host: Host, folder: Folder):
    host.start()
    host.begin_call("hold", b"{}", lambda _answer: None)
    folder.version("v2")
    folder.reload()
    _, got = slowly(host, folder)
    pids = [worker.pid for worker in folder.extension.all_workers]
    assert len(pids) == 3
    host.stop()
    assert all(is_gone(pid) for pid in pids)
    host.until(lambda: got)
    assert got[0][0].reason == "the host is stopping"


def test_many_reloads_leak_nothing(host: Host, folder: Folder):
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
        host.begin_call("hold", b"{}", lambda _answer: None)
        assert folder.reload().outcome == "reloaded"
    outcome = folder.reload()
    assert (outcome.outcome, "8 earlier versions still finish" in outcome.reason) == ("kept", True)
    host.supervisor.cancel_pending("enough")
    lone(host, folder.extension)
