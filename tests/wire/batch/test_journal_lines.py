"""A line of a journal is whole, or it is told what it is not."""

from __future__ import annotations

import zlib

import msgspec
import pytest

from tests.support.batch_journal import outcome
from wire.batch.journal_lines import (
    Finished,
    JournalLineError,
    Started,
    UnknownLineError,
    decode_line,
    encode_line,
    is_whole,
)
from wire.batch.outcome import SENT_KEPT, TEXT_KEPT, cut_texts
from wire.events import SentPrompt, Totals

STARTED = Started(seq=3, commit=2, t=1.5, task="a", attempt=1, digest="d")


def with_checksum(body: bytes) -> bytes:
    return b'%s,"crc":"%08x"}' % (body, zlib.crc32(body))


def test_a_line_is_read_as_it_was_written():
    text = encode_line(STARTED)
    assert text.endswith(b'"}\n')
    assert decode_line(text[:-1]) == STARTED


def test_every_flipped_bit_is_found():
    text = encode_line(STARTED)[:-1]
    for place in range(len(text)):
        for bit in range(8):
            flipped = bytearray(text)
            flipped[place] ^= 1 << bit
            with pytest.raises(JournalLineError):
                decode_line(bytes(flipped))


@pytest.mark.parametrize("text", [b"", b"{}", b"\0" * 100, b"hello"])
def test_what_is_no_line_has_no_checksum(text):
    with pytest.raises(JournalLineError, match="no checksum"):
        decode_line(text)


def test_a_newer_line_is_not_called_damaged():
    newer = with_checksum(b'{"state":"moved","v":2,"seq":1,"t":1.0')
    assert is_whole(newer)
    with pytest.raises(UnknownLineError, match=r"^version 2: .*moved"):
        decode_line(newer)
    known = with_checksum(b'{"state":"reopened","v":2,"seq":1,"t":1.0,"task":"a"')
    with pytest.raises(UnknownLineError, match=r"^version 2$"):
        decode_line(known)
    with pytest.raises(UnknownLineError, match="Invalid value 'moved'"):
        decode_line(with_checksum(b'{"state":"moved","v":1,"seq":1,"t":1.0'))


def test_an_answer_on_several_lines_is_one_line():
    finished = Finished(
        seq=1, t=1.0, task="a", attempt=1, final=True, outcome=outcome("a", answer=msgspec.Raw(b'{\n "b": "x\\ny"\n}'))
    )
    text = encode_line(finished)
    assert text.count(b"\n") == 1
    assert msgspec.json.decode(bytes(decode_line(text[:-1]).outcome.answer)) == {"b": "x\ny"}


def test_text_that_is_no_unicode_can_be_written():
    line = Finished(
        seq=1, t=1.0, task="a", attempt=1, final=True, outcome=outcome("a", reason="caf\udce9 \ud83d \U0001f600")
    )
    assert decode_line(encode_line(line)[:-1]).outcome.reason == "caf\ufffd \ufffd \U0001f600"


def test_a_long_text_is_cut_between_characters():
    long = outcome("a", text="€" * TEXT_KEPT, answer=msgspec.Raw(b'"%s"' % (b"x" * TEXT_KEPT)))
    cut = cut_texts(long)
    assert (len(cut.text.encode()), cut.text.strip("€"), cut.is_cut) == (TEXT_KEPT - TEXT_KEPT % 3, "", True)
    assert cut.answer is msgspec.UNSET
    fits = outcome("a", text="€" * 10, answer=msgspec.Raw(b"1"))
    assert cut_texts(fits) is fits


def sent_prompt(text: str) -> SentPrompt:
    return SentPrompt(
        extension="e", status="ok", reason="", text=text, steps=1, usage=Totals(1, 2, 3, 4), cost_usd=None
    )


def test_the_prompts_of_extensions_are_in_the_line_if_there_were_any():
    line = Finished(seq=1, t=1.0, task="a", attempt=1, final=True, outcome=outcome("a", sent=(sent_prompt("hi"),)))
    assert decode_line(encode_line(line)[:-1]) == line
    without = encode_line(Finished(seq=1, t=1.0, task="a", attempt=1, final=True, outcome=outcome("a")))
    assert b'"sent"' not in without
    assert decode_line(without[:-1]).outcome.sent is msgspec.UNSET


def test_long_texts_of_the_prompts_of_extensions_are_cut():
    cut = cut_texts(outcome("a", sent=(sent_prompt("hi"), sent_prompt("€" * SENT_KEPT))))
    assert [len(each.text.encode()) for each in cut.sent] == [2, SENT_KEPT - SENT_KEPT % 3]
    assert cut.is_cut
    fits = outcome("a", sent=(sent_prompt("hi"),))
    assert cut_texts(fits) is fits
