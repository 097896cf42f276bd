"""`zot runs show`: all that the trace of a run tells."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING, Any

from cli.columns import align_columns, cut_line
from cli.hosts.status_lines import KINDS
from cli.json_line import print_json
from cli.number_format import clock_text, duration_text, elapsed, milliseconds, plural, size
from cli.report.input.trace_lines import FLAGS
from cli.runs.cells import NOTHING, cause, cost, fall_record, falls_by_extension, kind, members, record, took
from cli.terminal import complain, table_width, terminal_text, wants_style
from supervisor.home.zot_home import zot_home
from supervisor.traces.places import BLACK_BOX
from supervisor.traces.trace_reader import find_trace, read_trace
from wire.flags.flag_words import told_flags
from wire.text import noun_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from supervisor.traces.trace_reader import BesideFile, RunTrace
    from wire.stats import ExtensionStats

WAITS_SHOWN = 10
FALLS_SHOWN = 50
LABEL = 10
USE = ("extension", "state", "restarts", "exits", "CPU", "memory", "calls", "errors", "timeouts", "99 %")
"""Headings of the table of use; memory is the peak, and 99 % the time within which 99 % of the answers came."""
Table = list[tuple[str, ...]]

WHOLE = "\0"
"""Begins a line that is not cut to the width of the terminal."""


def show_run(word: str, *, as_json: bool) -> int:
    """Prints the run that `word` names; returns the exit status. Raises `NoSuchRunError`, `TraceError`, `OSError`."""
    run = read_trace(find_trace(zot_home(), word))
    for fault in run.faults:
        complain("runs show", f"{fault}; the line is skipped")
    if as_json:
        print_json(_record(run))
        return 0
    width = table_width()
    for line in _lines(run, time.time(), bold=wants_style()):
        is_whole = line.startswith(("\x1b", WHOLE))  # a file or a command is to be copied
        sys.stdout.write((line.replace(WHOLE, "", 1) if is_whole else cut_line(line, width)) + "\n")
    return 0


def _record(run: RunTrace) -> dict[str, Any]:
    logs = _logs(run)
    return {
        **record(run),
        "version": run.header.version,
        "flags": run.header.flags,
        "folder": run.header.folder,
        "reason": run.run.reason if run.run is not None else "",
        "use": None if run.run is None else members(run.run),
        "waits": [{"extension": name, "duration_ms": waited} for waited, name in _waits(run)],
        "falls": [fall_record(*each) for each in zip(run.falls, run.files_of_falls, strict=True)],
        "host": None if run.last is None else members(run.last.host),
        "extensions": {} if run.last is None else {name: members(each) for name, each in run.last.extensions.items()},
        "files": [{"path": str(file.path), "extension": file.extension, "use": _use(file)} for file in run.beside],
        "logs": {name: str(path) for name, path in logs.items()},
    }


def _lines(run: RunTrace, now: float, *, bold: bool) -> Iterator[str]:
    head = f"{run.id}: {terminal_text(run.outcome)}, {KINDS[run.header.kind]}"
    yield f"\x1b[1m{head}\x1b[0m" if bold else head
    for label, text in _facts(run, now):
        yield f"{label:<{LABEL}} {text}"
    for title, table, right in (
        ("Waits at the start", _wait_rows(run), (0,)),
        ("Falls", _fall_rows(run), (0,)),
        ("Use", _use_rows(run), range(2, len(USE))),
        ("Files", _file_rows(run), ()),
    ):
        if table:
            yield ""
            yield f"\x1b[1m{title}\x1b[0m" if bold else title
            mark = WHOLE if title == "Files" else ""
            yield from (f"{mark}  {line.rstrip()}" for line in align_columns(table, right))


def _facts(run: RunTrace, now: float) -> Iterator[tuple[str, str]]:
    head, used = run.header, run.run
    length = took(run, now)
    yield "started", clock_text(head.time) + (f", took {length}" if length != NOTHING else "")
    if used is not None and used.reason:
        yield "reason", terminal_text(used.reason)
    yield "process", f"pid {head.pid}, zot {terminal_text(head.version, 40)}"
    yield "folder", terminal_text(head.cwd)
    if head.folder:
        yield "batch", f"{terminal_text(head.folder)}; zot batch status {shlex.quote(terminal_text(head.folder))}"
    if head.session:
        yield "session", terminal_text(head.session)
    if head.model:
        yield "model", terminal_text(head.model + (f" ({head.provider})" if head.provider else ""))
    if used is not None:
        turns = plural(used.steps, "task" if head.kind == "batch" else "turn")
        read = plural(used.input + used.cache_read + used.cache_write, "token")
        yield "use", f"{turns}, {read} read, {used.output} written, {cost(run)}"
    flags = [terminal_text(flag, 400) for flag in told_flags(FLAGS[head.kind], head.flags)]
    yield "flags", " ".join(flags) or "none"
    yield "report", f"zot report {run.id}"


def _waits(run: RunTrace) -> list[tuple[float, str]]:
    """Milliseconds until the run could begin, with the name "", and until each extension was ready; the slowest
    first."""
    found = [
        (mark.duration_ms, mark.extension)
        for mark in run.marks
        if mark.kind == "started" and mark.duration_ms is not None
    ]
    return sorted(found, key=lambda each: (-each[0], each[1]))


def _wait_rows(run: RunTrace) -> Table:
    rows = [
        (duration_text(waited), terminal_text(name, 60) if name else "until the run could begin")
        for waited, name in _waits(run)
    ]
    return _bounded(rows, WAITS_SHOWN, "wait")


def _fall_rows(run: RunTrace) -> Table:
    """The falls in order, each at its time since the start."""
    rows = [
        (
            f"+{elapsed(max(0.0, fall.time - run.header.time))}",
            terminal_text(fall.extension, 60),
            kind(fall),
            terminal_text(cause(fall), 300),
        )
        for fall in run.falls
    ]
    return _bounded(rows, FALLS_SHOWN, "fall")


def _bounded(rows: Sequence[tuple[str, ...]], most: int, noun: str) -> Table:
    more = len(rows) - most
    last = [("", f"and {more} more {noun_for(more, noun)}, see --json")] if more > 0 else []
    return [*rows[:most], *last]


def _use_rows(run: RunTrace) -> Table:
    """The use of each extension, those with falls first; only headings are no table."""
    if run.last is None:
        return []
    falls = falls_by_extension(run)
    known = sorted(run.last.extensions.items(), key=lambda each: (-falls.get(each[0], 0), each[0]))
    return [USE, *(_use_cells(name, each) for name, each in known)] if known else []


def _use_cells(name: str, use: ExtensionStats) -> tuple[str, ...]:
    counts = (use.calls, use.errors, use.timeouts)
    return (
        terminal_text(name, 60),
        terminal_text(use.state, 20),
        str(use.restarts),
        str(use.exits),
        f"{use.cpu_s:.2f} s",
        size(use.rss_peak_bytes) if use.rss_peak_bytes else NOTHING,
        *map(str, counts),
        _answered(use.p99_ms),
    )


def _answered(p99_ms: float | None) -> str:
    text = milliseconds(p99_ms)
    return text if text.endswith("s") or p99_ms is None else f"{text} ms"


def _file_rows(run: RunTrace) -> Table:
    """The files kept of the run, each with the command that uses it."""
    rows: Table = [("trace", terminal_text(run.path))]
    for file in run.beside:
        noun = "black box" if file.kind == BLACK_BOX else "profile"
        rows.append((f"{noun} of {terminal_text(file.extension, 60)}", _use(file)))
    for name in _logs(run):
        shown = terminal_text(name, 60)
        of_run = "" if run.header.kind == "batch" else f" --run {run.header.pid}"  # each run of a batch is a process
        rows.append((f"log of {shown}", f"zot ext logs {shlex.quote(shown)} -t{of_run}"))
    return rows


def _use(file: BesideFile) -> str:
    """The command that uses a file."""
    path = shlex.quote(terminal_text(file.path))
    return f"zot ext replay {path}" if file.kind == BLACK_BOX else path


def _logs(run: RunTrace) -> dict[str, Path]:
    """The logs of the extensions that fell."""
    logs = zot_home() / "logs"
    found = {name: logs / f"ext-{name}.log" for name in falls_by_extension(run)}
    return {name: path for name, path in found.items() if path.is_file()}
