"""The end of what a process wrote to stderr is kept, within bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.process.exit_cause import KEPT, LINE_KEPT, LINE_SHOWN, LINES, StderrTail
from wire.text import one_line


def tail_of(*pieces: bytes) -> StderrTail:
    tail = StderrTail()
    for piece in pieces:
        tail.write(piece)
    return tail


def test_the_lines_of_a_new_tail() -> None:
    assert tail_of().lines() == [""]
    assert tail_of().last_line() == ""


@given(st.lists(st.text("ab\n \x1b\r", max_size=10), max_size=10))
def test_the_lines_are_the_same_however_they_came(pieces: list[str]) -> None:
    tail = tail_of(*[piece.encode() for piece in pieces])
    text = "".join(pieces)
    assert tail.lines() == [line.rstrip("\r") for line in text.split("\n")]
    shown = [line for each in text.split("\n") if (line := one_line(each, LINE_SHOWN))]
    assert tail.last_line() == (shown[-1] if shown else "")
    assert tail.shown(3) == shown[-3:]


@pytest.mark.parametrize("piece", [100, 8192, KEPT, KEPT + 1, 10 * KEPT])
def test_a_flood_leaves_its_end_in_whole_lines(piece: int) -> None:
    flood = b"".join(b"line %06d\n" % number for number in range(100_000))
    tail = tail_of(*[flood[at : at + piece] for at in range(0, len(flood), piece)])
    lines = tail.lines()
    assert lines[-2:] == ["line 099999", ""]
    assert len(lines) == LINES
    assert all(len(line) == len("line 099999") for line in lines[:-1])
    assert len(tail._kept) <= 2 * KEPT


def test_a_line_without_an_end_is_cut() -> None:
    tail = tail_of(b"x" * 1000, b"p" * (3 * KEPT))
    assert [len(line) for line in tail.lines()] == [LINE_KEPT]
    assert len(tail.last_line()) == LINE_SHOWN


def test_the_last_line_is_printable() -> None:
    assert tail_of(b"\x1b[1;31mError:\x1b[0m caf\xe9\r\n\r\n").last_line() == "Error: caf\ufffd"


def test_an_error_above_a_long_stack_is_kept() -> None:
    stack = b"".join(b"\tat desk.Desk.open(Desk.java:%d)\n" % number for number in range(1024))
    tail = tail_of(b"chatter\n" * 10_000, b'Exception in thread "main" java.lang.StackOverflowError\n', stack)
    assert 'Exception in thread "main" java.lang.StackOverflowError' in tail.lines()
