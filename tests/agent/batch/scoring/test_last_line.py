"""The last line of an output, in whatever pieces it comes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agent.batch.scoring import last_line
from agent.batch.scoring.last_line import LINE_KEPT, LastLine

TEXTS = st.lists(st.sampled_from([b"", b" ", b"0.5", b"\r", b"{}", b"\0", b"x y"]), max_size=8).map(b"\n".join)


@given(TEXTS, st.lists(st.integers(0, 20), max_size=6))
def test_the_pieces_make_no_difference(text: bytes, cuts: list[int]) -> None:
    last, places = LastLine(), sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        last.feed(text[start:end])
    lines = [line.strip() for line in text.split(b"\n") if line.strip()]
    assert last.line() == (lines[-1] if lines else b"")


def test_a_long_line_is_cut_and_is_not_kept_in_memory() -> None:
    last = LastLine()
    for _ in range(100):
        last.feed(b"x" * LINE_KEPT)
    assert len(last.line()) == LINE_KEPT + 1
    last.feed(b"\n1\n")
    assert last.line() == b"1"


def test_of_a_flood_only_the_last_line_is_looked_at(monkeypatch) -> None:
    last, looked = LastLine(), list[bytes]()
    real = last_line._last_line
    monkeypatch.setattr(last_line, "_last_line", lambda whole: looked.append(whole) or real(whole))
    last.feed(b"y\n" * 1_000_000 + b"0.5\n" + b" " * (LINE_KEPT + 9) + b"1\n")
    assert (last.line(), len(looked)) == (b"0.5", 1)
