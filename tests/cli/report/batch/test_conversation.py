"""The events of an attempt are read whatever has become of their file."""

from __future__ import annotations

import os

import pytest

from agent.sessions.export.conversation import CallPart, ConversationEntry, NotePart, ResultPart
from agent.transcript import Text
from cli.report.batch.conversation import (
    HEAD_BYTES,
    PART_CHARACTERS,
    TAIL_BYTES,
    TEXT_CHARACTERS,
    cut,
    read_conversation,
    shorten,
)
from tests.support.batch_written import asked, called, said
from wire import events


def write(path, *records, tail=b""):
    path.write_bytes(b"".join(map(events.encode, records)) + tail)
    return path


def told(conversation):
    return [part for entry in conversation.entries for part in entry.parts]


def test_prompt_turns_tools_and_texts_are_in_their_order(tmp_path):
    path = write(
        tmp_path / "1.events.jsonl",
        asked("mend it"),
        events.TurnStart(1),
        events.TextDelta("I lo"),
        said("I look"),
        *called("c1", "bash", b'{"command":"ls"}', "no", is_error=True),
        events.Retry(2, 3, 1.5, "rate limited", 429),
        events.Error("it broke"),
        events.Done(),
    )
    conversation = read_conversation(path)
    assert conversation.entries == [
        ConversationEntry("user", [Text("mend it")]),
        ConversationEntry(
            "assistant",
            [
                Text("I look"),
                CallPart("bash", b'{"command":"ls"}', ResultPart((Text("no"),), is_error=True)),
                NotePart("request sent again after 1.5 s: rate limited"),
                NotePart("it broke", is_bad=True),
            ],
            number=1,
        ),
    ]
    assert (conversation.is_done, conversation.unread) == (True, 0)


def test_a_stream_that_is_cut_off_shows_what_was_said_until_then(tmp_path):
    path = write(
        tmp_path / "x",
        *called("c", "bash", b"{}", "")[:1],
        events.TextDelta("half a "),
        events.TextDelta("sentence"),
        tail=b'{"type":"text_del',
    )
    conversation = read_conversation(path)
    assert told(conversation)[:2] == [CallPart("bash", b"{}"), Text("half a sentence")]
    assert (conversation.unread, conversation.is_done) == (1, False)


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe"])
def test_what_is_no_file_is_not_there(tmp_path, kind):
    path = tmp_path / "x"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    assert not read_conversation(path).is_there


def test_the_middle_of_a_long_file_is_left_out(tmp_path):
    filler = events.encode(events.ToolProgress("c", "x" * 1000))
    count = 2 * (HEAD_BYTES + TAIL_BYTES) // len(filler)
    path = tmp_path / "x"
    text = events.encode(asked("first")) + filler * count + events.encode(said("last"))
    path.write_bytes(text)
    conversation = read_conversation(path)
    assert [type(part) for part in told(conversation)] == [Text, NotePart, Text]
    assert conversation.unread == 0
    assert len(text) - HEAD_BYTES - TAIL_BYTES <= conversation.left_out_bytes <= len(text) - TAIL_BYTES


def test_a_file_of_one_endless_line_is_bounded(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b'{"type":"text_delta","delta":"' + b"x" * (2 * (HEAD_BYTES + TAIL_BYTES)))
    conversation = read_conversation(path)
    assert [type(part) for part in told(conversation)] == [NotePart]


def test_texts_of_a_megabyte_are_cut_and_keep_both_ends(tmp_path):
    conversation = read_conversation(write(tmp_path / "x", said("A" + "x" * 2**20 + "Z")))
    (said_,) = told(conversation)
    assert said_.text[0] + said_.text[-1] == "AZ"
    assert len(said_.text) < TEXT_CHARACTERS + 100
    assert cut("short") == "short"


def test_a_long_conversation_keeps_its_beginning_and_its_end():
    parts = [Text(str(number)) for number in range(1000)]
    entries = [
        ConversationEntry("assistant", parts[:100], number=1),
        ConversationEntry("assistant", parts[100:], number=2),
    ]
    first, gap, last = shorten(entries, 100 * (PART_CHARACTERS + 3))
    kept = len(first.parts) + len(last.parts)
    assert 90 < kept <= 100
    assert first == ConversationEntry("assistant", parts[: len(first.parts)], number=1)
    assert last == ConversationEntry("assistant", parts[-len(last.parts) :], number=2)
    assert gap.parts == [NotePart(f"{1000 - kept} steps are left out here")]
    assert shorten(entries[:1], 10**6) == entries[:1]
