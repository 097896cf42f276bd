"""The conversation with an engine: what waits and what does not, and engines that refuse, die or never start."""

from __future__ import annotations

import asyncio

import pytest

from pyzot.answers import CommandInfo
from pyzot.screen.commands import Kind


def play(begun, steps):
    """Runs `steps` in a conversation. Returns its exit status and all lines."""

    async def run():
        async with begun as conversation:
            view = conversation.scene.view
            await view.until(lambda: conversation.scene.has_started.is_set() or conversation.scene.is_over)
            await steps(conversation, view)
        return await conversation.ended, view.lines

    return asyncio.run(run())


def prompts(lines):
    return [line for line in lines if line.startswith("> ")]


def test_prompts_are_sent_one_after_another(converse):
    async def steps(conversation, view):
        for text in ("go", "quick", "later"):
            conversation.submit(text)
        await view.until_line("> go")
        assert conversation.is_busy
        assert conversation.activity.startswith("working 0 s")
        assert [line.text for line in conversation.queue] == ["quick", "later"]
        assert conversation.waiting() == ["waits: quick", "waits: later"]
        assert conversation.take_back() == "later"
        assert conversation.abort()
        await view.until_line("> quick")
        await view.until(lambda: not conversation.is_busy)
        assert conversation.activity == "ready"
        assert conversation.take_back() == ""

    status, lines = play(converse(), steps)
    assert status == 0
    assert prompts(lines) == ["> go", "> quick"]
    assert "✗ aborted" in lines


def test_a_command_does_not_wait_for_a_prompt(converse):
    async def steps(conversation, view):
        conversation.submit("go")
        await view.until_line("> go")
        conversation.submit("/todo display see this")
        await view.until_line("[/todo] see this")
        conversation.submit("/todo insert that")
        await view.until(lambda: view.inserted == ["that"])
        conversation.submit("/todo prompt quick")
        await view.until(lambda: conversation.queue)
        assert [(line.kind, line.text) for line in conversation.queue] == [(Kind.PROMPT, "quick")]
        conversation.abort()
        await view.until_line("> quick")

    play(converse(), steps)


def test_in_order_a_line_waits_for_the_one_before(converse):
    async def steps(conversation, view):
        for text in ("quick", "/todo display one", "!ls", "/todo display two"):
            conversation.submit(text)
        conversation.end_input()
        await asyncio.wait([conversation.ended])

    status, lines = play(converse(in_order=True), steps)
    assert status == 0
    told = [line for line in lines if line.startswith(("> ", "[/todo]"))]
    assert told == ["> quick", "> /todo display one", "[/todo] one", "> !ls", "> /todo display two", "[/todo] two"]


def test_abort_with_nothing_running_does_nothing(converse):
    async def steps(conversation, view):
        conversation.scene.notes.add("e", "info", "x")
        assert not conversation.abort()
        assert conversation.scene.notes.lines(80, 5) == []
        conversation.submit("quick")
        await view.until_line("> quick")

    assert play(converse(), steps)[0] == 0


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("refused", "✗ it needs text"),
        ("/model none such", "✗ "),
        ("/qqqq", "✗ no such command: /qqqq; /help lists them"),
        ("/toddo", "✗ no such command: /toddo; did you mean /todo?"),
        ("/tools", "✗ unknown command 'list_tools'"),
    ],
)
def test_a_refusal_is_shown_and_the_next_line_is_carried_out(converse, line, shown):
    async def steps(conversation, view):
        conversation.submit(line)
        if shown != "✗ ":
            await view.until_line(shown)
        conversation.submit("quick")
        await view.until_line("> quick")

    assert play(converse(), steps)[0] == 0


def test_an_engine_that_dies_in_mid_prompt_is_started_again(converse):
    async def steps(conversation, view):
        first = conversation.scene.runtime.pid
        conversation.submit("die")
        await view.until_line("another engine continues the session")
        await view.until(lambda: conversation.scene.engine.runtime is not None)
        assert conversation.scene.runtime.pid != first
        conversation.submit("quick")
        await view.until_line("> quick")

    status, lines = play(converse(), steps)
    assert status == 0
    assert any(line.startswith("✗ ") and "3" in line for line in lines)


def test_an_engine_that_dies_three_times_at_once_is_given_up(converse):
    async def steps(conversation, view):
        for _ in range(3):
            await view.until(lambda: conversation.scene.engine.runtime is not None)
            conversation.submit("die")
            died = conversation.scene.engine.quick_deaths + 1
            await view.until(lambda died=died: conversation.scene.engine.quick_deaths == died)
        assert conversation.scene.is_over

    status, lines = play(converse(), steps)
    assert status == 1
    assert any(line.startswith("it has ended 3 times soon after its start") for line in lines)


