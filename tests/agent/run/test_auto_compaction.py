"""When a conversation is compacted by itself: decided with figures of conversations that never were."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.request import ToolSpec
from agent.run import compaction
from agent.run.auto_compaction import (
    BYTES_PER_TOKEN,
    IMAGE_TOKENS,
    THRESHOLD,
    CompactionPlan,
    CompactionStep,
    Fill,
    estimate_tokens,
    expected_tokens,
    fill_after_reply,
    fill_of_session,
    overhead_of,
    plan_compaction,
)
from agent.sessions.token_meter import RequestTokens
from agent.transcript import Image, Message, Text, Thinking, ToolCall, ToolResult

WINDOW = 100_000


def message(tokens, role="user"):
    return Message(role, (Text("word" * tokens),), "")


def conversation(*tokens):
    return [message(count, "assistant" if number % 2 else "user") for number, count in enumerate(tokens)]


NOTHING_KNOWN = Fill()


def decide(transcript, fill=NOTHING_KNOWN, *, window=WINDOW, percent=THRESHOLD, overhead=0):
    return plan_compaction(transcript, fill, window=window, percent=percent, overhead=overhead)


SIZES = st.lists(st.integers(0, 40_000), max_size=12)
WINDOWS = st.integers(1, 300_000)
PERCENTS = st.integers(1, 100)


@given(SIZES, WINDOWS, PERCENTS, st.integers(0, 50_000))
def test_below_the_threshold_nothing_happens_and_from_it_on_what_helps(sizes, window, percent, overhead):
    transcript = conversation(*sizes)
    judged = decide(transcript, window=window, percent=percent, overhead=overhead)
    assert judged.tokens == sum(sizes) + overhead
    is_full = judged.tokens * 100 >= window * percent
    assert (judged.decision is CompactionStep.GO_ON) is not is_full
    if judged.decision is not CompactionStep.COMPACT:
        return
    _, kept = compaction.split(transcript)
    made = compaction.compacted_conversation("", kept)
    assert estimate_tokens(made) + overhead < judged.tokens, "it is shorter afterwards"
    left = overhead + estimate_tokens(kept) + compaction.summary_tokens(window)
    assert left * 100 < window * percent, "and below the threshold, however long the summary is"


@given(SIZES, WINDOWS)
def test_without_a_window_or_a_threshold_and_just_after_a_compaction_nothing_happens(sizes, window):
    transcript = conversation(*sizes)
    assert decide(transcript, window=None) == CompactionPlan(CompactionStep.GO_ON)
    assert decide(transcript, window=window, percent=0) == CompactionPlan(CompactionStep.GO_ON)
    assert decide(transcript, Fill(compacted=len(transcript)), window=window) == CompactionPlan(CompactionStep.GO_ON)


@given(st.lists(st.integers(0, WINDOW), max_size=compaction.KEPT))
def test_what_has_nothing_to_compact_is_never_compacted(sizes):
    assert decide(conversation(*sizes)).decision is not CompactionStep.COMPACT


def test_what_stays_alone_fills_the_window():
    assert decide(conversation(10, 10, 10, 90_000)) == CompactionPlan(CompactionStep.NO_USE, 90_030)
    assert decide(conversation(9_000, 10, 10, 10, 80_000)).decision is CompactionStep.COMPACT
    assert decide(conversation(9_000, 10, 10, 10, 81_000)).decision is CompactionStep.NO_USE, "no room for a summary"
    assert decide(conversation(9_000, 10, 10, 10, 70_000), overhead=15_000).decision is CompactionStep.NO_USE


def test_the_figures_of_the_provider_count_and_what_came_since_is_estimated():
    transcript = conversation(10, 10, 10, 10, 10, 10)
    assert expected_tokens(transcript, Fill(), 7) == 67
    assert expected_tokens(transcript, Fill(84_000, 5), 7) == 84_010, "the overhead is counted in them"
    assert decide(transcript, Fill(84_000, 5)) == CompactionPlan(CompactionStep.GO_ON, 84_010)


def test_what_stays_is_as_much_longer_than_its_estimate_as_the_whole_was():
    """A text of which the provider counts twice the tokens."""
    transcript = conversation(24_000, 5_000, 5_000, 5_000, 5_000)
    assert decide(transcript, Fill(88_000, 5)).decision is CompactionStep.COMPACT
    transcript = conversation(3_000, 10_250, 10_250, 10_250, 10_250)
    assert decide(transcript, Fill(88_000, 5)).decision is CompactionStep.NO_USE
    assert decide(conversation(48_000, *[10_000] * 4)).decision is CompactionStep.COMPACT


@pytest.mark.parametrize(
    ("usage", "fill"),
    [
        ({"input": 5, "output": 3, "cache_read": 70, "cache_write": 10}, Fill(88, 4)),
        ({"input": 0, "output": 3, "cache_read": 70}, Fill(73, 4)),
        ({"input": 0, "output": 3, "cache_read": 0, "cache_write": 0}, Fill()),
        ({}, Fill()),
    ],
)
def test_a_server_that_counts_nothing_teaches_nothing(usage, fill):
    assert fill_after_reply(usage, 4) == fill


def test_each_kind_of_block_is_estimated():
    def tokens(*blocks):
        return estimate_tokens([Message("user", blocks, "")])

    assert tokens(Text("x" * 9)) == 3
    assert tokens(Text("ü" * 4)) == 2, "bytes count, not characters"
    assert tokens(Text("\ud800")) == 1
    assert tokens(Image("image/png", "x" * 99)) == IMAGE_TOKENS
    assert tokens(Thinking("x" * 8, "s" * 4)) == 2
    assert tokens(Thinking("", "s" * 400)) == 100, "a thought that is not shown is in its signature"
    assert tokens(Thinking("", "", "r" * 40)) == 10
    assert tokens(ToolCall("t", "read", b"x" * 8)) == 3
    assert tokens(ToolResult("t", (Text("x" * 8), Image("image/png", "")))) == 2 + IMAGE_TOKENS
    tool = ToolSpec("read", "x" * 40, {"type": "object"})
    assert overhead_of("s" * 400, [tool]) == (400 + 4 + 40 + len('{"type":"object"}')) // BYTES_PER_TOKEN


TURNS = st.lists(st.tuples(st.integers(1, 9_000), st.integers(1, 9_000)), min_size=1, max_size=60)


@given(TURNS, st.floats(0.5, 1.0), st.integers(0, 4_096), st.integers(0, 20_000))
def test_a_long_run_never_asks_for_more_than_the_window_and_compacts_no_two_times_in_a_row(
    turns, factor, summary, overhead
):
    """A provider counts `factor` of the estimate. No turn adds more than the room that the threshold leaves."""
    transcript, fill, happened = [message(100)], Fill(), []
    for said, answered in turns:
        judged = decide(transcript, fill, overhead=overhead)
        if judged.decision is CompactionStep.COMPACT:
            _, kept = compaction.split(transcript)
            transcript = compaction.compacted_conversation("word" * summary, kept)
            fill = Fill(compacted=len(transcript))
            happened.append("compaction")
            assert decide(transcript, fill, overhead=overhead).decision is CompactionStep.GO_ON
        asked = int(factor * (overhead + estimate_tokens(transcript)))
        assert asked <= WINDOW
        happened.append("request")
        transcript.append(message(said, "assistant"))
        fill = fill_after_reply({"input": asked, "output": int(factor * said)}, len(transcript))
        transcript.append(message(answered, "user"))
    assert all(pair != ("compaction", "compaction") for pair in pairwise(happened))
    assert happened[-1] == "request"


def test_a_conversation_that_goes_on_has_the_figures_of_its_file():
    transcript = conversation(100, 100, 100)
    assert fill_of_session(RequestTokens(190, 2), transcript) == Fill(190, 2)
    assert fill_of_session(RequestTokens(100, 2), transcript) == Fill(100, 2)
    assert fill_of_session(RequestTokens(99, 2), transcript) == Fill(), "those of a shorter conversation"
    assert fill_of_session(None, transcript) == Fill()
