"""Lines of what has changed: applied one after the other, they give all figures again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.recorded_stats import extension_stats, sample
from wire.events import HostedShare
from wire.stats import Change, SessionStats, StatsError, apply_change, decode, encode, find_change

if TYPE_CHECKING:
    from wire import stats

BUCKETS = st.dictionaries(st.sampled_from([0.1, 0.5, 2.0, 8.0]), st.integers(1, 99), max_size=4)
FIGURES = st.fixed_dictionaries(
    {
        "state": st.sampled_from(["ready", "backoff", "failed"]),
        "pids": st.sampled_from([(1,), (2,), ()]),
        "cpu_s": st.floats(0, 1e6),
        "rss_bytes": st.integers(0, 2**40),
        "open_files": st.none() | st.integers(0, 99),
        "exit_status": st.none() | st.just("exit 1"),
        "latency_ms": BUCKETS,
    }
)
MOMENTS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), FIGURES), min_size=1, max_size=6)


def moments(drawn: list[dict[str, dict[str, Any]]]) -> list[stats.Stats]:
    """A second apart. Buckets only grow, and each process is up for as long as the host."""
    counted: dict[str, dict[float, int]] = {}
    made = []
    for at, extensions in enumerate(drawn):
        for name in counted.keys() - extensions.keys():
            del counted[name]
        held = {}
        for name, figures in extensions.items():
            buckets = counted.setdefault(name, {})
            for end, count in figures["latency_ms"].items():
                buckets[end] = buckets.get(end, 0) + count
            up = float(at) if figures["pids"] else None
            held[name] = extension_stats(**(figures | {"latency_ms": tuple(sorted(buckets.items())), "uptime_s": up}))
        made.append(sample(float(at), held))
    return made


@given(MOMENTS)
def test_changes_add_up_to_the_figures(drawn: list[dict[str, dict[str, Any]]]):
    first, *later = moments(drawn)
    known = before = first
    for after in later:
        if (line := find_change(before, after, 1.0)) is not None:
            read = decode(encode(line))
            assert isinstance(read, Change)
            known = apply_change(known, read)
            assert known == after
            before = after


def test_nothing_is_said_while_no_extension_changes():
    """The host's own figures change all the time, and so does how long an extension is up."""
    assert (
        find_change(sample(1, {"a": extension_stats()}), sample(9, {"a": extension_stats(uptime_s=9.0)}), 8.0) is None
    )


def test_only_what_changed_is_said():
    before = extension_stats(cpu_s=1.0, latency_ms=((0.1, 5), (0.2, 1)), uptime_s=4.0)
    after = msgspec.structs.replace(before, cpu_s=1.5, latency_ms=((0.1, 5), (0.2, 2)), uptime_s=5.0)
    line = find_change(sample(4, {"a": before, "b": before}), sample(5, {"a": after, "b": before}), 1.0)
    assert line is not None
    assert line.extensions == {"a": {"cpu_s": 1.5, "latency_ms": [(0.2, 2)]}}
    assert line.host["uptime_s"] == 5
    assert not {"pid", "cwd", "version"} & line.host.keys()


def test_a_new_process_says_how_long_it_is_up():
    line = find_change(
        sample(4, {"a": extension_stats(uptime_s=4.0)}),
        sample(5, {"a": extension_stats(uptime_s=0.2, pids=(9,))}),
        1.0,
    )
    assert line is not None
    assert line.extensions["a"] == {"uptime_s": 0.2, "pids": (9,)}


def test_what_is_gone_is_named():
    line = find_change(
        sample(1, {"a": extension_stats(), "b": extension_stats()}), sample(2, {"b": extension_stats()}), 1.0
    )
    assert line is not None
    assert (line.gone, line.extensions) == (("a",), {})


@pytest.mark.parametrize("members", [{"calls": "many"}, {"latency_ms": 3}, {"pids": [None]}])
def test_a_change_that_is_none_is_an_error(members: dict[str, Any]):
    line = Change(1.0, 1.0, {"uptime_s": 1.0}, {"a": members})
    with pytest.raises(StatsError):
        apply_change(sample(0, {"a": extension_stats()}), line)


def test_a_new_extension_without_its_figures_is_an_error():
    with pytest.raises(StatsError, match="missing required field"):
        apply_change(sample(0, {}), Change(1.0, 1.0, {"uptime_s": 1.0}, {"new": {"calls": 1}}))


def test_sessions_and_shares_come_back_from_a_change():
    one = SessionStats(1, 0, 0, 0, 1, 1, 1.0, 0.5, "s1", 7, "/somewhere", 1.5)
    before = sample(
        1.0,
        {
            "a": extension_stats(mode="shared", attached=1, sessions=(one,), uptime_s=None),
            "b": extension_stats(uptime_s=None),
        },
    )
    others = SessionStats(1, 0, 0, 0, 1, 1, 1.0, 0.5)
    share = HostedShare(4711, "leased", 1.0, 0.5, 9)
    gone = extension_stats(mode="shared", other_sessions=others, uptime_s=None)
    after = sample(2.0, {"a": gone, "b": extension_stats(hosted=share, uptime_s=None)})
    line = find_change(before, after, 1.0)
    assert line is not None
    read = decode(encode(line))
    assert isinstance(read, Change)
    assert apply_change(before, read) == after
