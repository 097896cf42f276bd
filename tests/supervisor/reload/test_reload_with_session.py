"""Another session takes the place of the host's: extensions whose dialect wants that start anew, with the same id."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from supervisor.discovery.discover import read_manifest
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.steps import no_steps
from supervisor.extension.lifecycle import WorkerState
from supervisor.reload.reloader import Reloader
from tests.support.extension_versions import Folder
from tests.support.host import LATER, Host
from tests.support.scripted_dialect import NAME, scripted_dialect
from wire.dialects.host_calls import SendPrompt

dialect = pytest.fixture(scripted_dialect)
ID = "0b9e1f2c-0000-4000-8000-000000000001"
SAYS_IT = 'echo hello; echo "remark session: [$SESSION_ID]"; echo ready; cat'


@pytest.fixture
def host(tmp_path, dialect):
    dialect.session_variable = "SESSION_ID"
    dialect.is_reloaded_with_session = True
    with Host(tmp_path) as host:
        context = host.supervisor.context
        context.info = replace(context.info, session_id=ID)
        yield host


class Words(Folder):
    """The folder of an extension of the scripted dialect."""

    def __init__(self, host: Host, name: str, script: str = SAYS_IT, **manifest: object) -> None:
        self.host, self.name, self.path = host, name, host.folder / f"ext-{name}"
        self.path.mkdir()
        self.manifest = {"exec": "/bin/sh", "args": ["x.sh"], "dialect": NAME, **manifest}
        self.say(script)
        (self.path / "extension.json").write_bytes(self.text())
        host.found.append(FoundExtension(self.path, read_manifest(self.path), Scope.EXPLICIT, len(host.found)))

    def say(self, script: str) -> None:
        (self.path / "x.sh").write_text(script)


def with_session(host: Host, reloader: Reloader | None = None) -> list[list[tuple[str, str]]]:
    outcomes: list[list[tuple[str, str]]] = []
    (reloader or host.reloader).reload_with_session(
        lambda given: outcomes.append([(each.name, each.outcome) for each in given])
    )
    assert outcomes == [], "never from within the call"
    return outcomes


def test_only_those_are_reloaded_whose_dialect_wants_it_and_the_id_stays(host):
    folder = Words(host, "bound")
    host.add("echo")
    host.start()
    before = host.extension("bound").pid
    outcomes = with_session(host)
    host.until(lambda: outcomes)
    assert outcomes == [[("bound", "reloaded")]]
    assert host.extension("bound").pid != before
    assert host.log("bound").count(f"session: [{ID}]") == 2
    assert (folder.extension.reloads, host.extension("echo").reloads) == (1, 0)


def test_the_outcomes_come_when_each_is_ready_or_has_failed(host):
    Words(host, "good")
    bad = Words(host, "bad")
    host.start()
    bad.say("exit 3")
    outcomes = with_session(host)
    host.until(lambda: outcomes)
    assert outcomes == [[("good", "reloaded"), ("bad", "kept")]]
    assert host.state("bad") is WorkerState.READY


def test_one_that_has_failed_is_tried_again_and_one_that_was_stopped_is_not(host):
    failed, stopped = Words(host, "failed", "exit 3", restart=LATER), Words(host, "stopped")
    host.start()
    failed.say(SAYS_IT)
    stopped.extension.handover.stop("it is disabled", lambda _outcome: None)
    outcomes = with_session(host)
    host.until(lambda: outcomes)
    assert outcomes == [[("failed", "started")]]


def test_without_such_extensions_it_is_over_at_once(host):
    host.add("echo")
    host.start()
    outcomes = with_session(host)
    host.until(lambda: outcomes)
    assert outcomes == [[]]


def test_sessions_that_follow_each_other_fast_share_one_more_reload(host):
    folder = Words(host, "bound")
    host.start()
    all_outcomes = [with_session(host) for _ in range(20)]
    host.until(lambda: all(all_outcomes))
    assert folder.extension.reloads == 2
    assert all_outcomes == [[[("bound", "reloaded")]]] * 20


def test_what_may_not_run_any_more_goes_on_as_it_was(host):
    Words(host, "bound")
    host.start()
    reloader = Reloader(host.supervisor, may_run=lambda _found, _old: no_steps("its files have changed"))
    outcomes = with_session(host, reloader)
    host.until(lambda: outcomes)
    assert outcomes == [[("bound", "kept")]]
    assert host.state("bound") is WorkerState.READY


def test_the_id_of_another_session_in_the_hosts_environment_is_not_passed_on(tmp_path, dialect, monkeypatch):
    dialect.session_variable = "SESSION_ID"
    monkeypatch.setitem(os.environ, "SESSION_ID", "outer")
    with Host(tmp_path) as host:
        Words(host, "bound")
        host.start()
        assert "session: []" in host.log("bound")


def test_another_dialect_finds_no_id(host, dialect):
    dialect.session_variable = ""
    Words(host, "plain")
    host.start()
    assert "session: []" in host.log("plain")


def test_a_process_runs_in_the_folder_that_discovery_names(host, tmp_path):
    folder = Words(host, "away", 'echo hello; echo "remark in $(pwd)"; echo ready; cat', args=["x.sh"])
    project = tmp_path / "project"
    project.mkdir()
    (project / "x.sh").write_text((folder.path / "x.sh").read_text().replace("in $", "inside $"))
    host.found[-1] = replace(host.found[-1], runs_in=project)
    host.start()
    assert f"inside {project}" in host.log("away")
    outcome = folder.reload()
    assert outcome.outcome == "reloaded"
    assert host.log("away").count(f"inside {project}") == 2


def test_a_folder_to_run_in_that_is_gone_is_named(host, tmp_path):
    Words(host, "lost")
    host.found[-1] = replace(host.found[-1], runs_in=tmp_path / "gone")
    host.start()
    assert host.state("lost") is WorkerState.FAILED
    assert str(tmp_path / "gone") in host.extension("lost").failure


def test_a_version_that_is_replaced_sends_no_prompt_into_the_next_session(tmp_path, dialect):
    dialect.is_reloaded_with_session = True
    calls = []
    with Host(tmp_path, on_host_call=lambda _extension, call, _answer: calls.append(call)) as host:
        folder = Words(host, "sender", "echo hello; echo ready; cat; echo want a late; echo remark said")
        host.start()
        folder.say("echo hello; echo ready; echo want b now; cat")
        outcomes = with_session(host)
        host.until(lambda: outcomes and "said" in host.log("sender") and calls)
    assert calls == [SendPrompt("now")]
