"""Pipes hand on what comes, in pieces of a bounded size, and keep what does not fit up to a limit."""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.loop.loop import BACKGROUND_READ, Loop
from supervisor.loop.pipes import FULL_READ, LARGE_READ, LAST_DIGEST_S, LAST_READ, PipeReader, PipeWriter
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator


class Sink:
    """A reader on a pipe that a test writes to; it keeps what came."""

    def __init__(self, loop: Loop) -> None:
        self.pieces: list[bytes] = []
        self.ends = 0
        fd, self.write = os.pipe()
        os.set_blocking(self.write, False)
        self.reader = PipeReader(loop, fd, self.pieces.append, self._ended)

    def _ended(self) -> None:
        self.ends += 1

    def say(self, data: bytes) -> None:
        os.write(self.write, data)

    def end(self) -> None:
        """The writer ends."""
        if self.write >= 0:
            os.close(self.write)
            self.write = -1

    def close(self) -> None:
        self.end()
        self.reader.close()


@pytest.fixture
def sink(loop: Loop) -> Iterator[Sink]:
    sink = Sink(loop)
    yield sink
    sink.close()


class Outlet:
    """A writer on a pipe that a test reads from."""

    def __init__(self, loop: Loop, limit: int = 100_000) -> None:
        self.read, fd = os.pipe()
        self.writer = PipeWriter(loop, fd, limit)

    def fill(self) -> int:
        """Writes until some of it waits in the outbox; returns how many bytes that were."""
        sent = 0
        while not self.writer.queued:
            assert self.writer.send(bytes(50_000))
            sent += 50_000
        return sent

    def take(self) -> bytes:
        return os.read(self.read, 1_000_000)

    def leave(self) -> None:
        """The reader leaves."""
        if self.read >= 0:
            os.close(self.read)
            self.read = -1

    def close(self) -> None:
        self.leave()
        self.writer.close()


@pytest.fixture
def outlet(loop: Loop) -> Iterator[Outlet]:
    outlet = Outlet(loop)
    yield outlet
    outlet.close()


def run_once(loop: Loop) -> None:
    loop.run_until(lambda: False, loop.clock())


# --- reading ----------------------------------------------------------------------------------------------------


@given(st.lists(st.binary(min_size=1, max_size=3000), max_size=10), st.integers(1, 2000))
def test_all_that_was_written_comes_once_in_order_then_the_end(chunks: list[bytes], budget: int):
    loop = Loop()
    sink = Sink(loop)
    for chunk in chunks:
        sink.say(chunk)
    sink.end()
    while not sink.ends:
        sink.reader.on_readable(budget)
    assert b"".join(sink.pieces) == b"".join(chunks)
    assert all(0 < len(piece) <= budget for piece in sink.pieces)
    assert (sink.ends, sink.reader.is_open, sink.reader.fileno()) == (1, False, -1)
    sink.close()
    loop.close()


def test_a_read_is_as_large_as_its_budget_at_most_and_never_more_than_a_full_one(sink: Sink):
    sink.reader.expect_large()  # makes the pipe larger than a read
    sink.say(bytes(LARGE_READ + FULL_READ + 100_000))
    for budget in (2 * LARGE_READ, 10_000, LARGE_READ):
        sink.reader.on_readable(budget)
    assert [len(piece) for piece in sink.pieces] == [LARGE_READ, 10_000, FULL_READ]


def test_the_loop_hands_on_input_and_the_end(loop: Loop, sink: Sink):
    sink.say(b"a")
    assert loop.run_until(lambda: sink.pieces == [b"a"], loop.clock() + PATIENCE_S)
    sink.end()
    assert loop.run_until(lambda: sink.ends == 1, loop.clock() + PATIENCE_S)
    run_once(loop)
    assert sink.ends == 1


def test_a_look_without_input_takes_nothing_and_is_no_end(sink: Sink):
    assert not sink.reader.has_input()
    sink.reader.on_readable(1000)
    sink.reader.take()
    sink.reader.take_waiting()
    assert (sink.pieces, sink.ends, sink.reader.is_open) == ([], 0, True)
    sink.say(b"a")
    assert sink.reader.has_input()
    sink.reader.take()
    assert sink.pieces == [b"a"]


def test_the_end_is_left_to_the_loop_by_a_look_past_it(loop: Loop, sink: Sink):
    sink.end()
    assert sink.reader.has_input()
    sink.reader.take()
    assert sink.ends == 0
    assert loop.run_until(lambda: sink.ends == 1, loop.clock() + PATIENCE_S)


def test_a_drain_takes_what_has_come_and_does_not_wait_for_the_end(sink: Sink):
    sink.say(b"last words")
    sink.reader.drain()
    assert (sink.pieces, sink.ends, sink.reader.is_open) == ([b"last words"], 0, False)
    sink.reader.drain()
    sink.reader.take()
    assert not sink.reader.has_input()


def test_a_drain_ends_even_if_the_writer_does_not(loop: Loop):
    """Each piece that is taken is followed by another."""

    def write_again(data: bytes) -> None:
        sizes.append(len(data))
        os.write(write, data)

    sizes: list[int] = []
    read, write = os.pipe()
    reader = PipeReader(loop, read, write_again, lambda: None)
    os.write(write, bytes(1000))
    reader.drain(limit=10_000)
    assert sizes == [1000] * 10
    os.close(write)


