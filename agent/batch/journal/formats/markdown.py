"""Results as a Markdown table, for an issue, a pull request or a chat: one line for each task."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent.batch.journal.formats.seconds import seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.batch.journal.results import BatchResults
    from wire.batch.outcome import Outcome

TEXT_LENGTH = 200
"""Characters of the text, or of the reason, that are shown."""
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#|~!&])")
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


def markdown_lines(results: BatchResults) -> Iterator[str]:
    """A line that counts, the table, and the tasks that were not run."""
    total = len(results.done) + len(results.not_run)
    counts = ", ".join(f"{count} {status}" for status, count in sorted(results.statuses().items()))
    yield f"{len(results.done)} of {total} tasks are done{': ' + escaped(counts) if counts else ''}.\n\n"
    yield "| id | status | attempt | tokens | cost (USD) | seconds | text or reason |\n"
    yield "|---|---|---:|---:|---:|---:|---|\n"
    for outcome in results.outcomes():
        yield _row(outcome)
    for task in results.not_run:
        yield f"| {escaped(task)} | not\\_run | | | | | |\n"


def _row(one: Outcome) -> str:
    text = one.reason or one.text
    cost = "unknown" if one.cost_usd is None else f"{one.cost_usd:.4f}"
    cells = (escaped(one.id), escaped(one.status.value), one.attempt, one.usage.total, cost)
    return f"| {' | '.join(map(str, cells))} | {seconds(one.duration_ms):.1f} | {escaped(shortened(text))} |\n"


def shortened(text: str) -> str:
    """On one line, and not longer than `TEXT_LENGTH`."""
    line = _BLANKS.sub(" ", text[: TEXT_LENGTH * 4]).strip()
    return line if len(line) <= TEXT_LENGTH else line[: TEXT_LENGTH - 1] + "…"


def escaped(text: str) -> str:
    """The text as it stands in a cell: nothing in it is markup, and no sign ends the cell or the line."""
    return _SPECIAL.sub(r"\\\1", _BLANKS.sub(" ", text))
