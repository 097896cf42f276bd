"""Records of prompts as lines: of recorded runs, and of records in an order that no engine sends."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyzot import events as ev
from pyzot.connection.decoder import event, members_of
from pyzot.parts import ImageContent, TextContent, ToolCallContent, ToolResultContent, Totals
from pyzot.screen.view.text import Palette, width_of
from pyzot.screen.view.transcript import LIVE_TEXT, PROMPT_LINES, Transcript
from tests.pyzot.screen.view.test_text import any_text, letters
from tests.support.any_json import json_values
from tests.support.recorded_events import RESULT, RUN

PLAIN = Palette(has_colours=False)
TOTALS = Totals(1, 2, 3, 4)


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def transcript(clock):
    return Transcript(PLAIN, clock=clock, columns=60)


def text(*texts):
    return tuple(map(TextContent, texts))


def take(transcript, *events):
    return [line for each in events for line in transcript.take(each)]


def read(record):
    line = json.dumps(record).encode()
    return event(members_of(line), line)


CALL = ev.ToolCall("t1", "bash", {"command": "make"})


def test_a_recorded_run(transcript):
    shown = take(transcript, *map(read, [*RUN, RESULT]))
    assert shown == [
        "", "> ", "",
        "● bash rm -rf build", "  refused by guard", "",
        "guard: exit 1; started again in 0.5 s",
        "─ 4.2 s · 2 turns · 3 tokens · $?",
    ]  # fmt: skip
    assert transcript.live(10) == []


def test_a_reply_is_final_block_by_block_and_the_rest_is_live(transcript, clock):
    assert take(transcript, ev.TurnStart(1)) == []
    clock.now += 3
    assert transcript.live(5) == ["… waiting for the model 3 s"]
    assert take(transcript, ev.AssistantStart()) == []
    clock.now += 4
    assert transcript.live(5) == ["… thinking 4 s"]
    assert take(transcript, ev.TextDelta("One.\n\nT")) == ["… thought for 4 s (Ctrl-T shows it)"]
    assert transcript.live(5) == ["One.", "", "T"]
    assert take(transcript, ev.TextDelta("wo.\n")) == ["One.", ""]
    assert transcript.live(5) == ["Two.", ""]
    assert take(transcript, ev.AssistantMessage(text("One.\n\nTwo."), "")) == ["Two.", ""]
    assert transcript.live(5) == []


def test_a_call_with_progress_and_its_result(transcript, clock):
    take(transcript, ev.ToolUseStart("t1", "bash"))
    assert transcript.live(5) == ["… writing a call of bash 0 s"]
    assert take(transcript, CALL, ev.ToolProgress("t1", "ha"), ev.ToolProgress("t1", "lf\n")) == []
    clock.now += 2
    assert transcript.live(5) == ["2 s ● bash make", "  half"]
    result = ev.ToolResult("t1", False, text("\n".join("x" * 20)))
    shown = take(transcript, result)
    assert shown[:2] == ["● bash make", "  x"]
    assert shown[-2:] == ["  … 12 more lines (Ctrl-O shows them)", ""]
    assert transcript.unfold() == ["● bash make", *("x" * 20), ""]
    assert transcript.unfold() == []


def test_a_result_without_a_call_and_progress_of_none(transcript):
    assert take(transcript, ev.ToolProgress("t9", "x"), ev.ToolResult("t9", True, text("no"))) == ["  no", ""]


def test_only_the_difference_of_our_own_tool_is_coloured(clock):
    transcript = Transcript(Palette(has_colours=True), clock=clock, columns=60)
    for extension, line in ((None, "  \x1b[32m+a\x1b[0m"), ("e", "  +a")):
        take(transcript, ev.ToolCall("t1", "edit", {"path": "f"}, extension))
        assert take(transcript, ev.ToolResult("t1", False, text("+a")))[1] == line


def test_a_prompt_that_is_aborted_in_mid_call(transcript):
    take(transcript, CALL, ev.TextDelta("half"))
    assert take(transcript, ev.TurnEnd("aborted", "aborted")) == ["half", "", "✗ aborted"]
    assert transcript.live(5) == []


def test_the_engine_goes_in_mid_reply(transcript):
    take(transcript, ev.TurnStart(1), ev.TextDelta("half"), CALL)
    take(transcript, ev.TextDelta("more"))
    assert transcript.end() == ["more", "", "● bash make", "  ✗ it has not finished", ""]
    assert transcript.end() == transcript.live(5) == []


def test_two_turns_without_an_end(transcript):
    take(transcript, ev.TurnStart(1), ev.TextDelta("one "), ev.TurnStart(2), ev.AssistantStart())
    assert take(transcript, ev.TextDelta("two"), ev.TurnEnd("length")) == [
        "one two", "", "the reply was cut at the model's maximum length"
    ]  # fmt: skip


def test_a_long_prompt_is_folded_and_one_of_an_extension_names_it(transcript):
    shown = take(transcript, ev.UserMessage(text("\n".join("x" * 40)), "", "e"))
    assert shown[:3] == ["", "> [e] x", "  x"]
    assert shown[PROMPT_LINES + 1 :] == ["  … 10 more lines", ""]


def test_waits_and_notices(transcript, clock):
    take(transcript, ev.Retry(2, 5, 1.6, "overloaded", 529))
    assert transcript.live(5) == ["… overloaded: attempt 2 of 5 in 2 s, 0 s"]
    take(transcript, ev.CompactStart("window", 9, None))
    assert transcript.live(5) == ["… summarising older messages 0 s"]
    assert take(transcript, ev.CompactDone("s", 9, 3)) == ["compacted: 9 messages are now 3"]
    assert take(transcript, ev.ExtensionNotice("e", "no_verdict", "gave none")) == ["e: gave none"]
    assert take(transcript, ev.ExtensionNotice("e", "blocked", "refused bash")) == ["e refused bash"]
    assert take(transcript, ev.ExtensionNotice("e", "started", "ready")) == []
    assert take(transcript, ev.Error("it\x1b[2J fails")) == ["✗ it fails"]


def test_the_use_of_a_request_beside_the_conversation_does_not_count(transcript):
    used = ev.Usage(1, 2, 3, 4, TOTALS)
    take(transcript, used, ev.Usage(9, 9, 9, 9, TOTALS, auxiliary=True))
    assert transcript.usage is used


@pytest.mark.parametrize("kind", ["retry", "tool_call", "text_delta", "result", "extension", "user_message", "later"])
def test_a_record_that_does_not_fit_is_not_shown(transcript, kind):
    assert take(transcript, read({"type": kind})) == []


def test_a_long_line_is_live_in_few_rows(transcript):
    take(transcript, ev.TextDelta("word " * 100_000))
    assert len(transcript.live(100)) == LIVE_TEXT
    assert len(transcript.live(3)) == 3


contents = st.lists(
    st.builds(TextContent, any_text)
    | st.builds(ImageContent, any_text, st.integers(0))
    | st.builds(ToolCallContent, any_text, any_text, json_values)
    | st.builds(ToolResultContent, any_text, st.booleans(), st.just(text("x"))),
    max_size=3,
).map(tuple)
names = st.none() | st.just("e")
ids = st.sampled_from(["t1", "t2", ""])
RECORDS = [
    st.builds(ev.UserMessage, contents, st.just(""), names),
    st.builds(ev.TurnStart, st.integers()),
    st.builds(ev.AssistantStart),
    st.builds(ev.TextDelta, any_text | st.sampled_from(["```\n", "\n\n", "- a\n", "word " * 50])),
    st.builds(ev.ToolUseStart, ids, any_text),
    st.builds(ev.Usage, *[st.integers(0)] * 4, st.just(TOTALS), auxiliary=st.booleans()),
    st.builds(ev.AssistantMessage, contents, st.just("")),
    st.builds(ev.ToolCall, ids, any_text | st.just("edit"), json_values, names, names),
    st.builds(ev.ToolProgress, ids, any_text),
    st.builds(ev.ToolResult, ids, st.booleans(), contents),
    st.builds(ev.TurnEnd, st.sampled_from(["end_turn", "tool_use", "length", "error", "aborted"])),
    st.builds(ev.Retry, st.integers(), st.integers(), st.floats(0, 1e6), any_text, st.none()),
    st.builds(ev.CompactStart, st.just("window"), st.integers(), st.none()),
    st.builds(ev.CompactDone, any_text, st.integers(), st.integers()),
    st.builds(ev.Error, any_text),
    st.builds(ev.ExtensionNotice, any_text, st.sampled_from(["failed", "no_verdict", "started", "unheard"]), any_text),
    st.builds(
        ev.Result, st.sampled_from(["ok", "error", "interrupted"]), st.integers(), any_text, any_text, st.integers(0),
        st.just(TOTALS), st.none() | st.floats(0, 1e6), st.integers(0, 10**9), any_text, st.just({}),
    ),
    st.dictionaries(st.text(max_size=5), json_values).map(lambda members: read({**members, "type": "later"})),
]  # fmt: skip


@given(st.lists(st.one_of(RECORDS), max_size=15), st.integers(-1, 12), st.integers(10, 200), st.booleans())
def test_any_records_in_any_order(records, rows, columns, has_colours):
    clock = Clock()
    transcript = Transcript(Palette(has_colours=has_colours), clock=clock, columns=columns)
    for record in records:
        clock.now += 1
        final = transcript.take(record)
        assert has_colours or "\x1b" not in "".join(final)
        live = transcript.live(rows)
        assert len(live) <= max(0, rows)
        assert all(width_of(row) <= columns and "\n" not in row for row in live)
        if record.type == "result":
            assert live == []
    transcript.unfold()
    transcript.end()
    assert transcript.live(rows) == []


@given(st.lists(st.sampled_from(["\n", "\n\n", "```\n", "- a\n", "# b\n", "<T>"]) | st.text(letters), max_size=10))
def test_the_whole_text_of_a_reply_is_shown(pieces):
    transcript = Transcript(PLAIN, clock=Clock(), columns=40)
    shown = [*take(transcript, ev.AssistantStart(), *map(ev.TextDelta, pieces)), *transcript.end()]
    assert "".join(shown).split() == PLAIN.clean("".join(pieces)).replace("\n", "").split()
