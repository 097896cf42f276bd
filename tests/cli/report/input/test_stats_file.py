"""Reading a `--stats` file."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import msgspec
import pytest

from cli.report.input.recorded_run import InputError, SourceKind
from cli.report.input.source import read_recording
from tests.support.recorded_stats import MIB, STARTED, extension_stats, mark, sample, write
from wire import stats
from wire.stats import encode


def read(file, *given):
    return read_recording(str(write(file, given)))


def test_samples_become_tracks_and_the_last_one_the_figures(file):
    first, second = (
        extension_stats(rss_bytes=MIB, cpu_percent=5.0),
        extension_stats(rss_bytes=2 * MIB, calls=7, cpu_s=0.5),
    )
    found = read(file, sample(1, {"a": first}), sample(2, {"a": second, "b": first}))
    assert found.source is SourceKind.STATS
    assert list(found.times) == [1, 2]
    assert list(found.tracks["a"].rss_bytes) == [MIB, 2 * MIB]
    assert math.isnan(found.tracks["b"].rss_bytes[0])
    assert list(found.total.rss_bytes) == [MIB, 3 * MIB]
    assert {figure.name: (figure.calls, figure.cpu_s) for figure in found.figures} == {"a": (7, 0.5), "b": (0, 0.0)}
    assert (found.duration_s, found.notes) == (2, ())


def test_an_extension_that_went_away_keeps_its_last_figures(file):
    found = read(
        file, sample(1, {"a": extension_stats(calls=3), "b": extension_stats()}), sample(2, {"b": extension_stats()})
    )
    assert {figure.name: figure.calls for figure in found.figures} == {"a": 3, "b": 0}
    assert math.isnan(found.tracks["a"].cpu_percent[1])


def test_many_samples_with_changing_extensions_stay_in_step(file):
    casts = [[name for at, name in enumerate("abcde") if index % (at + 2) or index > 900] for index in range(1000)]
    extensions = {index: {name: extension_stats(rss_bytes=index) for name in cast} for index, cast in enumerate(casts)}
    found = read(file, *(sample(index, cast) for index, cast in extensions.items()))
    for name, track in found.tracks.items():
        assert len(track.rss_bytes) == len(track.cpu_percent) == 1000
        assert [index for index in range(1000) if track.rss_bytes[index] == index] == [
            index for index in range(1000) if name in casts[index]
        ]


def test_marks_in_any_order_are_placed_by_their_time(file):
    found = read(
        file,
        mark(5, "exited", "a", "exit 1"),
        mark(0.5, "turn", name="1", detail="tool_use", ms=2500),
        mark(5.5, "turn", name="2", detail="overloaded", ms=100),
        sample(1, {}),
        mark(2, "tool_call", "", "no such file", "bash", ms=1000),
        mark(3, "intercept", "guard", "refused", "tool_call", ms=1),
        mark(4, "intercept", name="tool_call", ms=1),
        sample(6, {}),
    )
    assert [(happening.kind, happening.begin, happening.end, happening.bad) for happening in found.happenings] == [
        ("turn", pytest.approx(0.5), pytest.approx(3), False),
        ("tool_call", pytest.approx(2), pytest.approx(3), True),
        ("intercept", pytest.approx(3), pytest.approx(3.001), True),
        ("intercept", pytest.approx(4), pytest.approx(4.001), False),
        ("exited", pytest.approx(5), None, False),
        ("turn", pytest.approx(5.5), pytest.approx(5.6), True),
    ]
    assert {figure.name for figure in found.figures} == {"a", "guard"}  # seen in marks only


@pytest.mark.parametrize("by", [-3600.0, 3600.0])
def test_a_clock_that_jumps_moves_no_sample_and_no_mark(file, by):
    late = STARTED + by
    found = read(
        file,
        sample(1, {}),
        mark(1.5, "warning"),
        mark(2.5 + by, "limit", "a"),
        sample(3, {}, clock=late),
        mark(4 + by, "exited", "a"),
        sample(5, {}, clock=late),
    )
    assert list(found.times) == [1, 3, 5]
    assert [(happening.kind, round(happening.begin, 3)) for happening in found.happenings] == [
        ("warning", 1.5),
        ("limit", 2.5),
        ("exited", 4),
    ]
    (note,) = found.notes
    assert f"jumped once, first {'back' if by < 0 else 'forward'} by 1h at 3 s" in note


def test_the_last_of_several_runs_in_a_file_is_shown(file):
    found = read(
        file,
        sample(1, {"old": extension_stats()}),
        mark(2, "exited", "old"),
        mark(60.5, "started", "new"),
        sample(1, {"new": extension_stats()}, pid=901, clock=STARTED + 60),
        sample(2, {"new": extension_stats()}, pid=901, clock=STARTED + 60),
    )
    assert [figure.name for figure in found.figures] == ["new"]
    assert [(happening.kind, round(happening.begin, 3)) for happening in found.happenings] == [("started", 0.5)]
    assert list(found.times) == [1, 2]
    assert found.notes == ("The file holds 2 runs; this page shows the last one.",)


def test_marks_without_a_sample(file):
    found = read(file, mark(10, "started", "a"), mark(12, "exited", "a"))
    assert [happening.begin for happening in found.happenings] == [0, pytest.approx(2)]
    assert "holds no sample" in found.notes[0]


def test_one_sample_at_the_very_start_still_has_a_width(file):
    assert read(file, sample(0, {"a": extension_stats()})).end > 0


def test_absurd_figures_stay_finite(file):
    wild = extension_stats(cpu_percent=1e308, rss_bytes=10**18, cpu_s=1e308)
    found = read(file, sample(1, {"a": wild, "b": wild}), sample(1e300, {"a": wild, "b": wild}))
    assert math.isfinite(sum(found.total.cpu_percent) + sum(found.total.rss_bytes) + found.end)


def test_a_last_sample_without_its_figures_is_left_out(file):
    """Only the gauges of earlier samples are read."""
    short = json.loads(encode(sample(99, {"a": extension_stats()})))
    del short["extensions"]["a"]["calls"]
    file.write_bytes(encode(sample(1, {})) + json.dumps(short).encode() + b"\n")
    found = read_recording(str(file))
    assert list(found.times) == [1]
    assert "`calls`" in found.notes[0]


def test_a_bad_sample_that_is_decoded_last_is_named(file):
    short = json.loads(encode(sample(1, {"a": extension_stats()})))
    del short["extensions"]["a"]["calls"]
    file.write_bytes(json.dumps(short).encode() + b"\n" + encode(mark(2, "warning")))
    with pytest.raises(InputError, match=r"line 1: .*`calls`"):
        read_recording(str(file))


def test_changes_are_read_as_all_figures_would_be(file):
    casts = [
        {"a": extension_stats(cpu_s=at / 10, rss_bytes=at * MIB, calls=at)}
        | ({"late": extension_stats(calls=9)} if 4 <= at < 7 else {})
        for at in range(1, 10)
    ]
    samples = [sample(at, cast) for at, cast in enumerate(casts, 1)]
    whole = read(file, *samples)
    changes = [stats.find_change(before, after, 1.0) for before, after in pairwise(samples)]
    found = read(file, samples[0], *changes)
    assert [(track.cpu_percent[4:6], track.rss_bytes[4:6]) for track in found.tracks.values()] == [
        (track.cpu_percent[4:6], track.rss_bytes[4:6]) for track in whole.tracks.values()
    ]
    assert found.figures == whole.figures
    assert (found.times, found.total, found.host, found.notes) == (whole.times, whole.total, whole.host, ())


def test_a_change_whose_beginning_is_lost_is_left_out(file):
    lost = stats.find_change(sample(1, {"a": extension_stats()}), sample(2, {"a": extension_stats(calls=1)}), 1.0)
    found = read(file, lost, sample(3, {"a": extension_stats(calls=2)}))
    assert list(found.times) == [3]


def test_a_last_change_that_is_none_is_left_out(file):
    write(file, [sample(1, {"a": extension_stats(calls=4)})])
    with file.open("ab") as opened:
        opened.write(encode(stats.Change(2.0, 1.0, {"uptime_s": 2.0}, {"a": {"calls": "many"}})))
    found = read_recording(str(file))
    assert [figure.calls for figure in found.figures] == [4]
    assert "`int`" in found.notes[0]


def test_model_outcome_tokens_and_cost_are_facts_of_the_run(file):
    run = stats.Run(STARTED, "s1", "anthropic", "claude-x", 2, 900, 80, 100, 50, 0.0123)
    cut = dict(read(file, run, sample(1, {}), run).facts)
    assert cut["model"] == "claude-x (anthropic)"
    assert cut["outcome"] == "unknown: the recording ends before the run"
    assert cut["model use"] == "2 turns, 1,050 tokens read, 100 of them from the cache, 80 written, $0.0123"
    ended = msgspec.structs.replace(run, status="timeout", exit_code=7, reason="it took longer than 9 s", cost_usd=None)
    whole = dict(read(file, sample(1, {}), run, ended).facts)
    assert whole["outcome"] == "timeout (exit 7): it took longer than 9 s"
    assert whole["model use"].endswith("cost unknown")
