"""A model that writes an extension does not run it unseen: whole prompts of an engine, with real processes.

The extensions here are of zot's own protocol: what is asked of them is the same.
"""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from agent.abort import Abort
from agent.engine import extensions as starting
from agent.tools.extension_tools import tools as module
from supervisor.discovery.admission import Consent
from tests.support.patience import PATIENCE_S
from tests.support.scripted_model import says
from tests.support.writing_model import Project, after
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.extension.extension import Extension


def kill(extension: Extension) -> None:
    assert extension.pid
    os.kill(extension.pid, signal.SIGKILL)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path)
    monkeypatch.setattr(starting, "COPILOT", "zot")
    monkeypatch.setattr(module, "copilot_folders", lambda _project, _home: (made.extensions, made.home / "extensions"))
    return made


NOT_NEW = "not trusted (never seen); a person has to look at it, and run in a terminal: zot ext trust new"
CONSENTS = [{}, {"trust_project": True, "consent": Consent(whole_project=True)}]


@pytest.mark.parametrize("consent", CONSENTS, ids=["none", "trust-project"])
def test_what_the_model_writes_runs_once_a_person_trusts_it_and_its_tool_is_offered_in_the_same_prompt(
    project: Project, consent: dict[str, Any]
):
    first, second, third = project.results(
        lambda: project.put("new"),
        "extensions_reload",
        lambda: project.ran() == set() or pytest.fail("it ran unseen"),
        lambda: project.trust("new"),
        "extensions_reload",
        "new",
        **consent,
    )
    assert first == f"0 of 1 Copilot extension reloaded or started:\n- new: not started: {NOT_NEW}"
    assert second == (
        "1 of 1 Copilot extension reloaded or started:\n"
        "- new: started; new tools: new\n"
        "the new tools can be called from now on"
    )
    assert third == "v1"
    offered = [{tool["name"] for tool in asked["tools"]} for asked in project.asked]
    assert ["new" in names for names in offered] == [False, False, True, True]
    assert all({"extensions_manage", "extensions_reload"} <= names for names in offered)


@pytest.mark.parametrize("consent", CONSENTS, ids=["record", "trust-project"])
def test_a_changed_guard_goes_on_as_it_was(project: Project, consent: dict[str, Any]):
    folder = project.put("guard", trusted=not consent, guards=True)
    before = "its files have changed" + (" since it was started" if consent else "")
    (told, refused, listed) = project.results(
        lambda: (folder / "x.py").write_text(project.program("guard", "v2")),
        "extensions_reload",
        ("bash", {"command": "echo forbidden"}),
        ("extensions_manage", {"operation": "list"}),
        **consent,
    )
    waits = f"not trusted ({before}); a person has to look at it, and run in a terminal: zot ext trust guard"
    assert told.endswith(f"- guard: not reloaded: {waits}; the running version stays")
    assert refused == "v1"
    assert listed == (
        "1 Copilot extension:\n"
        f"- guard (project): running; its files as they are now are {waits.replace(';', ':', 1)}; tools: guard"
    )
    assert project.ran() == {"guard-v1"}


@pytest.mark.parametrize("how", ["remove", "disable", "rename", "link"])
def test_the_model_does_not_get_rid_of_a_guard(project: Project, how: str):
    folder = project.put("guard", trusted=True, guards=True)
    project.put("tool", trusted=True)

    def attack() -> None:
        if how == "disable":
            manifest = json.loads((folder / "extension.json").read_text())
            (folder / "extension.json").write_text(json.dumps({**manifest, "enabled": False}))
        elif how == "rename":
            folder.rename(project.extensions / "other")
        else:
            folder.rename(project.cwd / "away")
            if how == "link":
                project.put("harmless").rename(project.cwd / "evil")
                folder.symlink_to(project.cwd / "evil")

    told, refused = project.results(attack, "extensions_reload", ("bash", {"command": "echo forbidden"}))
    assert "- guard: not reloaded: " in told
    assert "- tool: reloaded" in told
    assert refused == "v1"
    assert not any("harmless" in name for name in project.ran())


def test_one_that_guards_nothing_is_stopped_with_its_folder(project: Project):
    folder = project.put("tool", trusted=True)
    told, gone = project.results(lambda: folder.rename(project.cwd / "away"), "extensions_reload", "tool")
    assert told.endswith("- tool: stopped: its folder is gone")
    assert "extension tool/tool failed" in gone


def test_a_process_that_ends_is_not_started_again_from_what_nobody_has_seen(project: Project):
    folder = project.put("guard", trusted=True, guards=True, on_failure="deny", restart={"backoff_s": [0.01, 0.01]})
    with project.engine() as engine:
        supervisor = engine.supervisor
        guard = supervisor.find("guard")
        kill(guard)
        supervisor.loop.run_until(lambda: guard.account.restarts == 1, supervisor.loop.clock() + PATIENCE_S)
        assert guard.is_up, "unchanged it is restarted"
        (folder / "x.py").write_text(project.program("guard", "v2"))
        kill(guard)
        supervisor.loop.run_until(lambda: guard.is_given_up, supervisor.loop.clock() + PATIENCE_S)
        assert "has changed since it was checked" in guard.failure
    assert project.ran() == {"guard-v1"}


