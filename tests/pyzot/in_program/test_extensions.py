"""Extensions of the program: guards, observers, commands, and several together."""

from __future__ import annotations

import threading
from queue import Queue

import pytest

from pyzot import (
    ExtNotify,
    ProgramExtension,
    RefusedError,
)
from tests.support.extension_folder import extension
from tests.support.messages_server import text_reply, tool_reply
from tests.support.patience import PATIENCE_S
from tests.support.program_tools import calls, told, weather
from zotext import Display, Extension, allow, block, rewrite_args


def test_a_guard_blocks_and_rewrites(model, start, guard):
    @guard.intercept_tool_call(tools=["weather"])
    def judge(call):
        if call.args["city"] == "Oslo":
            return block("not Oslo")
        return rewrite_args({**call.args, "days": 7}) if call.args["city"] == "Rome" else allow()

    calls(model, *(("weather", {"city": city}) for city in ("Oslo", "Rome", "Bern")))
    result = start(functions=[weather], extensions=[guard]).run("go", check=True)
    answers = told(model)
    assert "not Oslo" in answers[0][0]
    assert answers[1:] == [("Rome: 7 sunny day(s)", False), ("Bern: 1 sunny day(s)", False)]
    assert result.extensions["guard"].blocks == 1
    assert result.extensions["functions"].calls == 2


def test_a_guard_that_raises_blocks(model, start, guard, capfd):
    @guard.intercept_tool_call
    def judge(call):
        raise RuntimeError("no idea")

    calls(model, ("weather", {"city": "Oslo"}))
    start(functions=[weather], extensions=[guard]).run("go", check=True)
    assert "guard 'judge' failed: RuntimeError: no idea" in told(model)[0][0]
    assert "in judge" in capfd.readouterr().err


@pytest.mark.parametrize(("on_failure", "is_run"), [("allow", True), ("deny", False)])
def test_a_guard_that_hangs_has_no_verdict_and_its_settings_decide(model, start, guard, on_failure, is_run):
    go_on = threading.Event()

    @guard.intercept_tool_call
    def judge(call):
        go_on.wait(PATIENCE_S)

    calls(model, ("weather", {"city": "Oslo"}))
    careful = ProgramExtension(guard, on_failure=on_failure, timeouts={"intercept": 0.2})
    try:
        result = start(functions=[weather], extensions=[careful]).run("go", check=True)
    finally:
        go_on.set()
    assert result.extensions["guard"].timeouts == 1
    assert (told(model) == [("Oslo: 1 sunny day(s)", False)]) == is_run
    assert told(model)[0][1] == (not is_run)


def test_an_observer_sees_what_happens_in_order(model, start):
    watcher = Extension("watcher")
    seen = []
    over = threading.Event()

    @watcher.on("tool_call")
    def called(event):
        seen.append((event.tool_name, event.tool_args))

    @watcher.on("tool_result")
    def answered(event):
        seen.append(event.is_error)

    @watcher.on("turn_end")
    def ended(event):
        seen.append(event.stop)
        if event.stop == "end":
            over.set()

    calls(model, ("weather", {"city": "Oslo"}))
    start(functions=[weather], extensions=[watcher]).run("go", check=True)
    assert over.wait(PATIENCE_S)
    assert seen == [("weather", {"city": "Oslo"}), "tool_use", False, "end"]


def test_commands_and_notes(start):
    notes = Extension("notes")
    told_events = Queue()

    @notes.command
    def note(text: str):
        """Keep a note."""
        notes.notify("success", f"kept {text}")
        return Display(f"{text} is kept")

    runtime = start(extensions=notes, on_event=told_events.put)
    assert [(command.name, command.extension) for command in runtime.commands()] == [("note", "notes")]
    outcome = runtime.command("/note buy tea")
    assert (outcome.extension, outcome.action, outcome.text) == ("notes", "display", "buy tea is kept")
    while not isinstance(event := told_events.get(timeout=PATIENCE_S), ExtNotify):
        pass
    assert (event.extension, event.level, event.message) == ("notes", "success", "kept buy tea")


def test_an_extension_knows_its_host_and_takes_tools_at_any_time(model, start):
    plugins = Extension("plugins")

    @plugins.tool
    def load(name: str) -> str:
        """Load one more tool."""

        @plugins.tool(name=name)
        def loaded() -> str:
            return f"I am {name}"

        return plugins.host.model

    model.add(tool_reply([("load", {"name": "clock"})]), tool_reply([("clock", {})]), text_reply("Done."))
    runtime = start(extensions=[plugins], model="claude-opus-4-8")
    runtime.run("go", check=True)
    assert (told(model, 1), told(model, 2)) == ([("claude-opus-4-8", False)], [("I am clock", False)])
    assert "clock" in {tool.name for tool in runtime.tools()}


def test_extensions_of_the_program_and_folders_work_together(model, start, tmp_path, guard):
    other = Extension("other")
    seen = Queue()

    @guard.intercept_tool_call
    def judge(call):
        seen.put(call.name)

    @other.tool
    def double(number: int) -> int:
        return 2 * number

    calls(model, ("double", {"number": 4}), ("weather", {"city": "Oslo"}), ("echo", {"text": "hi"}))
    first = extension(tmp_path / "a", "echo")
    second = extension(tmp_path / "b", "recorder")
    runtime = start(functions=[weather], extensions=[guard, second, other], ext=first)
    assert {tool.extension for tool in runtime.tools()} >= {"other", "functions"}
    result = runtime.run("go", check=True)
    assert [text for text, _ in told(model)[:2]] == ["8", "Oslo: 1 sunny day(s)"]
    assert "hi" in told(model)[2][0]
    assert [seen.get(timeout=PATIENCE_S) for _ in range(3)] == ["double", "weather", "echo"]
    assert set(result.extensions) == {"echo", "recorder", "guard", "other", "functions"}
    assert result.extensions["other"].cpu_ms == 0


def test_a_name_that_a_folder_has_is_refused(start, tmp_path):
    mine = Extension("echo")
    with pytest.raises(RefusedError, match=r"'echo' is the name of another extension"):
        start(extensions=[mine, extension(tmp_path, "echo")])
    assert "echo" in start(extensions=[mine]).stats()


def test_two_of_one_name_are_a_type_error(start):
    with pytest.raises(TypeError, match="two extensions of this program are named 'mine'"):
        start(extensions=[Extension("mine"), Extension("mine")])
    with pytest.raises(TypeError, match="named 'functions'"):
        start(extensions=[Extension("functions")], functions=[weather])


def test_settings_that_the_engine_does_not_take_are_refused(start, guard):
    with pytest.raises(RefusedError, match=r"timeouts.*verdict"):
        start(extensions=[ProgramExtension(guard, timeouts={"verdict": 3})])
    with pytest.raises(TypeError, match="on_failur"):
        ProgramExtension(guard, on_failur="deny")


@pytest.mark.parametrize("given", [3, [3], [[]], [None], object()])
def test_what_is_no_extension_is_a_type_error(start, given):
    with pytest.raises(TypeError, match=r"[Ee]xtension"):
        start(extensions=given)


def test_an_extension_serves_one_runtime_at_a_time(model, start, guard):
    first = start(extensions=[guard])
    with pytest.raises(RuntimeError, match="guard already runs"):
        start(extensions=[guard])
    model.add(text_reply("Done."))
    first.run("go", check=True)
    assert first.stats()["guard"].state == "ready"
    first.close()
    assert "guard" in start(extensions=[guard]).stats()
