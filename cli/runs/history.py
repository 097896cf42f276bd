"""`zot ext history`: the life of an extension over all runs that have left a trace."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from cli.choices import CommandLineError
from cli.columns import align_columns, cut_line, print_table
from cli.json_line import print_json
from cli.number_format import plural
from cli.runs.cells import NOTHING, cause, fall_record, kind, when
from cli.runs.list import SHOWN, since_runs
from cli.terminal import say, table_width, terminal_text
from supervisor.traces.places import BLACK_BOX
from wire.suggestions import no_such

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.traces.trace_reader import BesideFile, RunTrace
    from wire.stats import Mark

HEADINGS = ("WHEN", "RUN", "FALL", "CAUSE", "BLACK BOX")
STARTS = frozenset({"started", "restarted", "reloaded"})


class Fallen(NamedTuple):
    """A fall of the extension."""

    run: str
    """The id of the run."""
    fall: Mark
    files: tuple[BesideFile, ...]
    """The files kept of it."""


class History(NamedTuple):
    """The life of one extension."""

    runs: int
    """The number of runs that had it."""
    starts: int
    restarts: int
    exits: int
    """The number of its processes that ended, for any reason, in runs that have told their figures at the end."""
    falls: tuple[Fallen, ...]
    """The newest first."""

    @property
    def kinds(self) -> dict[str, int]:
        """The number of its falls of each kind, the most first."""
        return dict(Counter(each.fall.name for each in self.falls).most_common())


def gather(name: str, runs: Iterable[RunTrace]) -> tuple[History, set[str]]:
    """The life of the extension in these runs, the newest first, and the names of all extensions in them. Pure."""
    count = starts = restarts = exits = 0
    falls: list[Fallen] = []
    names: set[str] = set()
    for run in runs:
        names.update(run.extensions)
        if name not in run.extensions:
            continue
        count += 1
        told = [mark.kind for mark in run.marks if mark.extension == name]
        starts += sum(each in STARTS for each in told)
        restarts += told.count("restarted")
        if run.last is not None and name in run.last.extensions:
            exits += run.last.extensions[name].exits
        told_falls = zip(run.falls, run.files_of_falls, strict=True)
        falls += [Fallen(run.id, fall, files) for fall, files in told_falls if fall.extension == name]
    falls.sort(key=lambda each: -each.fall.time)
    return History(count, starts, restarts, exits, tuple(falls)), names


def show_history(name: str, *, since: str | None, most: int | None, as_json: bool) -> int:
    """Prints the life of an extension; returns the exit status. Raises `CommandLineError`."""
    found, names = gather(name, since_runs(since, "ext history"))
    if name not in names:
        seen = "runs since then" if since is not None else "traces of runs"
        raise CommandLineError(no_such(f"extension in the {seen}", name, names))
    if as_json:
        print_json(_record(name, found, most))
        return 0
    print(_summary(name, found))  # noqa: T201
    if found.falls:
        _print_falls(found.falls[: most or SHOWN])
    if len(found.falls) > (most or SHOWN):
        say(f"zot ext history: only the last {most or SHOWN} falls are shown; -n N shows more")
    return 0


def _record(name: str, found: History, most: int | None) -> dict[str, Any]:
    return {
        "extension": name,
        "runs": found.runs,
        "starts": found.starts,
        "restarts": found.restarts,
        "exits": found.exits,
        "kinds": found.kinds,
        "falls": [{"run": run, **fall_record(fall, files)} for run, fall, files in found.falls[:most]],
    }


def _summary(name: str, found: History) -> str:
    kinds = ", ".join(f"{count} {each.replace('_', ' ')}" for each, count in found.kinds.items())
    return (
        f"{terminal_text(name)}: {plural(found.runs, 'run')}, {plural(found.starts, 'start')},"
        f" {plural(found.restarts, 'restart')}, {plural(found.exits, 'exit')};"
        f" {plural(len(found.falls), 'fall')}{f': {kinds}' if kinds else ''}"
    )


def _print_falls(falls: Iterable[Fallen]) -> None:
    width = table_width()
    lines = align_columns([HEADINGS, *map(_cells, falls)])
    print_table([cut_line(line.rstrip(), width) for line in lines])


def _cells(fallen: Fallen) -> tuple[str, ...]:
    run, fall, files = fallen
    box = next(
        (file.path.name.removesuffix(BLACK_BOX).rpartition(".")[2] for file in files if file.kind == BLACK_BOX), NOTHING
    )
    return when(fall.time), run, kind(fall), terminal_text(cause(fall), 100), box
