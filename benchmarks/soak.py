"""Asks many extensions, some hostile, tens of thousands of times, kills some meanwhile, and checks claims."""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import vitals
from benchmarks.cast import Cast, Schedule, echo, friends, hostile, names
from benchmarks.hosts import Blocking
from benchmarks.ledger import Ledger
from benchmarks.load import Load
from benchmarks.report import Report
from benchmarks.soak_claims import SoakResult, tell
from benchmarks.workshop import SETTLE_S, Workshop
from supervisor.discovery.environment import child_environment
from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.loop import Loop
from supervisor.supervisor import Supervisor
from wire.dialects.base import HostInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.extension import Extension
    from supervisor.extension.notices import NoticeKind

LONGEST_S = 180
MARGIN_S, MARGIN_EACH_S = 4.0, 0.06
"""Seconds of the whole time for the start, the stop and the last calls: a fixed part, and a part for each extension."""
HOSTILE_START_S = 0.05
LAST_CALLS_S = 5.0
WAITED_SHARE = 0.35
"""Share of all calls that are waited for. The loop begins the others in a callback."""
TICK_S = 0.005
LOOKS = 40
"""Number of looks at the memory of the host in each cycle."""
KILLS_PER_S = 1.0
KILLED_FRIENDS_SHARE = 0.8
OVERDUE_S = 30
"""Seconds. A run that takes longer than `--seconds` by more than this prints its stack and ends."""


@dataclass(frozen=True)
class Size:
    """The size of a soak: seconds of the whole run, extensions, how many of them are hostile, and calls in storms."""

    seconds: float
    extensions: int
    hostile: int
    calls: int


FULL = Size(150, 100, 20, 50_000)
QUICK = Size(20, 20, 4, 3_000)
SLACK_S, QUICK_SLACK_S = 1.0, 10.0
"""Seconds by which a call may end after its deadline. A quick run does not judge times."""


