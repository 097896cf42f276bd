"""The table at the end of a batch, for a person. Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from cli.batch.output.lines import cut_to, first_line
from cli.columns import aligned
from cli.number_format import count_text, dollars, elapsed, plural
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wire.batch.outcome import Outcome
    from wire.batch.records import BatchEnd

MOST_GROUPS = 10
"""Groups of failures that are listed."""
MOST_IDS = 3
"""Ids that are named of each."""
WITH_MORE = "all starts count, so give the command again with a higher limit to go on"
STOPPED = {
    "done": "",
    "drained": "stopped before its end: it was asked to drain",
    "stopped": "stopped before its end: it was interrupted",
    "budget": f"stopped before its end: --max-cost-usd or --max-tokens is used up; {WITH_MORE}",
    "deadline": "stopped before its end: --deadline has passed",
    "failures": "stopped before its end: as many tasks as --max-failures have failed",
    "failed": "stopped before its end: its files could not be written; make room, and start it again to go on",
}
NOT_RUN = "not_run"


class Failures:
    """Groups the tasks that have ended badly, by their status and reason."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], list[str]] = {}
        self._last = ""

    def add(self, outcome: Outcome) -> None:
        """Counts a final outcome; one that is ok is in no group."""
        self._last = outcome.id
        if outcome.status.value != "ok":
            group = (outcome.status.value, first_line(outcome.reason))
            self._groups.setdefault(group, []).append(outcome.id)

    @property
    def example(self) -> str:
        """The id of a task that a person may want to look at; "" if none has ended."""
        return max(self._groups.values(), key=len)[0] if self._groups else self._last

    def lines(self, width: int | None = None) -> list[str]:
        """`COUNT  STATUS  IDS  REASON` in columns, the largest group first; nothing without failures. Reasons are cut
        to `width` columns."""
        groups = sorted(self._groups.items(), key=lambda item: -len(item[1]))
        if not groups:
            return []
        rows = [(str(len(ids)), status, _some(ids), reason or "-") for (status, reason), ids in groups[:MOST_GROUPS]]
        heading = ("tasks", "status", "ids", "reason")
        before = ["  " + line for line in aligned([(*row[:3], "") for row in (heading, *rows)], right={0})]
        lines = [start + cut_to(row[3], width, start[:-2]) for start, row in zip(before, (heading, *rows), strict=True)]
        if len(groups) > MOST_GROUPS:
            rest = sum(len(ids) for _, ids in groups[MOST_GROUPS:])
            lines.append(f"  and {plural(rest, 'task')} with other reasons")
        return lines


def summary(end: BatchEnd, folder: str, failures: Failures, width: int | None = None) -> list[str]:
    """What came of the batch, why it ended, what has failed in this start, and the commands to go on with. `width` is
    that of the terminal; None if there is none."""
    ok = end.statuses.get("ok", 0)
    cost = dollars(end.known_cost_usd)
    cost = cost if end.cost_usd is not None else f"at least {cost}, as not all costs are known"
    where = shlex.quote(one_line(valid_text(folder), 4096))
    took = elapsed(round(end.duration_ms / 1000, 1))
    tokens = plural(end.usage.total, "token")
    lines = [f"{count_text(ok)} of {plural(end.tasks, 'task')} ok in {took}; {tokens}, {cost}"]
    others = statuses_text(end.statuses)
    if others:
        lines.append(others)
    if why := STOPPED[end.reason]:
        lines.append(why)
    if failed := failures.lines(width):
        lines += ["", *failed]
    return [
        *lines,
        "",
        *next_commands(where, end.statuses, example=failures.example, is_used_up=end.reason == "budget"),
    ]


def statuses_text(statuses: Mapping[str, int]) -> str:
    """The tasks that are not ok: `8 error, 3 timeout, 12 not run`."""
    kinds = [(status, count) for status, count in statuses.items() if count and status not in ("ok", NOT_RUN)]
    parts = [f"{count_text(count)} {status}" for status, count in sorted(kinds, key=lambda item: (-item[1], item[0]))]
    if left := statuses.get(NOT_RUN, 0):
        parts.append(f"{count_text(left)} not run")
    return ", ".join(parts)


def next_commands(where: str, statuses: Mapping[str, int], *, example: str = "", is_used_up: bool = False) -> list[str]:
    """The commands that make sense now. `where` is the folder as a shell takes it, `example` the id of a task that has
    run. With `is_used_up` the limits of the batch let nothing more start."""
    failed = any(count for status, count in statuses.items() if status not in ("ok", NOT_RUN))
    rows: list[tuple[str, str]] = [(f"zot batch results {where}", "the results, one JSON object per line")]
    if example:
        task = shlex.quote(one_line(valid_text(example), 200))
        rows.append((f"zot batch logs {where} {task}", "one run: its messages, tools and answer"))
    if statuses.get(NOT_RUN, 0) and not is_used_up:
        rows.append((f"zot batch retry {where} --status not_run", "go on with the tasks that were not run"))
    if failed:
        rows.append((f"zot batch retry {where}", "run again what has failed"))
    rows.append((f"zot report {where}", "a page of charts"))
    return aligned(rows)


def _some(ids: Iterable[str]) -> str:
    names = [one_line(name, 60) for name in ids]
    more = len(names) - MOST_IDS
    return ", ".join(names[:MOST_IDS]) + (f" and {more} more" if more > 0 else "")
