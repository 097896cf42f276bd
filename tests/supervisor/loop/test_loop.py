"""The loop calls back what is ready and what is due, in order and once; callbacks never wait."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.loop.loop import CANCELLED_KEPT, Loop
from tests.support.patience import PATIENCE_S
from tests.support.set_clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Pipe:
    """A watcher of the reading end, which counts how often it is asked for its descriptor."""

    def __init__(self, on_input: Callable[[], None] = lambda: None) -> None:
        self.read, self.write = os.pipe()
        self.on_input = on_input
        self.inputs = self.outputs = self.looks = 0

    def fileno(self) -> int:
        self.looks += 1
        return self.read

    def on_readable(self, budget: int) -> None:
        self.inputs += len(os.read(self.read, budget))
        self.on_input()

    def on_writable(self) -> None:
        self.outputs += 1

    def say(self, data: bytes = b"x") -> None:
        os.write(self.write, data)

    def close(self, loop: Loop) -> None:
        if self.read >= 0:
            loop.watch(self)
            os.close(self.read)
            os.close(self.write)
            self.read = self.write = -1


@pytest.fixture
def pipes(loop: Loop) -> Iterator[list[Pipe]]:
    """Three of them, all watched for input."""
    pipes = [Pipe() for _ in range(3)]
    for pipe in pipes:
        loop.watch(pipe, read=True)
    yield pipes
    for pipe in pipes:
        pipe.close(loop)


def run_once(loop: Loop) -> None:
    """One pass, without waiting."""
    loop.run_until(lambda: False, loop.clock())


# --- timers -----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=200), st.lists(st.integers(0, 9), max_size=5))
def test_timers_run_once_in_the_order_of_their_times_and_cancelled_ones_never(
    timers: list[tuple[int, bool]], moments: list[int]
):
    clock = Clock()
    loop = Loop(clock)
    ran: list[tuple[int, int]] = []
    for number, (when, is_cancelled) in enumerate(timers):
        timer = loop.call_at(when, lambda when=when, number=number: ran.append((when, number)))
        if is_cancelled:
            timer.cancel()
            timer.cancel()
    for clock.now in [*sorted(moments), 10]:
        run_once(loop)
        due = [(when, n) for n, (when, is_cancelled) in enumerate(timers) if when <= clock.now and not is_cancelled]
        assert ran == sorted(due)
    loop.close()


def test_a_timer_can_be_cancelled_by_another_of_the_same_time(loop: Loop):
    def cancel() -> None:
        second.cancel()

    ran: list[str] = []
    now = loop.clock()
    loop.call_at(now, cancel)
    second = loop.call_at(now, lambda: ran.append("second"))
    loop.call_at(now, lambda: ran.append("third"))
    assert loop.run_until(lambda: ran, now + PATIENCE_S)
    assert ran == ["third"]


def test_a_cancel_after_the_call_changes_nothing(loop: Loop):
    ran: list[str] = []
    timer = loop.call_later(0, lambda: ran.append("first"))
    loop.run_until(lambda: ran, loop.clock() + PATIENCE_S)
    timer.cancel()
    loop.call_later(0, lambda: ran.append("second"))
    assert loop.run_until(lambda: len(ran) == 2, loop.clock() + PATIENCE_S)


def test_cancelled_timers_are_not_kept_until_their_time(loop: Loop):
    left = loop.call_later(600, lambda: None)
    for _ in range(10_000):
        loop.call_later(600, lambda: None).cancel()
        assert len(loop._timers) <= CANCELLED_KEPT + 2
    assert left.callback is not None
    assert left in [timer for _, _, timer in loop._timers]


def test_a_wait_ends_at_the_next_timer_not_at_a_cancelled_one(loop: Loop):
    loop.call_later(0.001, lambda: None).cancel()
    ran: list[float] = []
    began = loop.clock()
    loop.call_later(0.05, lambda: ran.append(loop.clock()))
    passes = loop.passes
    assert loop.run_until(lambda: bool(ran))
    assert ran[0] - began >= 0.05
    assert loop.passes - passes <= 2


def test_timers_run_after_all_that_has_come_in(loop: Loop, pipes: list[Pipe]):
    """After a pause of the whole host, an answer that waits to be read is not late."""
    order: list[str] = []
    pipes[0].on_input = lambda: order.append("input")
    loop.call_later(0, lambda: order.append("timer"))
    pipes[0].say()
    run_once(loop)
    assert order == ["input", "timer"]


# --- run_until --------------------------------------------------------------------------------------------------


def test_run_until_does_nothing_if_the_predicate_holds_already(loop: Loop, pipes: list[Pipe]):
    pipes[0].say()
    assert loop.run_until(lambda: True, loop.clock())
    assert pipes[0].inputs == 0


def test_run_until_is_false_at_the_deadline(loop: Loop):
    began = loop.clock()
    assert not loop.run_until(lambda: False, began + 0.03)
    assert 0.03 <= loop.clock() - began < PATIENCE_S


def test_run_until_takes_what_is_ready_at_the_deadline_into_account(loop: Loop, pipes: list[Pipe]):
    pipes[0].say()
    assert loop.run_until(lambda: pipes[0].inputs == 1, loop.clock() - 1)


def test_run_until_goes_on_until_the_predicate_holds(loop: Loop, pipes: list[Pipe]):
    pipes[0].on_input = pipes[1].say
    pipes[1].on_input = pipes[2].say
    pipes[0].say()
    assert loop.run_until(lambda: pipes[2].inputs == 1, loop.clock() + PATIENCE_S)


@pytest.mark.parametrize("how", ["timer", "input"])
def test_a_callback_must_not_wait(loop: Loop, pipes: list[Pipe], how: str):
    def wait() -> None:
        loop.run_until(lambda: True)

    if how == "timer":
        loop.call_later(0, wait)
    else:
        pipes[0].on_input = wait
        pipes[0].say()
    with pytest.raises(AssertionError, match="a callback must not wait"):
        loop.run_until(lambda: False, loop.clock() + PATIENCE_S)
    assert loop.run_until(lambda: True), "the loop goes on"


def test_an_exception_of_a_callback_ends_the_wait_and_not_the_loop(loop: Loop, pipes: list[Pipe]):
    def fail() -> None:
        raise RuntimeError("no")

    loop.call_later(0, fail)
    with pytest.raises(RuntimeError, match="no"):
        loop.run_until(lambda: False, loop.clock() + PATIENCE_S)
    pipes[0].say()
    assert loop.run_until(lambda: pipes[0].inputs == 1, loop.clock() + PATIENCE_S)


# --- descriptors ------------------------------------------------------------------------------------------------


def test_a_descriptor_is_watched_for_what_was_asked_for_last(loop: Loop, pipes: list[Pipe]):
    class WritingEnd(Pipe):
        def fileno(self) -> int:
            return self.write

    pipe = WritingEnd()
    for read, write, expected in ((False, True, 1), (True, False, 1), (True, True, 2), (False, False, 2)):
        loop.watch(pipe, read=read, write=write)
        run_once(loop)
        assert pipe.outputs == expected
    loop.watch(pipe)  # once more changes nothing
    pipe.close(loop)


def test_a_watcher_that_is_closed_by_another_in_the_same_pass_is_not_called(loop: Loop, pipes: list[Pipe]):
    for pipe in pipes:
        others = [other for other in pipes if other is not pipe]
        pipe.on_input = lambda others=others: [other.close(loop) for other in others]
        pipe.say()
    run_once(loop)
    assert sorted(pipe.inputs for pipe in pipes) == [0, 0, 1]


def test_a_descriptor_number_that_is_used_again_in_the_same_pass_is_not_mixed_up(loop: Loop, pipes: list[Pipe]):
    """The new pipe has nothing to read: a read of it would block for ever."""
    replaced: list[Pipe] = []

    def replace(victim: Pipe) -> None:
        number = victim.read
        victim.close(loop)
        new = Pipe()
        assert number in (new.read, new.write)
        loop.watch(new, read=True)
        replaced.append(new)

    first, second = pipes[:2]
    first.on_input = lambda: replace(second) if second.read >= 0 and not replaced else None
    second.on_input = lambda: replace(first) if first.read >= 0 and not replaced else None
    first.say()
    second.say()
    run_once(loop)
    assert first.inputs + second.inputs == 1
    assert replaced[0].inputs == 0
    replaced[0].close(loop)


def test_a_pass_looks_only_at_what_is_ready(loop: Loop, pipes: list[Pipe]):
    idle, busy = pipes[1:], pipes[0]
    looks = [pipe.looks for pipe in idle]
    for number in range(50):
        busy.say()
        assert loop.run_until(lambda number=number: busy.inputs == number + 1, loop.clock() + PATIENCE_S)
    assert [pipe.looks for pipe in idle] == looks


# --- signals ----------------------------------------------------------------------------------------------------


def test_signals_are_ordinary_callbacks_until_the_block_ends(loop: Loop):
    seen: list[signal.Signals] = []
    before = signal.getsignal(signal.SIGUSR1)
    with loop.signals([signal.SIGUSR1, signal.SIGUSR2], seen.append):
        os.kill(os.getpid(), signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGUSR2)
        assert seen == [], "never from within"
        assert loop.run_until(lambda: len(seen) == 2, loop.clock() + PATIENCE_S)
    assert set(seen) == {signal.SIGUSR1, signal.SIGUSR2}
    assert signal.getsignal(signal.SIGUSR1) is before


def test_a_signal_ends_the_sleep_of_the_loop(loop: Loop):
    seen: list[signal.Signals] = []
    with loop.signals([signal.SIGALRM], seen.append):
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        assert loop.run_until(lambda: bool(seen), loop.clock() + PATIENCE_S)
