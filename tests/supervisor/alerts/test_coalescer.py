"""Each event is delivered once or counted, in order, and no rule begins two deliveries within a second."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from supervisor.alerts.coalescer import EVERY_S, MOST, Coalescer

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.floats(0, 3)),
        st.tuples(st.just("add"), st.integers(1, 2 * MOST)),
        st.tuples(st.just("left out"), st.integers(1, 9)),
        st.tuples(st.just("end"), st.just(0)),
    ),
    max_size=60,
)


@given(STEPS)
def test_what_is_added_is_delivered_once_or_counted(steps):
    events = Coalescer()
    now, added, left_out = 0.0, 0, 0
    began, delivered, more = [], [], 0

    def deliver() -> None:
        nonlocal more
        due = events.due()
        if due is not None and due <= now:
            alert = events.take(now)
            assert 0 < len(alert["events"]) <= MOST
            assert events.due() is None, "one delivery at a time"
            began.append(now)
            delivered.extend(alert["events"])
            more += alert["more"]

    for step, amount in steps:
        if step == "wait":
            now += amount
        elif step == "end":
            events.ended()
        elif step == "left out":
            left_out += amount
            events.add(added, amount)
            added += 1
        else:
            for _ in range(amount):
                events.add(added)
                added += 1
        deliver()
    while not events.is_idle:
        events.ended()
        now = max(now, events.due() or now)
        deliver()
    assert len(delivered) + more == added + left_out
    assert delivered == sorted(set(delivered))
    assert all(later >= earlier + EVERY_S for earlier, later in pairwise(began))


def test_the_first_event_goes_at_once():
    events = Coalescer()
    assert events.due() is None
    events.add("a")
    assert (events.due() or 0.0) <= 0
