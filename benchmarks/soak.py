"""Many extensions, some of them hostile, asked tens of thousands of times while others are killed: what must hold."""

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
from benchmarks.claims import Claims
from benchmarks.hosts import Blocking
from benchmarks.ledger import Ledger
from benchmarks.load import BARE, KINDS, Load
from benchmarks.report import Report, Table
from benchmarks.samples import percentiles
from benchmarks.workshop import SETTLE_S, Workshop
from supervisor.environment import child_environment
from supervisor.lifecycle import State
from supervisor.loop import Loop
from supervisor.supervisor import Supervisor
from wire.dialect import HostInfo

if TYPE_CHECKING:
    from supervisor.extension import Extension, Kind

LONGEST_S = 180
MARGIN_S, MARGIN_EACH_S = 4.0, 0.06
"""Of the whole time, and for each extension: for the start, the end, and the calls that are still open then."""
LAST_CALLS_S = 5.0
WAITED_SHARE = 0.35
"""Of all calls; the others are begun from within the loop, whatever it is doing."""
TICK_S = 0.005
LOOKS = 40
"""At the host, in each cycle."""
KILLS_PER_S = 1.0
KILLED_FRIENDS_SHARE = 0.8
OVERDUE_S = 30
"""A run that takes so much longer than it may shows where it hangs, and ends."""
RSS_GROWTH, RSS_GROWTH_BYTES = 0.10, 5 * 2**20
"""The host may grow by the larger of the two, from the second quarter of the storms to the last."""
FILES_PER_PROCESS = 6
SLOWER = 3.0
"""How much slower those that do well may answer in a storm, at p99."""


@dataclass(frozen=True)
class Size:
    seconds: float
    extensions: int
    hostile: int
    calls: int


FULL = Size(150, 100, 20, 50_000)
QUICK = Size(20, 20, 4, 3_000)


