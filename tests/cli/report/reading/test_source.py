"""What the readers make of a file: of a `--stats` file, of a run's events, and of neither."""

from __future__ import annotations

import json
import math

import pytest

from cli.report.reading.recording import InputError, Source
from cli.report.reading.source import read_recording
from tests.support.recorded_stats import MIB, STARTED, extension_stats, mark, recorded, sample, write
from wire.stats import encode

RUN = [
    {
        "type": "session",
        "schema_version": 1,
        "zot_version": "0.1.0",
        "id": "abc",
        "provider": "replay",
        "model": "some-model",
        "cwd": "/home/ada",
        "extensions": ["guard", "silent"],
        "time": "2026-11-21T10:00:00+00:00",
    },
    {"type": "extension", "extension": "guard", "event": "started", "message": "ready"},
    {"type": "user_message", "content": [], "time": "2026-11-21T10:00:00+00:00"},
    {"type": "turn_start", "step": 1},
    {"type": "tool_call", "id": "t1", "name": "bash", "args": {"command": "rm -rf build"}},
    {"type": "turn_end", "stop": "tool_use"},
    {"type": "tool_result", "id": "t1", "is_error": True, "content": [{"type": "text", "text": "refused by guard"}]},
    {"type": "from_a_later_version", "whatever": 1},
    {"type": "turn_start", "step": 2},
    {"type": "extension", "extension": "guard", "event": "exited", "message": "exit 1; started again in 0.5 s"},
    {"type": "assistant_message", "content": [], "time": "2026-11-21T10:00:04+00:00"},
    {"type": "turn_end", "stop": "end_turn"},
]
COST = {
    "state": "exited",
    "cpu_ms": 250,
    "rss_peak_bytes": 9 * MIB,
    "processes_peak": 1,
    **dict.fromkeys(("frames_in", "frames_out", "bytes_in", "bytes_out", "calls", "errors", "timeouts", "blocks"), 3),
    **dict.fromkeys(("events_dropped", "notes_dropped", "junk_lines", "exits", "restarts"), 1),
    "p50_ms": 1.5,
    "p99_ms": 2.5,
    "exit_status": "exit 0",
}
RESULT = {
    "type": "result",
    "status": "ok",
    "exit_code": 0,
    "reason": "",
    "text": "",
    "steps": 2,
    "usage": {"input": 1, "output": 2},
    "cost_usd": None,
    "duration_ms": 4200,
    "session": "abc",
    "extensions": {"guard": COST},
}


def lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.stats"


def read(file, *given):
    return read_recording(str(write(file, given)))


# --- a stats file ---------------------------------------------------------------------------------------------


def test_samples_become_tracks_and_the_last_one_the_figures(file):
    one, two = extension_stats(rss_bytes=MIB, cpu_percent=5.0), extension_stats(rss_bytes=2 * MIB, calls=7, cpu_s=0.5)
    found = read(file, sample(1, {"a": one}), sample(2, {"a": two, "b": one}))
    assert found.source is Source.STATS
    assert list(found.times) == [1, 2]
    assert list(found.tracks["a"].rss_bytes) == [MIB, 2 * MIB]
    assert math.isnan(found.tracks["b"].rss_bytes[0])
    assert list(found.total.cpu_percent) == [5, 5]
    assert {one.name: (one.calls, one.cpu_s) for one in found.figures} == {"a": (7, 0.5), "b": (0, 0.0)}
    assert (found.duration_s, found.notes) == (2, ())


def test_an_extension_that_went_away_keeps_its_last_figures(file):
    found = read(
        file, sample(1, {"a": extension_stats(calls=3), "b": extension_stats()}), sample(2, {"b": extension_stats()})
    )
    assert {one.name: one.calls for one in found.figures} == {"a": 3, "b": 0}
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
    assert [(one.kind, one.begin, one.end, one.bad) for one in found.happenings] == [
        ("turn", pytest.approx(0.5), pytest.approx(3), False),
        ("tool_call", pytest.approx(2), pytest.approx(3), True),
        ("intercept", pytest.approx(3), pytest.approx(3.001), True),
        ("intercept", pytest.approx(4), pytest.approx(4.001), False),
        ("exited", pytest.approx(5), None, False),
        ("turn", pytest.approx(5.5), pytest.approx(5.6), True),
    ]
    assert {one.name for one in found.figures} == {"a", "guard"}  # seen in marks only


@pytest.mark.parametrize("by", [-3600.0, 3600.0])
def test_a_clock_that_jumps_moves_nothing(file, by):
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
    assert [(one.kind, round(one.begin, 3)) for one in found.happenings] == [
        ("warning", 1.5),
        ("limit", 2.5),
        ("exited", 4),
    ]
    (note,) = found.notes
    assert f"jumped once, first {'back' if by < 0 else 'forward'} by 1:00:00 at 3 s" in note


def test_of_several_runs_in_one_file_the_last_one_counts(file):
    found = read(
        file,
        sample(1, {"old": extension_stats()}),
        mark(2, "exited", "old"),
        mark(60.5, "started", "new"),
        sample(1, {"new": extension_stats()}, pid=901, clock=STARTED + 60),
        sample(2, {"new": extension_stats()}, pid=901, clock=STARTED + 60),
    )
    assert [one.name for one in found.figures] == ["new"]
    assert [(one.kind, round(one.begin, 3)) for one in found.happenings] == [("started", 0.5)]
    assert list(found.times) == [1, 2]
    assert found.notes == ("The file holds 2 runs; this page shows the last one.",)


def test_marks_without_a_sample(file):
    found = read(file, mark(10, "started", "a"), mark(12, "exited", "a"))
    assert [one.begin for one in found.happenings] == [0, pytest.approx(2)]
    assert "holds no sample" in found.notes[0]