class Soak:
    """Runs one soak: starts the extensions, makes the calls, kills workers, and collects the result."""

    def __init__(self, workshop: Workshop, report: Report, size: Size, *, seed: int, slack_s: float) -> None:
        self._report = report
        self._size = size
        self._seed = seed
        self._dice = random.Random(seed)
        self._files_before = vitals.look(0.0).files
        self._schedule = Schedule.within(size.seconds - MARGIN_S - MARGIN_EACH_S * size.extensions)
        self._rate = 1.005 * size.calls / self._schedule.stormy_s
        self._loop = Loop()
        self._notices: Counter[str] = Counter()
        self._supervisor = Supervisor(
            self._loop,
            host=HostInfo("0", "replay", "none", str(workshop.folder)),
            logs=workshop.folder / "logs",
            runtime_folder=workshop.folder / "run",
            owns_process=True,
            on_notice=self._noticed,
        )
        self._bare = Blocking(echo(workshop, "bare"))
        self._loop.children |= vitals.children()  # the loop then does not take the bare echo for an orphan
        self._cast = Cast(friends(workshop, size.extensions - size.hostile), ())
        self._workshop = workshop
        # Room for the calls of quiet and storm, and for 1000 more, since the rate is not kept exactly.
        self._ledger = Ledger(int(self._rate * self._schedule.length_s * 1.05) + 1000, slack_s)
        self._pids: set[int] = set()
        self._looks: list[vitals.Vitals] = []
        self._calm: list[vitals.Vitals] = []
        """One look at the end of each quiet stretch."""
        self._calmed = -1
        """The cycle of the last look in `_calm`."""
        self._killed: Counter[str] = Counter()
        self._revived = 0
        self._was_storm = False

    # --- the run ------------------------------------------------------------------------------------------------

    def run(self) -> SoakResult:
        supervisor, loop = self._supervisor, self._loop
        try:
            self._start()
            self._load = Load(
                supervisor, self._ledger, self._schedule, friends=names(self._cast.friends), began=self._began,
                dice=self._dice, bare=self._bare,
            )  # fmt: skip
            self._tick()
            self._look()
            self._ask_until_the_end()
        finally:
            self._stop()
        loop.run_until(lambda: self._ledger.all_ended, loop.clock() + LAST_CALLS_S)
        loop.close()
        gc.collect()
        return SoakResult(
            wanted_calls=self._size.calls,
            seed=self._seed,
            schedule=self._schedule,
            hostile=names(self._cast.hostile),
            accounts=[extension.account for extension in supervisor.extensions],
            ledger=self._ledger,
            load=self._load,
            killed=self._killed,
            revived=self._revived,
            notices=self._notices,
            open_at_stop=self._open_at_stop,
            stop_s=self._stop_s,
            files_before=self._files_before,
            files_after=vitals.look(0.0).files,
            looks=self._looks,
            calm=self._calm,
            left=vitals.left_behind(supervisor.token, self._pids),
        )

    def _start(self) -> None:
        """Starts the hostile extensions last: their command line names the time at which the run begins."""
        self._start_some(self._cast.friends)
        self._began = self._loop.clock() + 1.0 + HOSTILE_START_S * self._size.hostile
        self._cast = self._cast.against(
            hostile(self._workshop, self._size.hostile, seed=self._seed, began=self._began, schedule=self._schedule)
        )
        self._start_some(self._cast.hostile)
        self._loop.run_until(lambda: False, self._began)

    def _start_some(self, found: Sequence[FoundExtension]) -> None:
        began = self._loop.clock()
        self._supervisor.start(found, child_environment())
        extensions = self._supervisor.extensions
        self._loop.run_until(lambda: all(extension.was_ready for extension in extensions), began + SETTLE_S)
        late = [extension.name for extension in extensions if not extension.was_ready]
        if late:
            raise RuntimeError(f"not ready within {SETTLE_S:g} s: {', '.join(late)}")
        self._report.progress(f"{len(found)} ready after {self._loop.clock() - began:.1f} s")

    @property
    def _elapsed(self) -> float:
        return self._loop.clock() - self._began

    def _ask_until_the_end(self) -> None:
        end = self._began + self._schedule.length_s
        rate = self._rate * WAITED_SHARE
        while (now := self._loop.clock()) < end:
            if self._load.waited < rate * (now - self._began) and not self._ledger.is_full:
                self._load.wait()
            else:
                self._loop.run_until(lambda: False, min(end, self._began + (self._load.waited + 1) / rate))

    def _tick(self) -> None:
        """Does the due work in the loop: begins calls, kills workers, restarts extensions, looks at the host."""
        if self._supervisor.closed:
            return
        elapsed = self._elapsed
        due = self._rate * (1 - WAITED_SHARE) * min(elapsed, self._schedule.length_s)
        for _ in range(min(50, int(due) - self._load.not_waited)):
            if not self._ledger.is_full:
                self._load.begin()
        self._pids |= self._loop.children
        storms = self._schedule.is_storm(elapsed)
        if storms and self._killed.total() < KILLS_PER_S * elapsed * self._schedule.storm_s / self._schedule.cycle_s:
            self._kill()
        if not storms and self._was_storm:
            self._revive()
        self._was_storm = storms
        if self._schedule.is_calm(elapsed) and self._calmed < self._schedule.cycle(elapsed):
            self._calmed = self._schedule.cycle(elapsed)
            self._calm.append(vitals.look(elapsed, thorough=True))
        self._loop.call_later(TICK_S, self._tick)

    def _kill(self) -> None:
        """Kills one running worker, as the kernel does when memory runs out."""
        among = self._cast.friends if self._dice.random() < KILLED_FRIENDS_SHARE else self._cast.hostile
        extension = self._supervisor.find(self._dice.choice(among).manifest.name)
        running = [worker for worker in extension.workers if worker.is_running]
        if running:
            os.kill(self._dice.choice(running).pid or 0, signal.SIGKILL)
            self._killed["friends" if among is self._cast.friends else "hostile"] += 1

    def _revive(self) -> None:
        """Restarts, as a user would, the extensions that the supervisor gave up."""
        for extension in self._supervisor.extensions:
            if extension.state is WorkerState.FAILED:
                self._supervisor.restart(extension.name)
                self._revived += 1

    def _look(self) -> None:
        if self._supervisor.closed:
            return
        self._looks.append(vitals.look(self._elapsed))
        self._loop.call_later(self._schedule.cycle_s / LOOKS, self._look)

    def _stop(self) -> None:
        self._open_at_stop = self._ledger.begun - self._ledger.ended
        self._bare.close()
        began = self._loop.clock()
        self._supervisor.stop()
        self._stop_s = self._loop.clock() - began

    def _noticed(self, _extension: Extension, kind: NoticeKind, _message: str) -> None:
        self._notices[kind] += 1


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 s, 20 extensions; times are shown, not judged")
    parser.add_argument("--seconds", type=float, metavar="N", help=f"of the whole run, at most {LONGEST_S}")
    parser.add_argument("--extensions", type=int, metavar="N", help=f"{FULL.extensions} if not said")
    parser.add_argument("--hostile", type=int, metavar="N", help=f"of these; {FULL.hostile} if not said")
    parser.add_argument("--calls", type=int, metavar="N", help=f"while it storms; {FULL.calls} if not said")
    parser.add_argument("--seed", type=int, default=0, help="of the faults, the calls and the kills")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the raw figures there")
    options = parser.parse_args(argv)
    usual = QUICK if options.quick else FULL
    for name in ("seconds", "extensions", "hostile", "calls"):
        if getattr(options, name) is None:
            setattr(options, name, getattr(usual, name))
    if not 18 <= options.seconds <= LONGEST_S:
        parser.error(f"--seconds must be from 18 to {LONGEST_S}, not {options.seconds:g}")
    if options.hostile < 4 or options.extensions - options.hostile < 11:
        parser.error("it takes 4 hostile ones and 11 others at least")
    return options


def main(argv: list[str] | None = None) -> int:
    options = parse(argv)
    report = Report("soak", options)
    faulthandler.dump_traceback_later(options.seconds + OVERDUE_S, exit=True)
    began = time.monotonic()
    size = Size(options.seconds, options.extensions, options.hostile, options.calls)
    with Workshop() as workshop:
        slack_s = QUICK_SLACK_S if options.quick else SLACK_S
        result = Soak(workshop, report, size, seed=options.seed, slack_s=slack_s).run()
    claims = tell(result, report, judge_time=not options.quick)
    report.note(f"seed {options.seed}, {time.monotonic() - began:.0f} s")
    report.finish()
    faulthandler.cancel_dump_traceback_later()
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
