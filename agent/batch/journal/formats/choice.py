"""The formats of `zot batch results`, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.journal.formats.csv_table import csv_lines
from agent.batch.journal.formats.junit import junit_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agent.batch.journal.results import BatchResults


def jsonl_lines(results: BatchResults) -> Iterator[bytes]:
    """One `wire.batch.outcome.Outcome` a line."""
    return results.outcome_texts()


def _encoded(lines: Callable[[BatchResults], Iterable[str]]) -> Callable[[BatchResults], Iterator[bytes]]:
    return lambda results: (line.encode("utf-8", "replace") for line in lines(results))


FORMATS: dict[str, Callable[[BatchResults], Iterator[bytes]]] = {
    "jsonl": jsonl_lines,
    "csv": _encoded(csv_lines),
    "junit": _encoded(junit_lines),
}
"""Each gives lines of UTF-8, their ends included."""
