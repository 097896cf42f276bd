"""A short soak: what must hold, holds, whatever hostile extensions do; not how fast. And its own books can fail."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from benchmarks.cast import Schedule
from benchmarks.ledger import CallOutcome, Ledger
from benchmarks.programs import faults
from benchmarks.vitals import left_behind, quarters
from benchmarks.workshop import PROGRAMS
from supervisor.cleanup.env_marks import TOKEN
from tests.benchmarks.test_benchmarks import MARK, ROOT, marked
from tests.children.conversation import Conversation
from tests.support.zot_process import wait_until

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="finds processes by /proc")
HOSTILE = str(PROGRAMS / "hostile.py")
ALWAYS_STORM = ("0", "1e9", "1e9")
BY_THEMSELVES = [fault for fault in faults.FAULTS if fault not in (faults.Forks, faults.Exit, faults.Killed)]


def seed_for(fault: type, name: str) -> str:
    """A seed with which `name` begins with this fault."""
    seeds = (str(seed) for seed in range(1000))
    return next(seed for seed in seeds if faults.fault_at(0, name, seed, *map(float, ALWAYS_STORM)) is fault)


def started(fault: type) -> Conversation:
    argv = [sys.executable, "-I", "-S", HOSTILE, "bad", seed_for(fault, "bad"), "0", *ALWAYS_STORM]
    return Conversation(*argv)


# --- the run ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@linux_only
def test_every_call_ends_once_and_nothing_is_left(tmp_path: Path):
    figures, mark = tmp_path / "figures.json", uuid.uuid4().hex
    argv = [sys.executable, "-m", "benchmarks.soak", "--quick", "--json", str(figures)]
    done = subprocess.run(argv, cwd=ROOT, env={**os.environ, MARK: mark}, capture_output=True, text=True, timeout=90)
    assert figures.exists(), done.stdout + done.stderr
    tables = {table["title"]: table["rows"] for table in json.loads(figures.read_text())["tables"]}
    claims = {row[0]: row[2] for row in tables["claims"]}
    for claim in (
        "every call ends exactly once, in time, with a reason",
        "those that do well fail only where they die",
        "the accounts have every request",
        "the accounts have every timeout",
        "no process is left",
        "as many descriptors after as before",
        "descriptors do not pile up from one quiet stretch to the next",
        "the host does not grow from the second quarter to the last",
    ):
        assert claims[claim] == "PASS", done.stdout
    happened = dict(tables["what happened"])
    for what in ("calls answered", "calls failed with a reason", "calls timed out", "SIGKILL to friends", "restarts"):
        assert happened[what] > 0
    assert marked(mark) == []


@pytest.mark.parametrize("wrong", [["--seconds", "5"], ["--hostile", "1"], ["--extensions", "12", "--hostile", "6"]])
def test_sizes_that_cannot_be_are_a_usage_error(wrong: list[str]):
    argv = [sys.executable, "-m", "benchmarks.soak", *wrong]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "must be from" in done.stderr or "it takes" in done.stderr


# --- the books --------------------------------------------------------------------------------------------------


def test_a_call_that_ends_once_in_time_is_no_fault():
    ledger = Ledger(2, slack_s=0.5)
    first, second = ledger.begin(0.0, 1.0), ledger.begin(0.5, 1.0)
    ledger.end(first, CallOutcome.ANSWERED, "", 0.5)
    assert not ledger.all_ended
    ledger.end(second, CallOutcome.TIMED_OUT, "no answer within 1 s", 1.6)
    ledger.timed_out_after(second, 1.0, 1.6)
    assert ledger.faults() == []
    assert ledger.all_ended
    assert ledger.is_full
    assert ledger.outcomes[CallOutcome.TIMED_OUT] == 1
    assert ledger.worst_overrun_s == pytest.approx(0.1)


def test_what_is_wrong_with_a_call_is_found():
    ledger = Ledger(5, slack_s=0.5)
    twice, late, mute, early, _never = (ledger.begin(0.0, 1.0) for _ in range(5))
    ledger.end(twice, CallOutcome.ANSWERED, "", 0.1)
    ledger.end(twice, CallOutcome.FAILED, "it died", 0.2)
    ledger.end(late, CallOutcome.ANSWERED, "", 1.6)
    ledger.end(mute, CallOutcome.FAILED, "", 0.1)
    ledger.end(early, CallOutcome.TIMED_OUT, "no answer within 1 s", 0.5)
    ledger.timed_out_after(early, 1.0, 0.5)
    assert [line.split(":")[0] for line in ledger.faults()] == [
        "1 ended twice",
        "1 ended late",
        "1 ended without a reason",
        "1 timed out early",
        "1 never ended",
    ]


@linux_only
@pytest.mark.parametrize("by", ["token", "session", "descent"])
def test_what_is_left_behind_is_found(by: str):
    token = uuid.uuid4().hex
    env = {**os.environ, TOKEN: token} if by == "token" else None
    child = subprocess.Popen(["sleep", "60"], env=env, start_new_session=True)
    try:
        sessions = {child.pid} if by == "session" else set()

        def found() -> list[str]:
            return [
                line.split()[0] for line in left_behind(token if by == "token" else "none", sessions) if "sleep" in line
            ]

        # A process that has just begun shows no environment for a moment.
        assert wait_until(found) == [str(child.pid)]
    finally:
        child.kill()
        child.wait()
    assert not [line for line in left_behind(token, {child.pid}) if line.startswith(f"{child.pid} ")]


def test_quarters_leave_out_the_beginning():
    assert quarters([100, 100, 1, 1, 5, 5, 2, 2]) == (1, 2)
    with pytest.raises(ValueError, match="no quarters"):
        quarters([1, 2, 3])


# --- the schedule and the hostile ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [10, 42, 140])
def test_quiet_and_storm_take_turns(seconds: float):
    schedule = Schedule.within(seconds)
    assert schedule.length_s == pytest.approx(seconds)
    assert schedule.cycles >= 2
    for cycle in range(schedule.cycles):
        start = cycle * schedule.cycle_s
        assert not schedule.is_storm(start + 0.01)
        assert schedule.measured(start + 0.01) == ("quiet" if cycle == 0 else None)
        assert schedule.is_calm(start + schedule.quiet_s - 0.05)
        assert schedule.measured(start + schedule.quiet_s - 0.05) == "quiet"
        assert schedule.measured(start + schedule.quiet_s + 0.05) == "storm"
        assert schedule.is_storm(start + schedule.cycle_s - 0.01)


def test_each_fault_has_its_turn_and_none_while_it_is_quiet():
    long = Schedule(cycles=5)
    assert set(long.faults("bad", 1)) == {fault.__name__ for fault in faults.FAULTS}
    assert long.faults("bad", 1) != long.faults("bad", 2)
    for elapsed in (0.0, long.quiet_s - 0.01, long.cycle_s + 0.01):
        assert faults.fault_at(elapsed, "bad", 1, long.quiet_s, long.storm_s, long.fault_s) is faults.Fault


def test_whatever_its_fault_it_ends_when_its_stdin_does():
    running = [started(fault) for fault in BY_THEMSELVES]
    try:
        for fault, extension in zip(BY_THEMSELVES, running, strict=True):
            if fault not in (faults.Mute, faults.NoHello):
                extension.frames_up_to("ready")
            extension.close_stdin()
        assert [extension.process.wait(20) for extension in running] == [0] * len(running)
    finally:
        for extension in running:
            extension.__exit__()


@linux_only
def test_its_forks_are_bounded():
    mark = f"{HOSTILE}\0bad\0".encode()
    with started(faults.Forks) as extension:
        extension.frames_up_to("ready")
        most = len(running(mark))
    while left := running(mark):  # a daemon may just have forked for the second time
        most = max(most, len(left))
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert faults.FORKS / 2 <= most <= 2 * faults.FORKS


def running(mark: bytes) -> list[int]:
    """Pids of processes with this in their command line; that of a zombie is empty."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found
