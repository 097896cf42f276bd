"""The check of `zot doctor` about past runs: extensions that fell again and again, or whose memory only grew."""

from __future__ import annotations

import shlex
from collections import Counter
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from cli.doctor.host_checks import Check
from supervisor.harness.findings import FindingLevel
from supervisor.traces.trace_reader import read_traces
from wire.text import counted, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from supervisor.traces.trace_reader import RunTrace

MOST = 500
"""Maximum number of runs that are looked at, the newest ones."""
DAYS = 7
KILLS = {"crashed": "crashed", "hung": "hung", "limit": "over its limits", "given_up": "given up"}
"""The kinds of falls that end a process against its will, in words."""
REPEATED = 3
"""Number of such falls from which on there is a finding."""
LEAKY = 2
"""Number of runs with a leak from which on there is a finding."""
SHOWN = 3
"""Maximum number of runs, and of damaged traces, that are named."""


def examine_past_runs(home: Path, now: float) -> Iterator[Check]:
    """The checks of the runs of the last `DAYS` days. `now` is in seconds since the epoch."""
    damaged: list[str] = []
    recent = takewhile(lambda run: now - run.header.time <= DAYS * 86400, read_traces(home, damaged.append))
    try:
        runs = list(islice(recent, MOST))
    except OSError as error:
        yield Check("past runs", FindingLevel.WARN, f"{error.filename}: {error.strerror}", "runs leave no trace there")
        return
    found = list(judge(runs))
    yield from found
    if not found:
        said = f"{counted(len(runs), 'run')} in the last {DAYS} days" if runs else f"none in the last {DAYS} days"
        yield Check("past runs", FindingLevel.OK, f"{said}; no extension fell again and again or leaked")
    if damaged:
        more = f"; and {len(damaged) - SHOWN} more" if len(damaged) > SHOWN else ""
        said = "; ".join(map(printable, damaged[:SHOWN])) + more
        yield Check("past runs", FindingLevel.WARN, said, "remove what is of no use; the others were read")


def judge(runs: Iterable[RunTrace]) -> Iterator[Check]:
    """A finding for each extension that fell again and again, and for each that leaked, the worst first. Pure."""
    kills: dict[str, list[tuple[str, str]]] = {}
    leaks: dict[str, list[str]] = {}
    for run in runs:
        for fall in run.falls:
            if fall.name in KILLS:
                kills.setdefault(fall.extension, []).append((fall.name, run.id))
            elif fall.name == "leak" and run.id not in leaks.setdefault(fall.extension, []):
                leaks[fall.extension].append(run.id)
    for name, falls in sorted(kills.items(), key=lambda each: (-len(each[1]), each[0])):
        if len(falls) >= REPEATED:
            kinds = Counter(kind for kind, _ in falls)
            said = ", ".join(f"{count} {KILLS[kind]}" for kind, count in kinds.most_common())
            message = f"{printable(name)}: {counted(len(falls), 'fall')} in the last {DAYS} days: {said}; {_in(falls)}"
            yield Check("past runs", FindingLevel.WARN, message, _advice(name, kinds), None, name, "falls")
    for name, ids in sorted(leaks.items(), key=lambda each: (-len(each[1]), each[0])):
        if len(ids) >= LEAKY:
            message = f"{printable(name)}: its memory only grew; {_in(('leak', id_) for id_ in ids)}"
            word = shlex.quote(name)
            advice = f"zot ext history {word} has the figures; a limit rss_mb restarts it; zot ext profile {word}"
            yield Check("past runs", FindingLevel.WARN, message, advice, None, name, "leak")


def _in(falls: Iterable[tuple[str, str]]) -> str:
    ids = list(dict.fromkeys(id_ for _, id_ in falls))
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return f"in {counted(len(ids), 'run')}: {', '.join(ids[:SHOWN])}{more}"


def _advice(name: str, kinds: Counter[str]) -> str:
    word = shlex.quote(name)
    advice = f"zot ext history {word} has the causes"
    if kinds["limit"]:
        advice += "; raise its limits, or have it mended"
    if kinds["hung"]:
        advice += f"; zot ext profile {word} shows where it hangs"
    return advice
