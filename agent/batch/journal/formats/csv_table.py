"""Results as CSV (RFC 4180), for spreadsheets.

The texts are those of a model. A spreadsheet carries out a text that begins with `=`, `+`, `-`, `@` or a tab as a
formula: such a text gets an apostrophe before it. Control characters and escape sequences are left out, but for tabs
and line feeds; in JSON they are escaped. jsonl has the texts unchanged.
"""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING

import msgspec

from wire.text import printable, printable_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.batch.journal.results import BatchResults
    from wire.batch.outcome import Outcome

FORMULA_SIGNS = ("=", "+", "-", "@", "\t")
COLUMNS = (
    *("id", "status", "attempt", "reason", "text", "is_cut", "answer", "steps"),
    *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd"),
    *("duration_ms", "paused_ms", "requests", "rate_limited", "started", "ended", "provider", "model", "session"),
    *("exit_status", "cpu_s", "memory_peak_bytes", "setup_exit_status", "check_exit_status", "diff", "digest", "meta"),
    "reserved_usd",
)
"""`answer` and `meta` are JSON; an unknown cost and an exit status that there is not are empty."""


def csv_lines(results: BatchResults) -> Iterator[str]:
    """The header, and a row for each task with a final outcome."""
    buffer = StringIO(newline="")
    write = csv.writer(buffer).writerow
    write(COLUMNS)
    yield buffer.getvalue()
    for outcome in results.outcomes():
        buffer.seek(0)
        buffer.truncate()
        write([_plain(value) if isinstance(value, str) else value for value in _values(outcome)])
        yield buffer.getvalue()


def _values(one: Outcome) -> list[object]:
    answer = "" if isinstance(one.answer, msgspec.UnsetType) else _json(bytes(one.answer))
    usage = one.usage
    return [
        *(one.id, one.status.value, one.attempt, one.reason, one.text, str(one.is_cut).lower(), answer, one.steps),
        *(usage.input, usage.output, usage.cache_read, usage.cache_write, one.cost_usd),
        *(one.duration_ms, one.paused_ms, one.requests, one.rate_limited, one.started, one.ended),
        *(one.provider, one.model, one.session, one.exit_status, one.cpu_s, one.memory_peak_bytes),
        *(one.setup and one.setup.exit_status, one.check and one.check.exit_status, one.diff, one.digest),
        _json(msgspec.json.encode(one.meta)) if one.meta else "",
        one.reserved_usd,
    ]


def _json(text: bytes) -> str:
    return printable_json(text).decode("utf-8", "replace")


def _plain(text: str) -> str:
    """The text as a cell that is no formula and controls no terminal."""
    text = printable(text)
    return "'" + text if text.startswith(FORMULA_SIGNS) else text
