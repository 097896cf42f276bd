"""How many extensions are in which state."""

from __future__ import annotations

from cli.hosts.find import HOSTS_NAMED, count_states, shared_extensions
from tests.support.control_peer import extension_stats


def test_states_are_counted_and_good_states_come_first():
    assert count_states([extension_stats(state=state) for state in ("failed", "ready", "backoff", "ready")]) == [
        ("ready", 2),
        ("backoff", 1),
        ("failed", 1),
    ]
    assert count_states([extension_stats(state="newer")]) == [("newer", 1)]


def test_extensions_that_several_hosts_run_are_told_by_their_hosts():
    assert list(shared_extensions({7: ["a", "b", "x"], 8: ["b", "a"], 9: ["x", "y"]})) == [
        "hosts 7, 8 each have processes of their own for a, b",
        "hosts 7, 9 each have processes of their own for x",
    ]
    names = [str(number) for number in range(HOSTS_NAMED + 2)]
    (line,) = shared_extensions({7: names, 8: names})
    assert line.endswith(", 8, 9 and 2 more")
    assert list(shared_extensions({7: ["a"]})) == []
