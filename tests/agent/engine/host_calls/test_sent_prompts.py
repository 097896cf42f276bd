"""Which prompts of extensions are taken, and in which order they wait."""

from __future__ import annotations

import pytest

from agent.engine.host_calls.sent_prompts import (
    CHARACTERS_MOST,
    FILES_MOST,
    MOST,
    SendAllowance,
    SendRefusedError,
    SentPrompt,
    SentPrompts,
    check_sent_prompt,
)


def prompt(text="go", files=(), extension="x"):
    return SentPrompt(text, tuple(files), extension)


def test_the_first_that_was_sent_is_the_first_that_runs():
    sent = SentPrompts()
    assert not sent.has_waiting
    for text in "abc":
        sent.add(prompt(text))
    assert sent.has_waiting
    assert [sent.next().text for _ in range(3)] == ["a", "b", "c"]
    assert sent.next() is None


def test_no_more_than_the_limit_are_taken_though_others_have_run():
    sent = SentPrompts()
    for _ in range(MOST):
        sent.add(prompt())
        sent.next()
    with pytest.raises(SendRefusedError, match=r"have sent 10 prompts already"):
        sent.add(prompt())
    assert not sent.has_waiting


def test_what_comes_after_the_end_is_refused_with_its_reason():
    sent = SentPrompts()
    sent.add(prompt("late"))
    assert [dropped.text for dropped in sent.close("the run is ending")] == ["late"]
    with pytest.raises(SendRefusedError, match="the run is ending"):
        sent.add(prompt())
    assert sent.next() is None


def test_an_allowance_can_be_renewed():
    allowance = SendAllowance()
    for _ in range(MOST):
        allowance.take()
    with pytest.raises(SendRefusedError):
        allowance.take()
    allowance.renew()
    allowance.take()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (prompt(" \n"), "empty"),
        (prompt(files=["f"] * (FILES_MOST + 1)), "21 files go with the prompt; at most 20"),
        (prompt("x" * (CHARACTERS_MOST + 1)), "more than 4 Mi characters"),
        (prompt(files=["x" * CHARACTERS_MOST]), "more than 4 Mi characters"),
    ],
)
def test_a_prompt_that_cannot_run_is_refused(wrong, why):
    with pytest.raises(SendRefusedError, match=why):
        check_sent_prompt(wrong)


def test_files_alone_are_a_prompt():
    check_sent_prompt(prompt("", files=["a.png"]))
