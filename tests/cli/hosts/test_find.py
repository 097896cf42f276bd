"""How many extensions are in which state."""

from __future__ import annotations

from cli.hosts.find import count_states
from tests.support.control_peer import extension_stats


def test_states_are_counted_and_good_states_come_first():
    assert count_states([extension_stats(state=state) for state in ("failed", "ready", "backoff", "ready")]) == [
        ("ready", 2),
        ("backoff", 1),
        ("failed", 1),
    ]
    assert count_states([extension_stats(state="newer")]) == [("newer", 1)]