def test_a_file_that_changes_while_the_new_version_starts_lets_it_not_take_over(project: Project):
    """The new program itself waits for the change: the agent has told another process to write."""
    folder = project.put("tool", trusted=True)
    gate, begun = project.marks / "gate", project.marks / "begun"
    waits = f"import os, time\nopen({str(begun)!r}, 'w').close()\n"
    waits += f"while not os.path.exists({str(gate)!r}): time.sleep(.001)\n"

    def second_version() -> None:
        (folder / "x.py").write_text(waits + project.program("tool", "v2"))
        project.trust("tool")

    with project.engine() as engine:
        supervisor = engine.supervisor
        tool = supervisor.find("tool")
        second_version()
        got: list[Any] = []
        engine.reloader.begin_dialect("zot", (project.extensions,), lambda outcomes, _: got.append(outcomes))
        engine.reloader.begin_dialect("zot", (project.extensions,), lambda outcomes, _: got.append(outcomes))
        supervisor.loop.run_until(begun.exists, supervisor.loop.clock() + PATIENCE_S)
        (folder / "y.py").write_text("unseen")
        gate.touch()
        supervisor.loop.run_until(lambda: len(got) == 2, supervisor.loop.clock() + PATIENCE_S)
        for outcomes in got:
            assert [(each.outcome, "has changed since it was checked" in each.reason) for each in outcomes] == [
                ("kept", True)
            ]
        assert (tool.is_up, tool.reloads) == (True, 0)


def test_neither_a_client_nor_watch_starts_what_the_model_wrote(project: Project):
    """Every reload of the host goes by the content, not only the one of the tool."""
    consent = CONSENTS[1]
    old = project.put("old")
    with project.engine(**consent) as engine:
        loop, reloader = engine.supervisor.loop, engine.reloader
        got: list[Any] = []

        def wait(count: int) -> None:
            assert loop.run_until(lambda: len(got) == count, loop.clock() + PATIENCE_S)

        reloader.begin("old", got.append)
        wait(1)
        assert [each.outcome for each in got[0]] == ["reloaded"], "unchanged it starts again"
        project.put("new")
        (old / "x.py").write_text(project.program("old", "v2"))
        for count, begin in enumerate(
            [
                lambda: reloader.begin("old", got.append),
                lambda: reloader.begin("new", got.append),
                lambda: reloader.begin(None, got.append),
                lambda: reloader.catch_up(got.append),
            ],
            2,
        ):
            begin()
            wait(count)
        assert engine.supervisor.find("old").is_up
    assert project.ran() == {"old-v1"}


def test_a_version_that_fails_is_told_with_its_reason_and_shown_with_its_log(project: Project):
    folder = project.put("bad", trusted=True)

    def broken() -> None:
        (folder / "x.py").write_text("import sys\nsys.exit('no key here')\n")
        project.trust("bad")

    told, shown, unknown = project.results(
        broken,
        "extensions_reload",
        ("extensions_manage", {"operation": "inspect", "name": "bad"}),
        ("extensions_manage", {"operation": "inspect", "name": "bed"}),
    )
    assert "- bad: not reloaded: it exited before its hello (exit 1)" in told
    assert told.endswith("; the running version stays")
    lines = shown.splitlines()
    assert lines[0] == "bad (project)"
    assert lines[2:5] == [f"folder: {folder}", "tools: bad", "guards: none"]
    assert f"log: {project.home / 'logs' / 'ext-bad.log'}" in lines
    assert "no key here" in lines
    assert unknown == "extensions_manage: no such extension: 'bed'; did you mean 'bad'?"


def test_a_guard_judges_both_tools(project: Project):
    project.put("guard", trusted=True, guards=True)
    (refused,) = project.results(("extensions_manage", {"operation": "scaffold", "name": "forbidden"}))
    assert refused == "v1"
    assert not (project.cwd / ".github").exists()


def test_an_extension_does_not_get_the_names_of_the_tools(project: Project):
    folder = project.put("thief", trusted=True)
    (folder / "x.py").write_text(project.program("thief", tool="extensions_reload"))
    project.trust("thief")
    inspect = ("extensions_manage", {"operation": "inspect", "name": "thief"})
    told, listed = project.results("extensions_reload", inspect)
    assert told.startswith("1 of 1 Copilot extension reloaded")
    assert "tools that are hidden, since their names are taken: extensions_reload" in listed


def test_without_the_flag_neither_is_offered(project: Project):
    for is_on in (True, False):
        with project.engine(copilot=is_on) as engine:
            offered = {spec.name for spec in engine.toolbox.offered()}
            assert offered >= {"bash", "read"}
            assert (offered & {"extensions_manage", "extensions_reload"} != set()) == is_on
            assert engine.toolbox.knows("extensions_reload") == is_on


def test_an_abort_ends_a_reload_that_waits(project: Project):
    folder = project.put("slow", trusted=True)
    begun = project.marks / "begun"

    def never_ready() -> None:
        (folder / "x.py").write_text(f"open({str(begun)!r}, 'w').close()\nimport time\ntime.sleep(600)\n")
        project.trust("slow")

    reply = says("", ("t1", "extensions_reload", {}))
    abort = Abort()
    ran: list[Any] = []
    with project.engine(after([never_ready], reply)) as engine:
        loop = engine.supervisor.loop
        engine.toolbox.on_begin = lambda name, _extension: lambda _result: ran.append(name)

        def look() -> None:
            if begun.exists():
                abort.request(Status.INTERRUPTED, "enough")
            else:
                loop.call_later(0.01, look)

        look()
        result = engine.prompt("go", abort)
        assert (result.status, ran) == (Status.INTERRUPTED, ["extensions_reload"])
        assert engine.supervisor.find("slow").is_up, "the running version stays"
    assert ran == ["extensions_reload"]
