"""Finds what a reader should look at first: kinds of trouble, each with its extensions, the worst first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING

from cli.number_format import bytes_text, count_text, duration_text, percent_text, plural
from cli.report.markup import text
from cli.report.page.table import name_text
from cli.report.page.top import findings
from supervisor.accounting.account import growth

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cli.report.input.recorded_run import ExtensionFigures, RecordedRun

CASES = 10
"""The most extensions that are named for a trouble."""
HOG_CPU_S = 1.0
HOG_AGAINST_MEAN = 3.0
HOG_SHARE = 0.05
SLOW_MS = 500.0
SLOW_AGAINST_MEDIAN = 5.0


class Trouble(Enum):
    """A kind of trouble. The kinds are in the order of the page; the value is the heading."""

    GIVEN_UP = "Given up"
    UNWELL = "Not well at the end"
    LIMIT = "Over a limit"
    EXITS = "Ended by themselves"
    ENDED = "Ended by zot"
    NO_VERDICT = "Gave no verdict"
    TIMEOUTS = "Did not answer in time"
    ERRORS = "Calls that failed"
    HOG = "Most of the processor"
    GROWTH = "Memory that only grows"
    SLOW = "Slow answers"
    LOST = "Missed events"
    JUNK = "Junk on stdout"


@dataclass(frozen=True)
class Case:
    """One extension with a trouble. Cases are sorted by `weight`; `said` is the text."""

    extension: str
    weight: float
    said: str


@dataclass(frozen=True)
class RunFinding:
    """One trouble and its cases."""

    trouble: Trouble
    cases: tuple[Case, ...]
    """The cases, the worst first."""


def findings_of(recording: RecordedRun) -> tuple[RunFinding, ...]:
    """A finding for each trouble that at least one extension has."""
    exits = exits_of(recording)
    found: dict[Trouble, list[Case]] = {trouble: [] for trouble in Trouble}
    for extension in recording.figures:
        troubles = chain(_process_troubles(extension, exits[extension.name]), _answer_troubles(extension))
        for trouble, weight, said in troubles:
            found[trouble].append(Case(extension.name, weight, said))
        track = recording.tracks.get(extension.name)
        if track is not None and (grown := growth(track.rss_bytes)):
            said = f"{bytes_text(grown[0])} to {bytes_text(grown[1])}"
            found[Trouble.GROWTH].append(Case(extension.name, grown[1] - grown[0], said))
    found[Trouble.HOG] += _hogs(recording.figures)
    found[Trouble.SLOW] += _slow(recording.figures)
    return tuple(
        RunFinding(trouble, tuple(sorted(cases, key=lambda case: (-case.weight, case.extension))))
        for trouble, cases in found.items()
        if cases
    )


def _process_troubles(extension: ExtensionFigures, exits: int) -> Iterator[tuple[Trouble, float, str]]:
    """Trouble, weight and text of its processes, from the figures of one extension."""
    if extension.state == "failed":
        yield Trouble.GIVEN_UP, max(exits, extension.restarts), extension.failure
    elif extension.failure:
        yield Trouble.UNWELL, 1.0, extension.failure
    if exits and extension.state != "failed":
        again = f", {extension.restarts} restarted" if extension.restarts else ""
        yield Trouble.EXITS, max(exits, extension.restarts), plural(exits, "time") + again
    if (ended := (extension.exits_by_host or 0) - (extension.limit_breaches or 0)) > 0:
        yield Trouble.ENDED, ended, plural(ended, "time")
    if extension.limit_breaches:
        yield Trouble.LIMIT, extension.limit_breaches, plural(extension.limit_breaches, "time")
    if extension.leak:
        yield Trouble.GROWTH, 1.0, extension.leak.removeprefix("leak: ")


def _answer_troubles(extension: ExtensionFigures) -> Iterator[tuple[Trouble, float, str]]:
    """Trouble, weight and text of what it answered and sent."""
    if extension.no_verdicts:
        yield Trouble.NO_VERDICT, extension.no_verdicts, plural(extension.no_verdicts, "time")
    if extension.timeouts:
        yield Trouble.TIMEOUTS, extension.timeouts, _of_calls(extension.timeouts, extension.calls)
    if extension.errors:
        yield Trouble.ERRORS, extension.errors, _of_calls(extension.errors, extension.calls)
    if extension.lost:
        yield Trouble.LOST, extension.lost, count_text(extension.lost)
    if extension.junk_lines:
        yield Trouble.JUNK, extension.junk_lines, plural(extension.junk_lines, "line")


def _of_calls(count: int, calls: int) -> str:
    return f"{count_text(count)} of {count_text(calls)}" if calls >= count else count_text(count)


def _hogs(figures: Iterable[ExtensionFigures]) -> Iterator[Case]:
    held = list(figures)
    total = sum(extension.cpu_s for extension in held)
    least = max(HOG_CPU_S, HOG_SHARE * total, HOG_AGAINST_MEAN * total / max(1, len(held)))
    for extension in held:
        if len(held) > 1 and extension.cpu_s > least:
            yield Case(extension.name, extension.cpu_s, percent_text(round(100 * extension.cpu_s / total)))


def _slow(figures: Iterable[ExtensionFigures]) -> Iterator[Case]:
    p99s = {extension.name: extension.p99_ms for extension in figures if extension.p99_ms is not None}
    usual = median(p99s.values()) if p99s else 0.0
    for name, p99 in p99s.items():
        if p99 > SLOW_MS and (p99 > SLOW_AGAINST_MEDIAN * usual or len(p99s) == 1):
            yield Case(name, p99, f"p99 {duration_text(p99)}")


def exits_of(recording: RecordedRun) -> Counter[str]:
    """How many processes of each extension ended by themselves: neither was that asked for, nor did the host decide on
    it. Recordings of older versions do not count them: what happened on the timeline is counted then."""
    exits = Counter(happening.extension for happening in recording.happenings if happening.kind == "exited")
    for extension in recording.figures:
        if extension.unexpected_exits is not None:
            by_host = extension.limit_breaches if extension.exits_by_host is None else extension.exits_by_host
            exits[extension.name] = max(0, extension.unexpected_exits - (by_host or 0))
    return exits


def findings_section(recording: RecordedRun, ids: dict[str, str]) -> str:
    """The section with all findings, which links to the rows of the extensions. `ids` has the ids of the rows."""
    rows = [
        (
            f"{finding.trouble.value} <small>{len(finding.cases)}</small>",
            _cases(finding, ids),
            finding.trouble is Trouble.GIVEN_UP,
        )
        for finding in findings_of(recording)
    ]
    return findings("Look at these first", rows, _calm(recording))


def _calm(recording: RecordedRun) -> str:
    """The text without findings."""
    if not recording.is_counted:
        return "No fall of an extension is told. Nothing else is known: the recording has no figures."
    if not recording.figures:
        return "There were no extensions."
    return "Nothing stands out: no exits, errors, timeouts, limits or unusual use."


def _cases(finding: RunFinding, ids: dict[str, str]) -> str:
    """The extensions of a finding. Extensions with the same text are listed together, with the text once."""
    groups: dict[str, list[str]] = {}
    for case in finding.cases[:CASES]:
        groups.setdefault(case.said, []).append(name_text(case.extension, f"#{ids[case.extension]}"))
    shown = "".join(
        f"<span>{', '.join(links)}{f' <em>{text(said, 160)}</em>' if said else ''}</span>"
        for said, links in groups.items()
    )
    more = len(finding.cases) - CASES
    return shown + (f"<span><em>and {more} more</em></span>" if more > 0 else "")
