"""A round trip is over when all have answered or ended, or its time has; the watchdog's pings are others."""

from __future__ import annotations

import pytest

from supervisor.extension.connection.round_trips import OPEN_LIMIT
from supervisor.extension.lifecycle import WorkerState
from tests.support.scripted_dialect import scripted_dialect
from tests.support.stand import Stand

dialect = pytest.fixture(scripted_dialect)


@pytest.fixture
def stand(tmp_path, dialect):
    made = Stand(tmp_path)
    with made.host:
        made.connect("hello", "ready")
        made.take()
        yield made


@pytest.fixture
def other(stand):
    made = stand.beside("other")
    made.connect("hello", "ready")
    made.take()
    return made


def begin(stand: Stand, *others: Stand, within_s: float = 1.0) -> list[bool]:
    """The list is filled when the round trip is over."""
    over: list[bool] = []
    stand.host.supervisor.round_trip(
        [stand.extension, *(each.extension for each in others)], lambda: over.append(True), within_s
    )
    assert over == [], "never from within the call"
    stand.passes()
    return over


def test_it_is_over_when_all_have_answered(stand, other):
    over = begin(stand, other)
    assert (stand.take(), other.take()) == (b"ping trip-1\n", b"ping trip-1\n")
    stand.say("pong trip-1")
    assert over == []
    other.say("pong trip-1", "pong trip-1")
    assert over == [True]
    assert begin(stand) == []
    assert stand.take() == b"ping trip-2\n"


def test_what_was_written_before_the_pong_is_handled_when_it_is_over(stand):
    over = begin(stand)
    stand.say("tool late", "pong trip-1")
    assert over == [True]
    assert "late" in stand.extension.tools


def test_it_is_over_when_its_time_is_and_a_late_pong_means_nothing(stand, other):
    over = begin(stand, other)
    other.say("pong trip-1")
    stand.after(0.9)
    assert over == []
    stand.after(0.2)
    assert over == [True]
    stand.say("pong trip-1")
    again = begin(stand)
    stand.say("pong trip-1")
    assert (over, again) == ([True], []), "the pong of another trip"


def test_an_extension_that_ends_is_not_waited_for(stand, other):
    over = begin(stand, other)
    other.say("pong trip-1")
    stand.say("unusable it is broken")
    assert stand.extension.state is WorkerState.FAILED
    assert over == [True]


def test_who_cannot_be_pinged_is_not_waited_for(stand, other, dialect):
    stand.say("unusable it is broken")
    assert begin(stand, within_s=60) == [True]
    dialect.is_pinged = False
    assert begin(other, within_s=60) == [True]
    dialect.is_pinged = True
    other.extension.lead.can_ping = False  # as after a hello without that capability
    assert begin(other, within_s=60) == [True]
    over: list[bool] = []
    stand.host.supervisor.round_trip([], lambda: over.append(True), 60)
    stand.passes()
    assert over == [True]


def test_the_watchdog_gets_its_own_pongs(stand):
    watched = stand.beside("watched")
    watched.connect("hello", "ready", watchdog_s=2.0)
    over = begin(watched)
    assert watched.take() == b"welcome\nping ping-1\nping trip-1\n"
    watched.say("pong trip-1")
    assert over == [True]
    watched.say("pong ping-1")
    stand.after(2.1)
    assert watched.extension.state is WorkerState.READY
    assert b"ping ping-2\n" in watched.take()


def test_a_pong_of_a_round_trip_is_none_for_the_watchdog(stand):
    watched = stand.beside("watched")
    watched.connect("hello", "ready", watchdog_s=2.0)
    begin(watched)
    watched.say("pong trip-1")
    stand.after(2.1)
    assert watched.extension.state is WorkerState.FAILED


def test_the_number_of_open_round_trips_is_bounded(stand):
    trips = [begin(stand) for _ in range(OPEN_LIMIT + 1)]
    assert [over for over in trips if over] == [[True]]
    assert stand.take().count(b"ping") == OPEN_LIMIT
    stand.after(1.1)
    assert trips == [[True]] * (OPEN_LIMIT + 1)
