"""The clock example: it never says `ready`, and what it answers."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest


@pytest.fixture
def clock(supervise):
    return supervise("clock")


def test_tells_the_time_of_a_zone(clock):
    answer = clock.command("now", "Asia/Tokyo")
    assert answer.action == "display"
    here = datetime.now(UTC) + timedelta(hours=9)
    assert f"{here:%A}" in answer.display or f"{here - timedelta(minutes=1):%A}" in answer.display
    assert re.search(r" at \d\d:\d\d:\d\d GMT\+9$", answer.display)
    assert clock.command("now").error is None


def test_a_zone_that_does_not_exist(clock):
    assert clock.command("now", 'Mars/"Olympus').error.startswith('there is no time zone "Mars/\\"Olympus"; try ')


def test_a_stamp_is_for_the_next_prompt(clock):
    answer = clock.command("stamp")
    assert answer.action == "insert"
    assert abs(datetime.fromisoformat(answer.insert) - datetime.now(UTC)) < timedelta(minutes=1)