def test_an_engine_that_dies_in_each_start_is_given_up(converse):
    async def steps(conversation, view):
        await asyncio.wait([conversation.ended])

    status, lines = play(converse("dies"), steps)
    assert status == 1
    assert sum(line.startswith("✗ ") for line in lines) == 3
    assert any(line.startswith("it has ended 3 times soon after its start") for line in lines)


def test_lines_that_wait_are_sent_to_the_next_engine(converse):
    async def steps(conversation, view):
        for text in ("die", "quick", "quick"):
            conversation.submit(text)
        conversation.end_input()
        await asyncio.wait([conversation.ended])

    status, lines = play(converse(), steps)
    assert (status, prompts(lines)) == (0, ["> quick", "> quick"])


def test_a_file_that_is_no_image_is_refused(converse, tmp_path):
    (tmp_path / "a.png").write_text("text")

    async def steps(conversation, view):
        conversation.submit("see @a.png")
        await view.until_line("✗ ")
        conversation.submit("quick")
        await view.until_line("> quick")

    status, lines = play(converse(cwd=str(tmp_path)), steps)
    assert status == 0
    assert "not an image that models take" in " ".join(lines)


def test_the_same_command_twice_at_once(converse):
    async def steps(conversation, view):
        conversation.submit("/todo display x")
        conversation.submit("/todo display x")
        await view.until_line("[/todo] x", count=2)
        await view.until(lambda: not conversation._beside)

    assert play(converse(), steps)[0] == 0


@pytest.mark.parametrize("behaviour", ["garbage", "other_version", "no_version"])
def test_an_engine_that_does_not_start_ends_the_screen(converse, behaviour):
    async def steps(conversation, view):
        await asyncio.wait([conversation.ended])
        assert view.has_left

    status, lines = play(converse(behaviour), steps)
    assert status > 0
    assert lines[0].startswith("✗ ")


def test_a_program_that_is_not_there_ends_the_screen(converse, monkeypatch):
    monkeypatch.setattr("tests.pyzot.screen.conftest.fake_engine", lambda _word: ["/no/such/program"])

    async def steps(conversation, view):
        await asyncio.wait([conversation.ended])

    status, lines = play(converse(), steps)
    assert status > 0
    assert lines[0].startswith("✗ ")


def test_the_user_leaves_while_the_engine_starts(converse):
    async def run():
        async with converse() as conversation:
            await asyncio.sleep(0)
            conversation.scene.leave()
        return await conversation.ended

    assert asyncio.run(run()) == 0


def test_the_user_leaves_while_a_prompt_runs(converse):
    async def steps(conversation, view):
        conversation.submit("go")
        await view.until_line("> go")
        conversation.scene.leave(129)

    status, lines = play(converse(), steps)
    assert status == 129
    assert prompts(lines) == ["> go"]


def test_the_output_of_a_command_of_the_user_goes_to_the_model_with_the_next_prompt(converse):
    async def steps(conversation, view):
        conversation.submit("!ls")
        await view.until_line("> !ls")
        await view.until(lambda: not conversation.waiting() and not conversation._beside)
        conversation.submit("go")
        await view.until(lambda: conversation.is_busy)
        assert conversation.scene.transcript.hidden == "I ran this command: ls\noutput of ls\n\n"

    play(converse(), steps)


def test_after_the_end_of_the_input_all_is_carried_out(converse):
    async def steps(conversation, view):
        conversation.submit("quick")
        conversation.submit("quick")
        conversation.end_input()
        await asyncio.wait([conversation.ended])

    status, lines = play(converse(), steps)
    assert (status, prompts(lines)) == (0, ["> quick", "> quick"])


def test_the_description_of_a_command_is_cleaned(converse):
    async def steps(conversation, view):
        found = conversation.scene.commands.of_extensions
        found["todo"] = CommandInfo("todo", "lists\x1b[2J\nall", "e")
        conversation.submit("/help")
        await view.until_line("/todo")
        assert [line for line in view.lines if line.startswith("/todo")] == ["/todo        lists all [e]"]

    play(converse(), steps)


def test_after_a_compaction_by_the_user_no_prompt_is_edited(converse):
    async def steps(conversation, view):
        conversation.submit("quick")
        conversation.submit("/compact keep")
        await view.until_line("short: keep")
        await view.until(lambda: not conversation.is_busy)
        conversation.edit_last()
        await conversation.looking_back.edit_last()
        assert view.suggested == []
        assert not any(line.startswith("✗") for line in view.lines)

    play(converse(), steps)