def test_one_sample_at_the_very_start_still_has_a_width(file):
    assert read(file, sample(0, {"a": extension_stats()})).end > 0


def test_figures_that_no_machine_has_stay_numbers(file):
    wild = extension_stats(cpu_percent=1e308, rss_bytes=10**300, cpu_s=1e308)
    found = read(file, sample(1, {"a": wild, "b": wild}), sample(1e300, {"a": wild, "b": wild}))
    assert math.isfinite(sum(found.total.cpu_percent) + sum(found.total.rss_bytes) + found.end)


# --- broken files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 40, -1])
def test_a_last_line_that_is_cut_off_is_left_out_and_said(file, cut):
    whole = b"".join(map(encode, recorded(3, 5)))
    last = encode(sample(99, {"a": extension_stats()}))
    file.write_bytes(whole + last[:cut].rstrip(b"\n}"))
    found = read_recording(str(file))
    assert found.end == 5
    (note,) = found.notes
    assert "is cut off" in note


def test_a_last_sample_that_lacks_what_the_others_need_not_have_is_left_out(file):
    """Of the others only the gauges are looked at."""
    short = json.loads(encode(sample(99, {"a": extension_stats()})))
    del short["extensions"]["a"]["calls"]
    file.write_bytes(encode(sample(1, {})) + json.dumps(short).encode() + b"\n")
    found = read_recording(str(file))
    assert list(found.times) == [1]
    assert "`calls`" in found.notes[0]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{not json\n", "malformed"),
        (b'{"type":"stats","time":1}\n', "host"),
        (b'{"type":"mark","time":"noon"}\n', "time"),
        (b"[1,2]\n", "object"),
        (b'{"time":1}\n', "type"),
        (b'{"x":' + b"[" * 5000 + b"\n", "nested too deeply"),
        (b'{"type":"mark","time":1e999}\n', ""),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(file, line, why):
    file.write_bytes(encode(sample(1, {})) + b"\n" + line + encode(sample(2, {})))
    with pytest.raises(InputError, match=rf"run\.stats:3: .*{why}") as caught:
        read_recording(str(file))
    assert "\n" not in str(caught.value)


def test_a_sample_that_can_only_be_judged_at_the_end_is_named_too(file):
    short = json.loads(encode(sample(1, {"a": extension_stats()})))
    del short["extensions"]["a"]["calls"]
    file.write_bytes(json.dumps(short).encode() + b"\n" + encode(mark(2, "warning")))
    with pytest.raises(InputError, match=r"line 1: .*`calls`"):
        read_recording(str(file))


def test_text_that_is_not_unicode_is_read(file):
    broken = encode(mark(1, "warning", "a", "DETAIL")).replace(b"DETAIL", b"caf\xe9 \\ud83d")
    file.write_bytes(broken + encode(sample(2, {})))
    assert read_recording(str(file)).happenings[0].detail == "caf\ufffd \ufffd"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\n\n", "it has no lines"),
        (b'{"type":"sta', "its only line is cut off"),
        (b'{"type":"hello"}\n', "nothing to show"),
        (b"\x00\x01\x02", "nothing to show"),
    ],
)
def test_a_file_with_nothing_in_it_says_so_and_what_to_do(file, content, why):
    file.write_bytes(content)
    with pytest.raises(InputError, match=why) as caught:
        read_recording(str(file))
    assert "--stats FILE" in str(caught.value)


def test_a_file_of_something_else_is_refused_by_its_first_line(file):
    file.write_text('{"type":"task","id":1}\n{"type":"task","id":2}\n')
    with pytest.raises(InputError, match=r"run\.stats:1: 'task' is neither"):
        read_recording(str(file))


# --- a run's events --------------------------------------------------------------------------------------------


def test_events_have_an_order_and_totals(tmp_path):
    found = read_recording(lines(tmp_path / "run.jsonl", [*RUN, RESULT, {"type": "done"}]))
    assert found.source is Source.EVENTS
    assert (found.duration_s, len(found.times)) == (4.2, 0)
    assert [(one.kind, one.name, one.extension, one.bad) for one in found.happenings] == [
        ("started", "", "guard", False),
        ("turn", "1", "", False),
        ("tool_call", "bash", "", True),
        ("turn", "2", "", False),
        ("exited", "", "guard", False),
    ]
    assert found.happenings[2].detail == "rm -rf build: refused by guard"
    assert [label for _, label in found.order_ticks] == ["turn 1", "turn 2"]
    by_name = {one.name: one for one in found.figures}
    assert list(by_name) == ["guard", "silent"]
    assert (by_name["guard"].cpu_s, by_name["guard"].p99_ms, by_name["guard"].restarts) == (0.25, 2.5, 1)
    (note,) = found.notes
    assert "order, not time" in note
    assert "--stats FILE" in note


def test_a_run_that_was_cut_short_shows_what_there_is(tmp_path):
    path = tmp_path / "run.jsonl"
    lines(path, RUN[:5])
    path.write_text(path.read_text() + '{"type":"tur')
    found = read_recording(str(path))
    assert [(one.kind, one.bad) for one in found.happenings[1:]] == [("turn", True), ("tool_call", True)]
    assert [one.name for one in found.figures] == ["guard", "silent"]
    cut, _, no_result = found.notes
    assert "cut off" in cut
    assert "no `result` record" in no_result


def test_several_prompts_are_one_recording(tmp_path):
    both = [*RUN, RESULT, {"type": "done"}, *RUN[2:], RESULT, {"type": "done"}]
    found = read_recording(lines(tmp_path / "rpc.jsonl", both))
    assert found.duration_s == pytest.approx(8.4)
    assert sum(one.kind == "turn" for one in found.happenings) == 4
