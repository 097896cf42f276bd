"""Appended bytes come out once and in order, however little of it is taken at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.loop.outbox import Outbox

ANSWERS = st.lists(st.one_of(st.integers(0, 20), st.just(BlockingIOError), st.just(BrokenPipeError)), max_size=8)
"""The number of bytes that each call takes, or an error."""


class Taker:
    """Takes as much as its answers say, and nothing when it has none left."""

    def __init__(self) -> None:
        self.answers: list[int | type[OSError]] = []
        self.taken = b""
        self.last: int | type[OSError] = 0

    def write(self, piece: memoryview) -> int:
        assert len(piece) > 0
        self.last = self.answers.pop(0) if self.answers else BlockingIOError
        if not isinstance(self.last, int):
            raise self.last
        self.taken += piece[: self.last]
        return min(self.last, len(piece))


@given(st.lists(st.one_of(st.binary(max_size=30), ANSWERS), max_size=30))
def test_every_byte_comes_out_once_and_in_order(steps: list[bytes | list[int | type[OSError]]]):
    outbox, taker, appended = Outbox(), Taker(), b""
    for step in steps:
        if isinstance(step, bytes):
            outbox.append(step)
            appended += step
        else:
            before = len(taker.taken)
            taker.answers = list(step)
            try:
                assert outbox.flush(taker.write) == len(taker.taken) - before
                assert not outbox.queued or taker.last in (0, BlockingIOError), "it goes on while bytes are taken"
            except BrokenPipeError:
                assert taker.last is BrokenPipeError
        assert outbox.queued == len(appended) - len(taker.taken)
    taker.answers = [20] * len(appended)
    outbox.flush(taker.write)
    assert (taker.taken, outbox.queued) == (appended, 0)


def test_a_cleared_outbox_hands_out_nothing():
    outbox = Outbox()
    outbox.append(b"late")
    outbox.clear()
    assert (outbox.queued, outbox.flush(pytest.fail)) == (0, 0)