class Soak:
    def __init__(self, workshop: Workshop, report: Report, size: Size, seed: int) -> None:
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
        self._loop.children |= vitals.children()  # it is in our care, and nobody's orphan
        well = friends(workshop, size.extensions - size.hostile)
        self._began = self._loop.clock() + 0.15 * size.hostile  # the start itself is quiet, for all
        bad = hostile(
            workshop, size.hostile, seed=seed, began=self._began, schedule=self._schedule, position=len(well)
        )  # fmt: skip
        self._cast = Cast(well, bad)
        # Calls of quiet and of storm, and some for the moments that no rate foresees.
        self.ledger = Ledger(int(self._rate * self._schedule.length_s * 1.05) + 1000)
        self._pids: set[int] = set()
        self.looks: list[vitals.Vitals] = []
        self.calm: list[vitals.Vitals] = []
        """At the end of each quiet stretch."""
        self.killed: Counter[str] = Counter()
        self.revived = 0
        self._was_storm = False
        self.left: list[str] = []

    # --- the run ------------------------------------------------------------------------------------------------

    def run(self) -> None:
        supervisor, loop = self._supervisor, self._loop
        try:
            self._start()
            self.load = Load(
                supervisor, self.ledger, self._schedule, friends=names(self._cast.friends), began=self._began,
                dice=self._dice, bare=self._bare,
            )  # fmt: skip
            self._tick()
            self._look()
            self._ask_until_the_end()
        finally:
            self._stop()
        loop.run_until(lambda: self.ledger.all_ended, loop.clock() + LAST_CALLS_S)
        loop.close()
        gc.collect()
        self.files_after = vitals.look(0.0).files
        self.left = vitals.left_behind(supervisor.token, self._pids)

    def _start(self) -> None:
        began = self._loop.clock()
        self._supervisor.start(self._cast.everyone, child_environment())
        everyone = self._supervisor.extensions
        self._loop.run_until(lambda: all(one.was_ready for one in everyone), began + SETTLE_S)
        late = [one.name for one in self._supervisor.extensions if not one.was_ready]
        if late:
            raise RuntimeError(f"not ready within {SETTLE_S:g} s: {', '.join(late)}")
        self._report.progress(f"{len(self._supervisor.extensions)} ready after {self._loop.clock() - began:.1f} s")
        self._loop.run_until(lambda: False, self._began)

    @property
    def _elapsed(self) -> float:
        return self._loop.clock() - self._began

    def _ask_until_the_end(self) -> None:
        end = self._began + self._schedule.length_s
        rate = self._rate * WAITED_SHARE
        while (now := self._loop.clock()) < end:
            if self.load.waited < rate * (now - self._began) and not self.ledger.is_full:
                self.load.wait()
            else:
                self._loop.run_until(lambda: False, min(end, self._began + (self.load.waited + 1) / rate))

    def _tick(self) -> None:
        """Everything that is done from within the loop, while it goes on."""
        if self._supervisor.closed:
            return
        elapsed = self._elapsed
        due = self._rate * (1 - WAITED_SHARE) * min(elapsed, self._schedule.length_s)
        for _ in range(min(50, int(due) - self.load.not_waited)):
            if not self.ledger.is_full:
                self.load.begin()
        self._pids |= self._loop.children
        storms = self._schedule.is_storm(elapsed)
        if storms and self.killed.total() < KILLS_PER_S * elapsed * self._schedule.storm_s / self._schedule.cycle_s:
            self._kill()
        if not storms and self._was_storm:
            self._revive()
        self._was_storm = storms
        if self._schedule.is_calm(elapsed) and len(self.calm) == self._schedule.cycle(elapsed):
            self.calm.append(vitals.look(elapsed, thorough=True))
        self._loop.call_later(TICK_S, self._tick)

    def _kill(self) -> None:
        """A process of somebody who runs, as the kernel would when memory runs out."""
        among = self._cast.friends if self._dice.random() < KILLED_FRIENDS_SHARE else self._cast.hostile
        extension = self._supervisor.find(self._dice.choice(among).manifest.name)
        running = [worker for worker in extension.workers if worker.is_running]
        if running:
            os.kill(self._dice.choice(running).pid or 0, signal.SIGKILL)
            self.killed["friends" if among is self._cast.friends else "hostile"] += 1

    def _revive(self) -> None:
        """What a user does who sees that one has been given up."""
        for extension in self._supervisor.extensions:
            if extension.state is State.FAILED:
                self._supervisor.restart(extension.name)
                self.revived += 1

    def _look(self) -> None:
        if self._supervisor.closed:
            return
        self.looks.append(vitals.look(self._elapsed))
        self._loop.call_later(self._schedule.cycle_s / LOOKS, self._look)

    def _stop(self) -> None:
        self.open_at_stop = self.ledger.begun - self.ledger.ended
        self._bare.close()
        began = self._loop.clock()
        self._supervisor.stop()
        self.stop_s = self._loop.clock() - began

    def _noticed(self, _extension: Extension, kind: Kind, _message: str) -> None:
        self._notices[kind] += 1

    # --- what came of it ----------------------------------------------------------------------------------------

    def tell(self, *, judge_time: bool) -> Claims:
        self._tell_of_faults()
        self._report.show(self._latencies())
        claims = Claims()
        self._judge_calls(claims)
        self._judge_host(claims)
        for kind in KINDS:
            ratio = self._slower(kind)
            claims.add(
                f"{kind}: p99 of those that do well within {SLOWER:g} x of quiet",
                "no samples" if ratio is None else f"{ratio:.2f} x",
                None if not judge_time else ratio is not None and ratio <= SLOWER,
            )
        self._report.show(claims.table)
        return claims

    def _tell_of_faults(self) -> None:
        accounts = [one.account for one in self._supervisor.extensions]
        table = Table("what happened", ("", "count"))
        faults = [fault for one in names(self._cast.hostile) for fault in self._schedule.faults(one, self._seed)]
        table.add(f"changes of fault, of {len(set(faults))} kinds", len(faults))
        for outcome, count in self.ledger.outcomes.items():
            table.add(f"calls {outcome.value}", count)
        for who, count in sorted(self.killed.items()):
            table.add(f"SIGKILL to {who}", count)
        for name in ("exits", "restarts", "limit_breaches", "junk_lines", "notes_dropped", "frames_in"):
            table.add(name.replace("_", " "), sum(getattr(one, name) for one in accounts))
        table.add("MB said by extensions", round(sum(one.bytes_in for one in accounts) / 1e6))
        table.add("started again by hand", self.revived)
        for kind, count in sorted(self._notices.items()):
            table.add(f"notices: {kind.replace('_', ' ')}", count)
        table.add("most processes of one extension", max(one.processes_peak for one in accounts))
        self._report.show(table)

    def _latencies(self) -> Table:
        columns = ("", "quiet p50 µs", "quiet p99 µs", "storm p50 µs", "storm p99 µs", "p99 storm / quiet", "samples")
        table = Table("answers of those that do well", columns)
        for kind in (*KINDS, BARE):
            quiet, storm = self.load.samples[kind, "quiet"], self.load.samples[kind, "storm"]
            if quiet and storm:
                a, b = percentiles(quiet), percentiles(storm)
                table.add(kind, a[0], a[2], b[0], b[2], b[2] / a[2], len(quiet) + len(storm))
        return table

    def _slower(self, kind: str) -> float | None:
        quiet, storm = self.load.samples[kind, "quiet"], self.load.samples[kind, "storm"]
        return percentiles(storm)[2] / percentiles(quiet)[2] if quiet and storm else None

    def _judge_calls(self, claims: Claims) -> None:
        ledger, load = self.ledger, self.load
        claims.add(f"{self._size.calls:,} calls in storms", f"{load.stormy:,}", load.stormy >= self._size.calls)
        faults = ledger.faults()
        for fault in faults:
            self._report.note(f"a call {fault}")
        found = f"{ledger.ended:,} of {ledger.begun:,}, {self.open_at_stop} open at the stop"
        claims.add("every call ends exactly once, in time, with a reason", found, not faults)
        claims.add("latest end after a deadline", f"{ledger.worst_overrun_s * 1000:.0f} ms", None)
        failed = ", ".join(f"{why} {count}" for why, count in sorted(load.friends_failed.items()))
        only_died = not set(load.friends_failed) - {"died"}
        claims.add("those that do well fail only where they die", failed or "none failed", only_died)
        booked = sum(one.account.calls for one in self._supervisor.extensions)
        fewest = load.asks - load.cancelled_asks
        most = load.asks + self.killed.total()  # a call that a kill cut short may have been made again by a pool
        found = f"{booked:,} of {load.asks:,}"
        claims.add("the accounts have every request", found, fewest <= booked <= most)
        timeouts = sum(one.account.timeouts for one in self._supervisor.extensions)
        claims.add("the accounts have every timeout", f"{timeouts:,} of {load.timeouts:,}", timeouts == load.timeouts)

    def _judge_host(self, claims: Claims) -> None:
        for line in self.left:
            self._report.note(f"left behind: {line}")
        found = f"{len(self.left)}; stopped in {self.stop_s:.2f} s"
        claims.add("no process is left", found, not self.left)
        before, after = self._files_before, self.files_after
        claims.add("as many descriptors after as before", f"{before} and {after}", before == after)
        stormy = [one for one in self.looks if self._schedule.is_storm(one.at)]
        first, last = (one.files - FILES_PER_PROCESS * one.processes for one in (self.calm[0], self.calm[-1]))
        found = f"{last - first:+} besides those of the processes"
        claims.add("no more descriptors after the last storm but one than before the first", found, last - first <= 5)
        early, late = vitals.quarters([one.rss for one in stormy])
        allowed = max(RSS_GROWTH * early, RSS_GROWTH_BYTES)
        found = f"{early / 2**20:.1f} and {late / 2**20:.1f} MiB"
        claims.add("the host does not grow from the second quarter to the last", found, late - early <= allowed)
        first, last = self.calm[0].processes, self.calm[-1].processes
        claims.add("the same for processes", f"{first} and {last}", None)


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
        soak = Soak(workshop, report, size, options.seed)
        soak.run()
    claims = soak.tell(judge_time=not options.quick)
    report.note(f"seed {options.seed}, {time.monotonic() - began:.0f} s")
    report.finish()
    faulthandler.cancel_dump_traceback_later()
    return claims.exit_code


if __name__ == "__main__":
    sys.exit(main())
