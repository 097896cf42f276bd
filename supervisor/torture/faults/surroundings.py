"""Clocks that jump, few descriptors, full and missing folders."""

from __future__ import annotations

import os
import resource
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.harness.harness import QUIET_S
from supervisor.torture.fault import Family
from supervisor.torture.steps import NotApplicableError, NotHeldError, Wait

if TYPE_CHECKING:
    from supervisor.torture.steps import Steps
    from supervisor.torture.trial import Trial

SURROUNDINGS = Family("clocks and resources")
SPARE = 20
"""Descriptors that are left to a process that gets few."""
FULL_DISK = ("/bin/sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "zot")
"""Each write to a file fails, as on a full disk, and no signal comes. Pipes are no files."""
TEN_YEARS_S = 315_360_000.0
TIMES = ("1970-01-01T00:00:00.000Z", "2099-12-31T23:59:59.999Z", "2001-09-09T01:46:40.000Z")


@SURROUNDINGS.add(
    "clock-jumps-forward",
    "all clocks jump: the process is stopped for two seconds, as when a computer sleeps",
    "Its timers and deadlines do not end it, and it answers the next call.",
)
def clock_jumps_forward(trial: Trial) -> Steps:
    yield from trial.start()
    player = trial.player
    yield from player.works("before the clock jumped")
    player.signal(signal.SIGSTOP)
    yield Wait(lambda: False, trial.rng.uniform(1.8, 2.2))
    player.signal(signal.SIGCONT)
    for _ in range(2):
        yield from player.works("after its clock had jumped by two seconds")
        yield Wait(lambda: not player.is_running, QUIET_S)  # for its own timers
    if not player.is_running:
        raise NotHeldError(f"it ended after its clock had jumped by two seconds ({player.how_it_ended})")


def _with_times(trial: Trial, seconds: float) -> Steps:
    """Starts twice. Before the second start, the times of all its files are moved."""
    yield from trial.start()
    yield from trial.player.works("in its first start")
    yield from trial.player.stops(exit_status=None, may_leave=True)
    files = [Path(folder, name) for folder, _, names in os.walk(trial.paths.data_dir) for name in names]
    if not files:
        raise NotApplicableError("it keeps no files in its data folder")
    for file in files:
        then = max(0.0, file.stat().st_mtime + seconds)
        os.utime(file, (then, then))
    yield from trial.start()
    yield from trial.player.works("with files of another time")


@SURROUNDINGS.add(
    "clock-set-back",
    "the clock is set back by ten years between two starts: its files are from the future",
    "It starts with its state, or without it, and answers.",
)
def clock_set_back(trial: Trial) -> Steps:
    yield from _with_times(trial, TEN_YEARS_S)


@SURROUNDINGS.add(
    "clock-set-forward",
    "the clock is set forward between two starts: its files are from 1970",
    "It starts with its state, or without it, and answers.",
)
def clock_set_forward(trial: Trial) -> Steps:
    yield from _with_times(trial, -6 * TEN_YEARS_S)


@SURROUNDINGS.add(
    "times-jump-in-frames",
    "calls whose times jump from 1970 to 2099 and back",
    "It answers each call, whatever its time.",
)
def times_jump_in_frames(trial: Trial) -> Steps:
    trial.needs_answers()
    if not trial.forms.has_times:
        raise NotApplicableError("frames of its protocol have no times")
    yield from trial.start()
    player = trial.player
    for text in TIMES:
        asked = player.packed(trial.forms.with_time(player.question().frame, text))
        player.write(asked.data)
        yield from player.awaits([asked], f"at the time {text}")


@SURROUNDINGS.add(
    "few-descriptors",
    f"a limit of open files, set while it runs: {SPARE} more than it has open; and a storm of calls",
    "It answers each call, if with an error, and keeps no descriptor of a call that is over.",
)
def few_descriptors(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    player = trial.player
    yield from player.works("before its descriptors were limited")
    for pid in player.pids():
        _limit_descriptors(pid)
    for _ in range(2):
        asked = [player.ask() for _ in range(max(SPARE, trial.many))]
        yield from player.awaits(asked, f"with {SPARE} descriptors to spare")


def _limit_descriptors(pid: int) -> None:
    if not hasattr(resource, "prlimit"):
        raise NotApplicableError("this system cannot limit the open files of a running process")
    try:
        highest = max(map(int, os.listdir(f"/proc/{pid}/fd")), default=2)
        hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 1 + SPARE, hard))
    except OSError as error:
        raise NotApplicableError(f"the open files of process {pid} cannot be limited: {error.strerror}") from None


@SURROUNDINGS.add(
    "full-disk",
    "every write to a file fails, as on a full disk (RLIMIT_FSIZE 0, SIGXFSZ ignored)",
    "It gets ready, answers each call, with an error where it has to write, and does not end.",
)
def full_disk(trial: Trial) -> Steps:
    yield from trial.start(launcher=FULL_DISK)
    for _ in range(3):
        yield from trial.player.works("on a full disk")


@SURROUNDINGS.add(
    "no-data-folder",
    "a data folder that cannot be made, as its parent is a file",
    "It gets ready, answers each call, with an error where it needs the folder, and does not end.",
)
def no_data_folder(trial: Trial) -> Steps:
    if trial.subject.found.manifest.dialect != "zot":
        raise NotApplicableError("its protocol does not tell it of a data folder")
    file = Path(trial.paths.cwd, "file")
    file.write_text("no folder\n")
    yield from trial.start(replace(trial.paths, data_dir=str(file / "data")))
    for _ in range(3):
        yield from trial.player.works("without its data folder")


@SURROUNDINGS.add(
    "project-folder-gone",
    "the project's folder is removed while it runs",
    "It answers each call, with an error where it needs the folder, and does not end.",
)
def project_folder_gone(trial: Trial) -> Steps:
    import shutil

    yield from trial.start()
    yield from trial.player.works("in its project")
    shutil.rmtree(trial.paths.cwd)
    yield from trial.player.works("after its project folder was removed")
    if not trial.player.is_running:
        raise NotHeldError("it ended after its project folder was removed")
