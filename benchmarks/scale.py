"""Hosts with up to 300 extensions: how long it takes to start and stop them, and what it costs to have them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from benchmarks.claims import Claims
from benchmarks.report import Report, Table, parse
from benchmarks.scale_host import Figures
from benchmarks.workshop import ROOT
from supervisor.monitoring.sampler import SHARE

if TYPE_CHECKING:
    from collections.abc import Sequence

LANGUAGES = ("sh", "Python")
PATIENCE_S = 180.0


class Effort(NamedTuple):
    counts: tuple[int, ...]
    rounds: int
    """Number of starts and stops. Host and peer take turns."""
    young_s: float
    idle_s: float
    """Seconds of the measurement while idle; 0 for none. An extension is idle when it has sent nothing for ten
    seconds."""


FULL = Effort((1, 10, 100, 300), 3, 5.0, 10.0)
QUICK = Effort((1, 10), 1, 0.2, 0.0)


@dataclass(frozen=True)
class Row:
    language: str
    count: int
    zot: Sequence[Figures]
    """One result for each round. Only the first round was held."""
    plain: Sequence[Figures]

    @property
    def name(self) -> str:
        return f"{self.language:<6} {self.count:>3}"


def run(kind: str, language: str, count: int, young_s: float = 0.0, idle_s: float = 0.0) -> Figures:
    words = [kind, language, str(count), str(young_s), str(idle_s)]
    argv = [sys.executable, "-m", "benchmarks.scale_host", *words]
    done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, timeout=PATIENCE_S, check=True)
    return msgspec.json.decode(done.stdout, type=Figures)


def rows(report: Report, effort: Effort) -> list[Row]:
    found = []
    for language in LANGUAGES:
        for count in effort.counts:
            report.progress(f"{count} in {language}")
            zot, plain = [], []
            for number in range(effort.rounds):
                held = (effort.young_s, effort.idle_s) if number == 0 else (0.0, 0.0)
                zot.append(run("zot", language, count, *held))
                plain.append(run("plain", language, count))
            found.append(Row(language, count, zot, plain))
    return found


def times(found: Sequence[Row]) -> Table:
    columns = ("", "ready ms", "plain ms", "of plain", "stop ms", "plain ms", "of plain")
    table = Table("start of all until the last is ready, and stop of all", columns)
    for row in found:
        cells: list[float] = []
        for name in ("ready_s", "stop_s"):
            ours, theirs = ([getattr(figures, name) * 1000 for figures in those] for those in (row.zot, row.plain))
            ratio = median(mine / peer for mine, peer in zip(ours, theirs, strict=True))
            cells += [median(ours), median(theirs), ratio]
        table.add(row.name, *cells)
    return table


def sizes(found: Sequence[Row]) -> Table:
    """Makes the table of memory and descriptors. The first extension of a language loads modules that the others
    share."""
    columns = ("", "host grew MiB", "KiB each more", "descriptors", "plain grew MiB", "KiB each more", "descriptors")
    table = Table("what the host needs for them; each more: than in the first row of that language", columns)
    first: dict[str, Row] = {}
    for row in found:
        least = first.setdefault(row.language, row)
        cells: list[float | None] = []
        for now, before in ((row.zot, least.zot), (row.plain, least.plain)):
            grown, at_first = (median(figures.rss for figures in those) for those in (now, before))
            more = row.count - least.count
            each = (grown - at_first) / 1024 / more if more else None
            cells += [grown / 2**20, each, median(figures.files for figures in now)]
        table.add(row.name, *cells)
    return table


def holds(found: Sequence[Row], when: str) -> Table:
    columns = (
        "",
        "% of a core",
        "of that sampling",
        "samples/s",
        "ms each",
        "µs per extension and s",
        "other wake-ups",
    )
    table = Table(f"the host, all {when} and silent", columns)
    for row in found:
        hold = getattr(row.zot[0], when)
        if hold is not None:
            each = hold.sampling_cpu_s / hold.samples * 1000
            per_extension = hold.cpu_s / hold.seconds / row.count * 1e6
            cells = (hold.cpu_percent, hold.sampling_percent, hold.samples / hold.seconds, each, per_extension)
            table.add(row.name, *cells, hold.wakeups)
    return table


def claims(found: Sequence[Row]) -> Claims:
    claimed = Claims()
    for when in ("young", "idle"):
        all_holds = [(row, getattr(row.zot[0], when)) for row in found]
        held = [(row, hold) for row, hold in all_holds if hold is not None]
        if held:
            row, worst = max(held, key=lambda item: item[1].sampling_percent)
            share = f"{worst.sampling_percent:.2f} % with {row.count} in {row.language}"
            limit = SHARE * 100
            claimed.add(
                f"sampling takes {limit:g} % of a core at most, all {when}", share, worst.sampling_percent <= limit
            )
            wakeups = sum(hold.wakeups for _, hold in held)
            judged = None if when == "young" else wakeups == 0
            claimed.add(f"no wake-ups but for samples, all {when}", f"{wakeups}", judged)
    return claimed


def main(argv: list[str] | None = None) -> int:
    options = parse(Path(__file__).stem, __doc__ or "", argv)
    report = Report(Path(__file__).stem, options)
    effort = QUICK if options.quick else FULL
    found = rows(report, effort)
    report.show(times(found))
    report.show(sizes(found))
    report.show(holds(found, "young"))
    if effort.idle_s:
        report.show(holds(found, "idle"))
    claimed = claims(found)
    report.show(claimed.table)
    report.finish()
    return claimed.exit_code


if __name__ == "__main__":
    sys.exit(main())
