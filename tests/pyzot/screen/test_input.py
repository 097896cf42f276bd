"""The input: a long paste stands as a mark, and is entered as it was pasted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.buffer import CompletionState
from prompt_toolkit.completion import Completion, DummyCompleter
from prompt_toolkit.filters import Never
from prompt_toolkit.history import InMemoryHistory

from pyzot.screen.terminal.input import LONG_PASTE, LONG_TEXT, InputArea


def new_input():
    area = InputArea(InMemoryHistory(), DummyCompleter(), prompt=lambda: "> ")
    area.buffer.complete_while_typing = Never()  # that needs a running application
    return area


def test_a_short_paste_stands_as_it_is():
    area = new_input()
    area.paste("one\r\ntwo\rthree")
    assert area.buffer.text == "one\ntwo\nthree"
    assert area.take() == "one\ntwo\nthree"
    assert area.buffer.text == area.take() == ""


@pytest.mark.parametrize(
    ("pasted", "mark"),
    [
        ("x\n" * LONG_PASTE, f"[paste 1: {LONG_PASTE + 1} lines]"),
        ("x" * (LONG_TEXT + 1), f"[paste 1: {LONG_TEXT + 1} characters]"),
    ],
)
def test_a_long_paste_stands_as_a_mark(pasted, mark):
    area = new_input()
    area.buffer.insert_text("see ")
    area.paste(pasted)
    area.buffer.insert_text(" now")
    assert area.buffer.text == f"see {mark} now"
    assert area.take() == f"see {pasted} now"
    assert area.buffer.history.get_strings() == [f"see {pasted} now"]


def test_a_draft_keeps_its_paste_while_a_question_is_answered():
    area = new_input()
    area.paste("x\n" * 30)
    draft = area.buffer.text
    area.put("yes")
    assert area.take() == "yes"
    area.put(draft)
    assert area.take() == "x\n" * 30


def test_a_mark_that_is_entered_again_is_text():
    area = new_input()
    area.paste("x\n" * 30)
    mark = area.buffer.text
    area.take()
    area.put(mark)
    assert area.take() == mark


def test_an_input_of_blanks_is_not_kept():
    area = new_input()
    area.put("  \n")
    assert area.take() == "  \n"
    assert area.buffer.history.get_strings() == []


marks = st.builds("[paste {}: {} lines]".format, st.integers(1, 3), st.integers(29, 31))
pastes = st.lists(
    st.tuples(marks | st.sampled_from(["", "[paste ", "\\1", "x"]), st.sampled_from([1, 30, 31])), max_size=4
)


@given(marks | st.just("so: "), pastes)
def test_pastes_come_back_as_they_were(typed, given):
    area = new_input()
    area.buffer.insert_text(typed)
    entered = typed
    for line, count in given:
        area.paste("\n".join([line] * count))
        entered += "\n".join([line] * count)
    assert area.take() == entered


@given(st.text())
def test_any_paste(text):
    area = new_input()
    area.paste(text)
    assert area.take() == text.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(
    ("typed", "entered"), [("/he", "/help"), ("/tool", "/tool"), ("see /he", "see /he"), ("/tools x", "/tools x")]
)
def test_enter_takes_the_first_of_the_menu_for_a_beginning_only(typed, entered):
    area = new_input()
    area.put(typed)
    begun = typed.rpartition(" ")[2]
    names = [name for name in ("/help", "/tools", "/tool", "/exit") if name.startswith(begun)]
    offered = [Completion(name, -len(begun)) for name in names]
    area.buffer.complete_state = CompletionState(area.buffer.document, offered) if offered else None
    area.take_completion()
    assert area.buffer.complete_state is None
    assert area.take() == entered
