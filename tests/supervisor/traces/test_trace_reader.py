"""A trace that is cut at any byte is readable, and says nothing but what had happened until then."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.traces.places import BLACK_BOX, PROFILE, beside, runs_folder
from supervisor.traces.trace_reader import (
    KILLED,
    RUNNING,
    STOPPED,
    NoSuchRunError,
    TraceError,
    decide_outcome,
    find_trace,
    parse_trace,
    read_trace,
    read_traces,
    run_ids,
)
from tests.support.run_traces import (
    BEGAN,
    GONE,
    end,
    fall,
    figures,
    header,
    kept,
    started,
    text,
    write_run,
    write_trace,
)

LINES = (
    header(),
    started(BEGAN + 0.1, "guard"),
    started(BEGAN + 0.2),
    fall(BEGAN + 1, "crash", cause="signal SIGKILL é"),
    fall(BEGAN + 1.5, "guard", "no_verdict", "turn_start: timeout"),
    end(BEGAN + 2, "error", 1),
    figures(BEGAN + 2),
)
WHOLE = text(*LINES)


def _ignore(_line: str) -> None:
    pass


@given(st.integers(0, len(WHOLE)))
def test_a_trace_cut_at_any_byte_tells_what_was_written_until_then(cut: int) -> None:
    trace = parse_trace(Path("x"), WHOLE[:cut])
    written = [line for number, line in enumerate(LINES) if len(text(*LINES[: number + 1])) - 1 <= cut]
    if not written:
        assert trace is None
        return
    assert trace is not None
    assert not trace.faults
    told = [trace.header, *trace.marks, trace.run, trace.last]
    assert [line for line in told if line is not None] == written
    assert trace.outcome == ("error" if LINES[5] in written else KILLED)
    assert [mark.extension for mark in trace.falls] == [
        line.extension for line in written if line in (LINES[3], LINES[4])
    ]


@given(st.binary(max_size=80), st.integers(1, len(LINES) - 2))
def test_a_damaged_line_is_named_and_costs_no_other_line(damage: bytes, at: int) -> None:
    damage = damage.replace(b"\n", b"") + b"{"
    trace = parse_trace(Path("x"), text(*LINES[:at]) + damage + b"\n" + text(*LINES[at:]))
    assert trace is not None
    assert [*trace.marks, trace.run, trace.last] == list(LINES[1:])
    (fault,) = trace.faults
    assert fault.startswith(f"x:{at + 1}: ")


@given(st.binary())
def test_any_bytes_are_no_trace_or_are_refused_with_their_line(damage: bytes) -> None:
    try:
        trace = parse_trace(Path("x"), damage)
    except TraceError as error:
        trace, said = None, str(error)
    else:
        said = "x:1: "
    assert trace is None
    assert said.startswith("x:1: ")


def test_lines_of_later_versions_are_skipped() -> None:
    trace = parse_trace(Path("x"), text(LINES[0]) + b'{"type":"verdicts","count":3}\n' + text(LINES[3]))
    assert trace is not None
    assert not trace.faults
    assert trace.marks == (LINES[3],)


@pytest.mark.parametrize(("goes_on", "outcome"), [(True, RUNNING), (False, KILLED)])
def test_without_an_end_the_lock_decides(goes_on: bool, outcome: str) -> None:
    assert decide_outcome(None, has_ended=False, goes_on=goes_on) == outcome


def test_a_trace_that_is_locked_is_that_of_a_running_one(tmp_path: Path) -> None:
    path = write_trace(tmp_path, header())
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert read_trace(path).outcome == RUNNING
    assert read_trace(path).outcome == KILLED


def test_a_host_without_an_agent_stopped(tmp_path: Path) -> None:
    path = write_trace(tmp_path, header(kind="host"), [figures(BEGAN + 9)])
    assert read_trace(path).outcome == STOPPED
    assert read_trace(path).took_s == 9


def test_runs_come_newest_first_and_each_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    write_run(tmp_path, BEGAN, 99)
    write_run(tmp_path, BEGAN, 100)  # in the same second: the later pid
    write_run(tmp_path, BEGAN + 60, 5)
    assert [run.header.pid for run in read_traces(tmp_path, pytest.fail)] == [5, 100, 99]
    runs = read_traces(tmp_path, pytest.fail)
    next(runs)
    for path in runs_folder(tmp_path).iterdir():
        path.unlink()
    assert list(runs) == []


def test_there_is_no_folder_before_the_first_run(tmp_path: Path) -> None:
    assert list(read_traces(tmp_path, pytest.fail)) == [] == run_ids(tmp_path)


def test_damaged_traces_are_named_and_skipped(tmp_path: Path) -> None:
    good, said = write_run(tmp_path), list[str]()
    bad = [write_run(tmp_path, BEGAN + late) for late in (60, 120, 180, 240)]
    bad[0].write_bytes(b"\0" * 400)
    bad[1].write_bytes(text(*LINES[1:]))
    bad[2].write_bytes(b"")
    bad[3].unlink()
    bad[3].mkdir()
    (runs_folder(tmp_path) / "notes.jsonl").write_text("mine")
    assert [run.path for run in read_traces(tmp_path, said.append)] == [good]
    assert len(said) == 4
    assert all(any(line.startswith(str(path)) for line in said) for path in bad)


def test_the_files_beside_a_trace_are_its_own(tmp_path: Path) -> None:
    path, other = write_run(tmp_path), write_run(tmp_path, BEGAN + 1)
    box, profile = beside(path, "my.guard", 1, BLACK_BOX), beside(path, "crash", 12, PROFILE)
    for file in (box, profile, beside(other, "crash", 1, BLACK_BOX)):
        file.touch()
    found = [(file.path, file.extension, file.kind) for file in read_trace(path).beside]
    assert found == [(profile, "crash", PROFILE), (box, "my.guard", BLACK_BOX)]
    assert [run.beside != () for run in read_traces(tmp_path, _ignore)] == [True, True]


@pytest.mark.parametrize("word", ["last", "20261128-190001", "20261128-190001-71", "71", "20261128-190001-71.jsonl"])
def test_a_run_is_named_by_the_beginning_of_its_id_or_its_pid(tmp_path: Path, word: str) -> None:
    write_run(tmp_path, BEGAN, 7)
    path = write_run(tmp_path, BEGAN + 1, 71)
    assert find_trace(tmp_path, word) == path


@pytest.mark.parametrize("word", ["", "2027", "nothing", "../x", "0"])
def test_a_word_that_names_no_run_is_refused(tmp_path: Path, word: str) -> None:
    write_run(tmp_path)
    with pytest.raises(NoSuchRunError, match="there is no run"):
        find_trace(tmp_path, word)


def test_a_word_for_several_runs_names_them(tmp_path: Path) -> None:
    for late in range(7):
        write_run(tmp_path, BEGAN + late)
    with pytest.raises(NoSuchRunError, match=f"may be 20261128-190006-{GONE}, .* and 2 more"):
        find_trace(tmp_path, "2026")


def test_the_files_of_a_fall_were_kept_at_its_time(tmp_path: Path) -> None:
    path = write_run(tmp_path)
    first, second = beside(path, "crash", 1, BLACK_BOX), beside(path, "crash", 2, BLACK_BOX)
    for file in (first, second):
        file.touch()
    lines = [
        fall(BEGAN + 1, "crash"), kept(BEGAN + 1.1, "crash", first), fall(BEGAN + 2, "guard"),
        kept(BEGAN + 8.9, "crash", second), fall(BEGAN + 9, "crash", "hung", "no answer"),
        kept(BEGAN + 9.1, "crash", beside(path, "crash", 3, BLACK_BOX)),
    ]  # fmt: skip
    found = read_trace(write_trace(tmp_path, header(), lines)).files_of_falls
    assert [[file.path for file in files] for files in found] == [[first], [], [second]]


@pytest.mark.parametrize(("exit_code", "outcome"), [(0, "done"), (10, "partial_batch")])
def test_a_batch_with_failed_tasks_has_failed(tmp_path: Path, exit_code: int, outcome: str) -> None:
    run = read_trace(write_trace(tmp_path, header(kind="batch"), [end(BEGAN + 1, "done", exit_code)]))
    assert (run.outcome, run.has_failed) == (outcome, exit_code != 0)
