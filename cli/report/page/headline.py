"""The top of the page: what ran, the most important figures, and the findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.number_format import bytes_text, count_text, duration_text, elapsed, percent_text, plural, short
from cli.report.markup import name, text
from cli.report.page.findings import Finding, Trouble, exits_of
from cli.report.reading.recording import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cli.report.charts.series import Series
    from cli.report.reading.recording import RecordedRun


CASES = 10
"""The most extensions that are named for a trouble."""
IN_CLIENT = "in the client program"


@dataclass(frozen=True)
class Tile:
    """One figure at the top of the page; `said` is the text below it."""

    label: str
    value: str
    said: str = ""
    is_bad: bool = False
    style: str = "bad"
    """How a bad tile looks: `bad`, or `warn` if only the text below the value is bad."""


def tiles(recording: RecordedRun, series: Series | None) -> tuple[Tile, ...]:
    figures = recording.figures
    calls = sum(extension.calls for extension in figures)
    errors = sum(extension.errors for extension in figures)
    timeouts = sum(extension.timeouts for extension in figures)
    restarts = sum(extension.restarts for extension in figures)
    exits = sum(exits_of(recording).values())
    failed = sum(extension.state == "failed" for extension in figures)
    cpu_s = sum(extension.cpu_s for extension in figures)
    slowest = max(
        (extension for extension in figures if extension.p99_ms is not None),
        key=lambda extension: extension.p99_ms or 0.0,
        default=None,
    )
    seconds = recording.duration_s
    return (
        Tile("Duration", "not known" if seconds is None else elapsed(seconds), _samples(recording)),
        Tile(
            "Extensions",
            count_text(len(figures)),
            f"{failed} given up" if failed else "none given up",
            failed > 0,
            "warn",
        ),
        Tile("Calls", count_text(calls), f"{short(calls / seconds)} per second" if seconds and calls else ""),
        Tile(
            "Errors",
            count_text(errors),
            plural(timeouts, "timeout")
            + (f", {percent_text(100 * errors / calls)} of calls" if errors and calls else ""),
            errors + timeouts > 0,
        ),
        Tile("Restarts", count_text(restarts), _ended(exits), restarts + exits > 0, "bad" if restarts else "warn"),
        _memory(recording, series),
        Tile("CPU time", "-", IN_CLIENT)
        if figures and all(extension.in_client for extension in figures)
        else Tile(
            "CPU time",
            f"{short(cpu_s)} s" if cpu_s < 60 else elapsed(cpu_s),
            f"{percent_text(100 * cpu_s / seconds)} of one core" if seconds else "",
        ),
        Tile(
            "Slowest p99",
            duration_text(slowest.p99_ms) if slowest else "-",
            slowest.name if slowest else "no answers",
        ),
    )


def _samples(recording: RecordedRun) -> str:
    if recording.source is Source.EVENTS:
        return "from a run's events"
    return plural(len(recording.times), "sample")


def _ended(exits: int) -> str:
    if exits == 0:
        return "nothing ended by itself"
    return "1 ended by itself" if exits == 1 else f"{count_text(exits)} ended by themselves"


def _memory(recording: RecordedRun, series: Series | None) -> Tile:
    measured = [extension for extension in recording.figures if not extension.in_client]
    largest = max(measured, key=lambda extension: extension.rss_peak_bytes, default=None)
    if largest is None:
        return Tile("Peak RSS", "-", IN_CLIENT if recording.figures else "no extensions")
    own = bytes_text(largest.rss_peak_bytes)
    if series is None:
        return Tile("Largest peak RSS", own, largest.name)
    return Tile("Peak RSS, all", bytes_text(series.peak_rss_bytes), f"{own}: {largest.name}")


def headline(recording: RecordedRun, series: Series | None, findings: Sequence[Finding], ids: dict[str, str]) -> str:
    shown = top(recording.title, recording.facts, recording.notes, tiles(recording, series))
    return shown + _findings(recording, findings, ids)


def top(title: str, facts: Iterable[tuple[str, str]], notes: Iterable[str], figures: Iterable[Tile]) -> str:
    """Title, facts, notes and tiles of a page."""
    told = "".join(f"<div><dt>{text(label)}</dt><dd>{text(value)}</dd></div>" for label, value in facts)
    listed = "".join(f"<li>{coded(text(note))}</li>" for note in notes)
    shown = "".join(
        f'<div class="tile{f" {tile.style}" if tile.is_bad else ""}"><dt>{text(tile.label)}</dt>'
        f"<dd>{text(tile.value)}</dd>"
        f'<small title="{text(tile.said)}">{text(tile.said, 80)}</small></div>'
        for tile in figures
    )
    return (
        f'<header><h1>{text(title)}</h1><dl class="facts">{told}</dl></header>'
        + (f'<ul class="notes" role="note">{listed}</ul>' if listed else "")
        + (f'<dl class="tiles">{shown}</dl>' if shown else "")
    )


def coded(escaped: str) -> str:
    """Turns backquotes into `<code>` elements: notes have commands between backquotes."""
    parts = escaped.split("`")
    if len(parts) % 2 == 0:
        return escaped
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def _findings(recording: RecordedRun, findings: Sequence[Finding], ids: dict[str, str]) -> str:
    if not findings:
        calm = "Nothing stands out: no exits, errors, timeouts, limits or unusual use."
        if not recording.figures:
            calm = "There were no extensions."
        return f'<section id="findings" class="calm"><h2>Look at these first</h2><p>{calm}</p></section>'
    rows = "".join(
        f'<li class="{"bad" if finding.trouble is Trouble.GIVEN_UP else "plain"}">'
        f"<b>{finding.trouble.value} <small>{len(finding.cases)}</small></b><div>{_cases(finding, ids)}</div></li>"
        for finding in findings
    )
    return f'<section id="findings"><h2>Look at these first</h2><ul>{rows}</ul></section>'


def _cases(finding: Finding, ids: dict[str, str]) -> str:
    """The extensions of a finding. Extensions with the same text are listed together, with the text once."""
    groups: dict[str, list[str]] = {}
    for case in finding.cases[:CASES]:
        link = f'<a href="#{ids[case.extension]}"><bdi>{name(case.extension)}</bdi></a>'
        groups.setdefault(case.said, []).append(link)
    shown = "".join(
        f"<span>{', '.join(links)}{f' <em>{text(said, 160)}</em>' if said else ''}</span>"
        for said, links in groups.items()
    )
    more = len(finding.cases) - CASES
    return shown + (f"<span><em>and {more} more</em></span>" if more > 0 else "")