def test_pieces_that_take_long_to_work_off_become_smaller_and_larger_again() -> None:
    """8 KiB can be one frame, or eight thousand lines of junk. Only the work moves the clock."""
    now, cost_per_byte, sizes = 0.0, 1e-6, []

    def work_off(data: bytes) -> None:
        nonlocal now
        sizes.append(len(data))
        now += len(data) * cost_per_byte

    loop = Loop()
    read, write = os.pipe()
    inlet = PipeReader(loop, read, work_off, lambda: None, work_clock=lambda: now)
    try:
        for cost_per_byte, expected in (  # noqa: B007
            (1e-6, [8192, 4096, 2048, 1024, 512, 512]),
            (1e-9, [512, 1024, 2048, 4096, 8192, 8192]),
            (1e-3, [8192, 4096, 2048, 1024, 512, 512]),
        ):
            sizes.clear()
            for _ in expected:
                os.write(write, bytes(8192))
                inlet.on_readable(BACKGROUND_READ)
            assert sizes == expected
            inlet.take_waiting()
    finally:
        inlet.close()
        os.close(write)
        loop.close()


def test_a_full_pipe_of_a_writer_that_has_exited_is_worked_off_for_a_short_time_only() -> None:
    """A mebibyte of empty lines takes more than a second. Only the work moves the clock."""
    now = 0.0
    sizes: list[int] = []

    def work_off(data: bytes) -> None:
        nonlocal now
        sizes.append(len(data))
        now += len(data) * 1e-6

    loop = Loop()
    read, write = os.pipe()
    reader = PipeReader(loop, read, work_off, lambda: None, work_clock=lambda: now)
    os.set_blocking(write, False)
    held = os.write(write, bytes(1024 * 1024))
    reader.drain()
    os.close(write)
    loop.close()
    assert min(held, LAST_DIGEST_S * 1e6) <= sum(sizes) <= LAST_DIGEST_S * 1e6 + LAST_READ
    assert not reader.is_open


# --- writing ----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 100_000), st.booleans()), max_size=12))
def test_what_was_accepted_arrives_whole_and_in_order(steps: list[tuple[int, bool]]):
    loop = Loop()
    outlet = Outlet(loop, limit=150_000)
    accepted, arrived = [], b""
    for number, (size, is_read) in enumerate(steps):
        frame = bytes([number]) * size
        if outlet.writer.send(frame):
            accepted.append(frame)
        assert outlet.writer.queued <= 150_000
        if is_read and select.select([outlet.read], [], [], 0)[0]:
            arrived += outlet.take()
            run_once(loop)
    outlet.writer.end()
    while outlet.writer.fileno() >= 0:
        arrived += outlet.take()
        run_once(loop)
    while piece := outlet.take():
        arrived += piece
    assert arrived == b"".join(accepted)
    outlet.close()
    loop.close()


def test_what_fits_is_written_at_once_and_what_does_not_is_queued(loop: Loop, outlet: Outlet):
    assert outlet.writer.send(b"a")
    assert (outlet.take(), outlet.writer.queued, outlet.writer.stuck_since) == (b"a", 0, None)
    sent = outlet.fill()
    assert 0 < outlet.writer.queued < sent
    assert outlet.writer.stuck_since is not None
    taken = 0
    while taken < sent:
        taken += len(outlet.take())
        run_once(loop)
    assert (taken, outlet.writer.queued, outlet.writer.stuck_since) == (sent, 0, None)


def test_a_full_outbox_refuses_and_sends_nothing_of_it(loop: Loop, outlet: Outlet):
    sent = outlet.fill()
    while outlet.writer.send(b"frame\n" * 1000):
        sent += 6000
    assert 94_000 < outlet.writer.queued <= 100_000
    arrived = b""
    while outlet.writer.queued:
        arrived += outlet.take()
        run_once(loop)
    outlet.writer.end()
    while piece := outlet.take():
        arrived += piece
    assert len(arrived) == sent


def test_an_empty_outbox_takes_a_frame_of_any_size(outlet: Outlet):
    assert outlet.writer.send(bytes(5_000_000))
    assert outlet.writer.queued > 100_000
    assert not outlet.writer.send(b"x")


def test_it_is_stuck_since_the_reader_last_took_something():
    now = 1.0
    loop = Loop(clock=lambda: now)
    outlet = Outlet(loop)
    outlet.fill()
    assert outlet.writer.stuck_since == 1.0
    now = 2.0
    run_once(loop)
    assert outlet.writer.stuck_since == 1.0
    outlet.take()
    run_once(loop)
    assert outlet.writer.stuck_since in (2.0, None)
    outlet.close()
    loop.close()


@pytest.mark.parametrize("queued", [False, True], ids=["empty", "with a backlog"])
def test_a_pipe_whose_reader_has_left_is_closed(loop: Loop, outlet: Outlet, queued: bool):
    if queued:
        outlet.fill()
    outlet.leave()
    if queued:
        assert loop.run_until(lambda: not outlet.writer.is_open, loop.clock() + PATIENCE_S), "the loop finds it out"
    assert not outlet.writer.send(b"x")
    assert (outlet.writer.is_open, outlet.writer.fileno(), outlet.writer.queued) == (False, -1, 0)
    assert not outlet.writer.send(b"x")


def test_an_end_waits_for_the_backlog_and_takes_nothing_more(loop: Loop, outlet: Outlet):
    left = outlet.fill()
    outlet.writer.end()
    assert not outlet.writer.is_open
    assert not outlet.writer.send(b"too late")
    while piece := outlet.take():
        left -= len(piece)
        run_once(loop)
    assert left == 0


def test_an_end_without_a_backlog_is_at_once(outlet: Outlet):
    outlet.writer.end()
    assert outlet.take() == b""
    assert not outlet.writer.send(b"too late")
