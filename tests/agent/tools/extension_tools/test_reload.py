"""A model that writes an extension does not run it unseen: whole prompts of an engine, with real processes.

The extensions here are of zot's own protocol: what is asked of them is the same.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from agent import extensions as starting
from agent.abort import Abort
from agent.engine import Engine
from agent.options import Options
from agent.output.event_writer import EventWriter
from agent.output.stderr_notices import StderrNotices
from agent.tools.extension_tools import tools as module
from agent.transcript import text_of
from supervisor.discovery.admission import Consent
from supervisor.discovery.discover import read_manifest
from supervisor.discovery.trust_store import TrustStore
from supervisor.loop.loop import Loop
from tests.support.host import PRELUDE
from tests.support.scripted_model import ScriptedModel, says
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from supervisor.extension.extension import Extension

SERVES = """
open(os.path.join({marks!r}, {name!r} + "-" + {version!r}), "w").close()
hello({tool!r}, intercept={intercept!r})
send(type="ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block="forbidden" in str(frame), reason={version!r})
    else:
        result(frame, {version!r})
"""


class Model(ScriptedModel):
    """Each reply may be a function that is called when it is asked for."""

    def request(self, params: dict[str, Any]) -> Any:
        if callable(self.replies[0]):
            self.replies[0] = self.replies[0]()
        return super().request(params)


class Project:
    """A project, its user's home, and runs in it."""

    def __init__(self, folder: Path) -> None:
        self.cwd, self.home, self.marks = folder / "project", folder / "home", folder / "marks"
        self.extensions = self.cwd / ".zot" / "extensions"
        for made in (self.extensions, self.home, self.marks):
            made.mkdir(parents=True)
        self.records: list[Any] = []

    def program(self, name: str, version: str = "v1", *, guards: bool = False, tool: str = "") -> str:
        """The source of one that leaves a mark when it runs."""
        return PRELUDE + SERVES.format(
            marks=str(self.marks), name=name, version=version, tool=tool or name,
            intercept=["tool_call"] if guards else [],
        )  # fmt: skip

    def put(self, name: str, *, trusted: bool = False, guards: bool = False, **manifest: Any) -> Path:
        folder = self.extensions / name
        folder.mkdir()
        (folder / "x.py").write_text(self.program(name, guards=guards))
        fields = {"name": name, "exec": sys.executable, "args": ["-I", "-S", "x.py"], **manifest}
        (folder / "extension.json").write_text(json.dumps(fields))
        if trusted:
            self.trust(name)
        return folder

    def trust(self, name: str) -> None:
        folder = self.extensions / name
        TrustStore(self.home).trust(folder, read_manifest(folder))

    def ran(self) -> set[str]:
        return {path.name for path in self.marks.iterdir()}

    @contextmanager
    def engine(self, *replies: Any, **options: Any) -> Iterator[Engine]:
        loop = Loop()
        event_writer = EventWriter(loop, Abort(), self.records.append)
        with open(os.devnull, "wb") as nowhere:
            notices = StderrNotices(loop, event_writer, stderr=nowhere.fileno())
            made = Engine(
                loop,
                Options(
                    cwd=str(self.cwd), home=self.home, model="m", reply_tokens=100, system="s",
                    **{"copilot": True, **options},
                ),
                version="1",
                provider=Model(*replies),
                event_writer=event_writer,
                notices=notices,
                on_show=event_writer.post_shown,
                on_tool_ran=lambda *_: None,
                owns_process=False,
            )  # fmt: skip
            try:
                assert made.start(Abort()) is None
                yield made
            finally:
                made.stop(at_once=False)
                made.close()
                notices.close()
                loop.close()

    def results(self, *steps: Any, **options: Any) -> list[str]:
        """Runs one prompt whose turns make these calls; returns their results. A step is a tool with its arguments, or
        a function that does something before the next one."""
        replies: list[Any] = []
        before: list[Callable[[], Any]] = []
        for step in steps:
            if callable(step):
                before.append(step)
                continue
            name, args = (step, {}) if isinstance(step, str) else step
            reply = says("", (f"t{len(replies)}", name, args))
            replies.append(_after(before, reply))
            before = []
        with self.engine(*replies, _after(before, says("done")), **options) as engine:
            assert engine.prompt("go", Abort()).text == "done"
            self.asked = engine._provider.asked
            messages = engine.conversation.transcript
        return [text_of(block.content) for message in messages if message.role == "tool" for block in message.content]


def kill(extension: Extension) -> None:
    assert extension.pid
    os.kill(extension.pid, signal.SIGKILL)


def _after(before: list[Callable[[], Any]], reply: Any) -> Callable[[], Any]:
    def now() -> Any:
        for each in before:
            each()
        return reply

    return now


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
    assert told.endswith(f"- guard: not reloaded: {waits}; the version that was running goes on")
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
        supervisor.loop.run_until(lambda: guard.account.restarts == 1, supervisor.loop.clock() + 30)
        assert guard.is_up, "unchanged it is started again"
        (folder / "x.py").write_text(project.program("guard", "v2"))
        kill(guard)
        supervisor.loop.run_until(lambda: guard.is_given_up, supervisor.loop.clock() + 30)
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
        engine.reloader.begin_dialect("zot", (project.extensions,), got.append)
        engine.reloader.begin_dialect("zot", (project.extensions,), got.append)
        supervisor.loop.run_until(begun.exists, supervisor.loop.clock() + 30)
        (folder / "y.py").write_text("unseen")
        gate.touch()
        supervisor.loop.run_until(lambda: len(got) == 2, supervisor.loop.clock() + 30)
        for outcomes in got:
            assert [(each.outcome, "has changed since it was checked" in each.reason) for each in outcomes] == [
                ("kept", True)
            ]
        assert (tool.is_up, tool.reloads) == (True, 0)


def test_neither_a_client_nor_watch_starts_what_the_model_wrote(project: Project):
    """Every reload of the host goes by the content, not only the one of the tool."""
    consent = CONSENTS[1]
    with project.engine(**consent) as engine:
        loop = engine.supervisor.loop
        project.put("new")
        for name in (None, "new"):
            got: list[Any] = []
            engine.reloader.begin(name, got.append)
            loop.run_until(lambda got=got: got, loop.clock() + 30)
        engine.reloader.catch_up(got.append)
        loop.run_until(lambda: len(got) == 2, loop.clock() + 30)
    assert project.ran() == set()


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
    assert told.endswith("; the version that was running goes on")
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
    with project.engine(_after([never_ready], reply)) as engine:
        loop = engine.supervisor.loop
        engine.toolbox._on_ran = lambda name, *_: ran.append(name)

        def look() -> None:
            if begun.exists():
                abort.request(Status.INTERRUPTED, "enough")
            else:
                loop.call_later(0.01, look)

        look()
        result = engine.prompt("go", abort)
        assert (result.status, ran) == (Status.INTERRUPTED, ["extensions_reload"])
        assert engine.supervisor.find("slow").is_up, "the version that was running goes on"
    assert ran == ["extensions_reload"]
