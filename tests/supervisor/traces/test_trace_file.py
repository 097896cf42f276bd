from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from supervisor.accounting.fall import Fall
from supervisor.home.config import Keep
from supervisor.traces import sweep as sweeping
from supervisor.traces import trace_file as writing
from supervisor.traces.sweep import is_being_written
from supervisor.traces.trace_file import MARKS_LIMIT, NO_VERDICTS_LIMIT, TraceFile, trace_header
from tests.support.control_peer import extension_stats, host_stats
from wire import stats

CRASH = Fall("crashed", "exit 3", 4711, 1)


class CountedCalls:
    """The functions of `os` that call the kernel, counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        for name in (
            "open",
            "write",
            "close",
            "stat",
            "utime",
            "scandir",
            "mkdir",
            "readlink",
            "fsync",
            "fdatasync",
            "getpid",
            "read",
        ):
            monkeypatch.setattr(os, name, self._counted(name, getattr(os, name)))

    def _counted(self, name, function):
        def call(*args, **kwargs):
            self.names.append(name)
            return function(*args, **kwargs)

        return call


def named(name: str):
    return SimpleNamespace(name=name)


def new(home, said=None, path=None) -> TraceFile:
    header = None if path else trace_header("run", "1", "/", {})
    trace = TraceFile(home, Keep(), (said if said is not None else []).append, header, path)
    trace.figures = lambda: stats.Stats(0.0, host_stats(), {"a": extension_stats(failure="quoted")})
    return trace


def lines(trace: TraceFile) -> list[stats.StatsLine]:
    return [stats.decode(line) for line in trace.path.read_bytes().splitlines()]


def test_a_quiet_run_costs_few_system_calls_and_waits_for_no_disk(tmp_path, monkeypatch):
    first = new(tmp_path)
    first.begin()
    first.close(None)
    counted = CountedCalls(monkeypatch)
    trace = new(tmp_path, path=None)
    trace.path = trace.path.with_name("20261128-191102-1.jsonl")
    trace.begin()
    trace.begun()
    trace.close(None)
    assert len(counted.names) <= 12, counted.names
    assert not {"fsync", "fdatasync"} & set(counted.names)


def test_falls_are_written_at_once_and_bounded(tmp_path):
    trace = new(tmp_path)
    trace.begin()
    for number in range(1, MARKS_LIMIT + 20):
        trace.fell(named("a"), None, CRASH)
        assert number > 2 or len(lines(trace)) == 1 + number
    assert len(lines(trace)) == 1 + MARKS_LIMIT
    assert lines(trace)[-1].detail == f"the marks end here, after {MARKS_LIMIT}"
    trace.close(None)


def test_the_figures_at_the_end_quote_no_extension(tmp_path):
    trace = new(tmp_path)
    trace.begin()
    trace.fell(named("a"), None, CRASH)
    trace.close(None)
    *_, figures = lines(trace)
    assert figures.extensions["a"].failure == "crashed: exit 3"


def test_a_run_of_a_batch_adds_to_its_trace_and_writes_nothing_else(tmp_path):
    batch = new(tmp_path)
    batch.begin()
    run = new(tmp_path, path=batch.path)
    run.begin()
    run.begun()
    run.close(None)
    assert len(lines(batch)) == 1
    run = new(tmp_path, path=batch.path)
    run.fell(named("a"), None, CRASH)
    run.close(None)
    assert [type(line) for line in lines(batch)] == [stats.Trace, stats.Mark]
    batch.close(None)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_full_disk_is_told_once_and_what_was_written_stays(tmp_path, monkeypatch, at):
    said: list[str] = []
    trace = new(tmp_path, said)
    real, calls = os.write, iter(range(1, 100))

    def write(fd, data):
        if next(calls) >= at:
            raise OSError(28, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(writing.os, "write", write)
    monkeypatch.setattr(sweeping.os, "scandir", lambda _: pytest.fail("no sweep after a failure"))
    trace.begin()
    trace.fell(named("a"), None, CRASH)
    trace.fell(named("a"), None, CRASH)
    trace.close(None)
    assert len(said) == 1
    assert "No space left on device; it goes on without one" in said[0]
    assert len(lines(trace)) == at - 1


def test_a_link_in_the_way_is_not_followed(tmp_path):
    said: list[str] = []
    trace = new(tmp_path, said)
    trace.path.parent.mkdir()
    target = tmp_path / "target"
    trace.path.symlink_to(target)
    trace.begin()
    assert not target.exists()
    assert len(said) == 1


def test_a_trace_tells_whether_its_run_goes_on(tmp_path):
    trace = new(tmp_path)
    trace.begin()
    assert is_being_written(trace.path)
    assert is_being_written(trace.path), "to look takes no lock"
    trace.close(None)
    assert not is_being_written(trace.path)
    assert not is_being_written(tmp_path / "missing.jsonl")


def test_a_guard_without_verdicts_leaves_room_for_other_falls(tmp_path):
    trace = new(tmp_path)
    trace.begin()
    for _ in range(NO_VERDICTS_LIMIT + 5):
        trace.fell(named("a"), None, Fall("no_verdict", "tool_call: timeout"))
    trace.fell(named("b"), None, CRASH)
    trace.close(None)
    *_, last, crash, _figures = lines(trace)
    assert (last.name, last.detail) == ("no_verdict", "no verdict: tool_call: timeout; later ones are not kept")
    assert (crash.extension, crash.name) == ("b", "crashed")
