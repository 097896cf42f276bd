"""Messages wait in order, and no more of them than the bounds say."""

from __future__ import annotations

import pytest

from agent.run import steer_queue
from agent.run.steer_queue import SteerQueue, SteerRefusedError
from agent.transcript import Image


def test_messages_are_taken_in_order():
    made = SteerQueue()
    made.add("a")
    made.add("b", (Image("image/png", "x"),))
    assert made.has_waiting
    assert [made.take(), made.take(), made.take()] == [("a", ()), ("b", (Image("image/png", "x"),)), None]


def test_what_waits_is_bounded_in_number_and_size(monkeypatch):
    monkeypatch.setattr(steer_queue, "WAITING_LIMIT", 2)
    monkeypatch.setattr(steer_queue, "SIZE_LIMIT", 10)
    made = SteerQueue()
    made.add("x" * 100)  # the first has room, however large it is
    with pytest.raises(SteerRefusedError, match="wait already"):
        made.add("y")
    assert made.take() == ("x" * 100, ())
    made.add("y" * 5)
    made.add("z" * 5)
    with pytest.raises(SteerRefusedError, match="2 messages wait already"):
        made.add("")


def test_after_the_end_nothing_is_taken_and_nothing_waits():
    made = SteerQueue()
    made.add("a")
    made.close()
    assert not made.has_waiting
    assert made.take() is None
    with pytest.raises(SteerRefusedError, match="about to end; send the message with prompt"):
        made.add("b")
