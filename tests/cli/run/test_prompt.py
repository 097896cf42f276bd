"""A prompt is made of words, of a pipe, and of `-` among the words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.run.prompt import PromptError, StdinKind, StdinUse, begins_with_stdin, join, plan_prompt

T, F, S, O = StdinKind.TERMINAL, StdinKind.FILE, StdinKind.STREAM, StdinKind.OTHER  # noqa: E741
NOT, OFFERED, WANTED = StdinUse.NOT, StdinUse.OFFERED, StdinUse.WANTED


@pytest.mark.parametrize(
    ("words", "readings"),
    [  #                     terminal, file, pipe, other
        ((), (NOT, WANTED, WANTED, WANTED)),
        (("fix", "it"), (NOT, NOT, OFFERED, NOT)),
        (("-",), (WANTED, WANTED, WANTED, WANTED)),
        (("fix", "-", "now"), (WANTED, WANTED, WANTED, WANTED)),
        (("-x", "--", "a-b"), (NOT, NOT, OFFERED, NOT)),
    ],
)
def test_what_is_read(words, readings):
    assert tuple(plan_prompt(words, kind, no_stdin=False).reading for kind in (T, F, S, O)) == readings


@given(st.lists(st.text(max_size=3)), st.sampled_from(StdinKind))
def test_with_no_stdin_nothing_is_read(words, kind):
    words = tuple(word for word in words if word != "-")
    assert plan_prompt(words, kind, no_stdin=True).reading is NOT
    with pytest.raises(PromptError, match="--no-stdin and - exclude each other"):
        plan_prompt((*words, "-"), kind, no_stdin=True)


def test_stdin_stands_once():
    with pytest.raises(PromptError, match="- stands for what is on stdin, and can stand once; put your text in quotes"):
        plan_prompt(("-", "and", "-"), S, no_stdin=False)


@pytest.mark.parametrize(
    ("words", "piped", "prompt"),
    [
        (("review", "this"), "diff\n", "review this\n\ndiff"),
        (("review",), "\n\n  indented\n\n", "review\n\n  indented"),
        (("review",), "", "review"),
        (("review ",), " \n", "review "),
        (("read", "-", "then", "answer"), "text\r\n", "read\n\ntext\n\nthen answer"),
        (("read", "-"), "", "read"),
        (("-", "answer"), "text", "text\n\nanswer"),
        (("-",), " text \n", "text"),
        ((), " text \n", "text"),
        ((" ",), "text", "text"),
        (("/review", "all"), "diff", "/review all\n\ndiff"),
    ],
)
def test_words_and_pipe_together(words, piped, prompt):
    assert join(plan_prompt(words, S, no_stdin=False), piped) == prompt


@pytest.mark.parametrize(
    ("words", "kind", "reason"),
    [
        ((), T, "no words and nothing piped in"),
        ((), S, "stdin was empty"),
        (("-",), T, "stdin was empty"),
        ((" \n",), O, "its words are empty"),
    ],
)
def test_no_prompt(words, kind, reason):
    with pytest.raises(PromptError, match=f"no prompt: {reason}. Give it as words, as -, or through a pipe; see"):
        join(plan_prompt(words, kind, no_stdin=False), " \n")


@pytest.mark.parametrize(
    ("words", "literal"), [((), True), (("-",), True), (("-", "x"), True), (("/x",), False), (("/x", "-"), False)]
)
def test_what_is_piped_is_never_a_command(words, literal):
    assert begins_with_stdin(plan_prompt(words, S, no_stdin=False)) is literal


@given(st.lists(st.text(alphabet="a -/\n", max_size=4)), st.text(alphabet="b -/\n"), st.sampled_from(StdinKind))
def test_no_part_is_lost(words, piped, kind):
    try:
        planned = plan_prompt(tuple(words), kind, no_stdin=False)
        prompt = join(planned, piped if planned.reading is not NOT else "")
    except PromptError:
        return
    assert prompt.count("a") == "".join(words).count("a")
    assert prompt.count("b") == (piped.count("b") if planned.reading is not NOT else 0)
    assert prompt.strip()


def test_images_need_no_text_but_take_what_is_piped():
    assert tuple(plan_prompt((), kind, no_stdin=False, has_images=True).reading for kind in (T, F, S, O)) == (
        NOT, WANTED, OFFERED, WANTED,
    )  # fmt: skip
    for words in ((), ("",), ("-",)):
        alone = plan_prompt(words, S, no_stdin=False, has_images=True)
        assert join(alone, "\n") == ""
        assert join(alone, "/what is it?\n") == "/what is it?"
        assert begins_with_stdin(alone), "what is piped is never a command"
    assert join(plan_prompt(("look",), S, no_stdin=True, has_images=True), "") == "look"
