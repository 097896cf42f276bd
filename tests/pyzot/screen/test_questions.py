"""Questions of guards: answered one after another, and shown so that nothing of the deed is hidden."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyzot.events import PermissionAsked
from pyzot.screen.questions import HOW, WHAT_LIMIT, WHAT_ROWS, Questions, question_rows
from pyzot.screen.view.text import Palette, width_of
from tests.pyzot.screen.view.test_text import any_text
from tests.support.any_json import json_values

PLAIN = Palette(has_colours=False)


def asked(id_="1", **more):
    return PermissionAsked(**{"id": id_, "extension": "guard", "event": "tool_call", "reason": "why", **more})


def answers(*texts, questions=1):
    """The answers of the guards after these texts, and whether each text was one."""

    async def run():
        found = Questions(lambda: None)
        asking = [asyncio.ensure_future(found.ask(asked(str(number)))) for number in range(questions)]
        await asyncio.sleep(0)
        taken = [found.answer(text) for text in texts]
        told = await asyncio.gather(*asking[: sum(taken)])
        for task in asking:
            task.cancel()
        return told, taken

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("y", True),
        (" YES ", True),
        ("n", False),
        ("No", False),
        ("no  it is mine ", "it is mine"),
        ("no, it is mine", "it is mine"),
        ("n: never", "never"),
        ("no,", False),
    ],
)
def test_an_answer(text, told):
    assert answers(text) == ([told], [True])


@pytest.mark.parametrize("text", ["", "yes please", "nope", "yesno", "maybe", "/help", "ok", "yes."])
def test_other_words_are_no_answer(text):
    assert answers(text) == ([], [False])


def test_each_answer_is_for_the_next_question_also_if_both_come_at_once():
    assert answers("no a", "yes", "no c", questions=3) == (["a", True, "c"], [True] * 3)


def test_a_question_that_is_cancelled_makes_room_for_the_next():
    async def run():
        changes = []
        questions = Questions(lambda: changes.append(questions.first))
        first, second = (asyncio.ensure_future(questions.ask(asked(id_))) for id_ in ("1", "2"))
        await asyncio.sleep(0)
        assert questions.first.id == "1"
        first.cancel()
        await asyncio.wait([first])
        assert questions.first.id == "2"
        assert questions.answer("yes")
        assert questions.first is None
        assert await second is True
        assert [each and each.id for each in changes] == ["1", "1", "2", None]

    asyncio.run(run())


def test_another_engine_may_ask_with_the_same_id():
    async def run():
        questions = Questions(lambda: None)
        old = asyncio.ensure_future(questions.ask(asked()))
        await asyncio.sleep(0)
        new = asyncio.ensure_future(questions.ask(asked(reason="again")))
        await asyncio.sleep(0)
        old.cancel()
        await asyncio.wait([old])
        assert questions.first.reason == "again"
        assert questions.answer("no")
        assert await new is False

    asyncio.run(run())


def test_the_end_of_the_input_denies_all():
    async def run():
        questions = Questions(lambda: None)
        asking = [asyncio.ensure_future(questions.ask(asked(id_))) for id_ in "123"]
        await asyncio.sleep(0)
        questions.deny_all("no more input")
        assert await asyncio.gather(*asking) == ["no more input"] * 3
        questions.deny_all("again")

    asyncio.run(run())


def test_a_question_has_the_reason_and_the_deed():
    question = asked(tool_name="bash", args={"command": "rm -rf build\nls", "timeout": 3})
    assert question_rows(question, 40, 40, PLAIN) == [
        "? guard asks whether bash may go on: why",
        "  rm -rf build",
        '  ls {"timeout": 3}',
        f"  {HOW}",
    ]
    assert question_rows(asked(event="user_prompt", text="go"), 80, 40, PLAIN)[:2] == [
        "? guard asks whether user_prompt may go on: why",
        "  go",
    ]
    assert question_rows(asked(reason=""), 80, 40, PLAIN)[:1] == ["? guard asks whether tool_call may go on"]


@pytest.mark.parametrize(
    "command",
    [
        "ls \x1b]; rm -rf ~",
        "ls \x1b[8m; rm -rf ~",
        "ls \x9d; rm -rf ~",
        "ls \x90; rm -rf ~",
        "ls\r; rm -rf ~",
        "ls \u202e; rm -rf ~",
        "ls" + " " * 100 + "; rm -rf ~",
    ],
)
def test_no_part_of_a_command_is_hidden(command):
    rows = "".join(question_rows(asked(tool_name="bash", args={"command": command}), 60, 40, PLAIN))
    assert "; rm -rf ~" in rows


@pytest.mark.parametrize("between", ["\n" * 100, " " * WHAT_LIMIT, "x" * WHAT_LIMIT])
def test_a_part_that_has_no_room_is_told(between):
    question = asked(tool_name="bash", args={"command": f"ls{between}; rm -rf ~"})
    rows = question_rows(question, 400, 40, PLAIN)
    assert len(rows) <= WHAT_ROWS + 2
    assert rows[-2] == f"  … there is more: it has {len(between) + 12} characters"


@given(any_text, json_values | st.builds(dict, command=any_text), st.integers(10, 200), st.booleans())
@example("", {"command": "\x1b[44m" + "x" * 400}, 40, True)
def test_any_question_fits(reason, args, columns, has_colours):
    palette = Palette(has_colours=has_colours)
    for question in (asked(tool_name="bash", args=args, reason=reason), asked(text=reason)):
        rows = question_rows(question, columns, 40, palette)
        assert all(width_of(row) <= columns and "\n" not in row for row in rows)
        assert has_colours or "\x1b" not in "".join(rows)
