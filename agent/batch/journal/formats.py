"""Results as other programs read them, row by row from `BatchResults`: JSON Lines, CSV and JUnit XML. `FORMATS` has
their names.

CSV (RFC 4180) is for spreadsheets. The texts are those of a model. A spreadsheet carries out a text that begins with
`=`, `+`, `-`, `@` or a tab as a formula: such a text gets an apostrophe before it. Control characters and escape
sequences are left out, but for tabs and line feeds; in JSON they are escaped. jsonl has the texts unchanged.

JUnit XML is for a CI server: a batch is a test suite, a task a test case. In the form of the schema `junit-10.xsd` of
Jenkins. A task that is `ok` has passed. `FAILURES` are the ends in which the agent did its work and the task was not
solved; every other one is an error: something broke, or was set up wrongly. A task without a final outcome is skipped.
"""

from __future__ import annotations

import csv
import html
import re
from io import StringIO
from typing import TYPE_CHECKING

import msgspec

from wire.batch.outcome import FAILURES, TaskStatus
from wire.text import printable, printable_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agent.batch.journal.shards import BatchResults
    from wire.batch.outcome import Outcome

FORMULA_SIGNS = ("=", "+", "-", "@", "\t")
COLUMNS = (
    *("id", "status", "attempt", "reason", "text", "is_cut", "answer", "steps"),
    *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd"),
    *("duration_ms", "paused_ms", "requests", "rate_limited", "started", "ended", "provider", "model", "session"),
    *("exit_status", "cpu_s", "memory_peak_bytes", "setup_exit_status", "check_exit_status", "diff", "digest", "meta"),
    *("reserved_usd", "repeat", "score"),
)
NODE = "node"
"""The column after these, if a task ran on a node of a cluster."""
"""`answer` and `meta` are JSON; an unknown cost, a missing exit status, `repeat` of a task that runs once and a missing
score are empty. New columns come last: readers know columns by their places."""


def csv_lines(results: BatchResults) -> Iterator[str]:
    """The header, and a row for each task with a final outcome."""
    buffer = StringIO(newline="")
    write = csv.writer(buffer).writerow
    has_nodes = any(shard.state.nodes for shard in results.shards)
    write((*COLUMNS, NODE) if has_nodes else COLUMNS)
    yield buffer.getvalue()
    for outcome in results.outcomes():
        buffer.seek(0)
        buffer.truncate()
        values = [*_values(outcome), outcome.node or ""] if has_nodes else _values(outcome)
        write([plain_cell(value) if isinstance(value, str) else value for value in values])
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
        *(one.reserved_usd, one.repeat or "", one.score and one.score.value),
    ]


def _json(text: bytes) -> str:
    return printable_json(text).decode("utf-8", "replace")


def plain_cell(text: str) -> str:
    """The text as a cell that is no formula and controls no terminal."""
    text = printable(text)
    return "'" + text if text.startswith(FORMULA_SIGNS) else text


LONGEST_MS = 2**53
"""Whole numbers up to this one are exact as floats; a larger one in a journal is no time."""
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LINE_BREAKS = {ord("\r"): "&#13;", ord("\n"): "&#10;", ord("\t"): "&#9;"}


def junit_lines(results: BatchResults) -> Iterator[str]:
    """The document, a few lines at once. It reads the journal twice: the suite begins with its sums."""
    name = attribute(", ".join(shard.folder.path.name or "batch" for shard in results.shards))
    statuses = results.statuses()
    failures = sum(statuses.get(status.value, 0) for status in FAILURES)
    errors = len(results.done) - failures - statuses.get(TaskStatus.OK.value, 0)
    total_s, began = 0.0, ""
    for outcome in results.outcomes():
        total_s += seconds(outcome.duration_ms)
        began = min(began or outcome.started, outcome.started)
    total = len(results.done) + len(results.not_run)
    counts = f'tests="{total}" failures="{failures}" errors="{errors}"'
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites name="{name}" {counts} time="{total_s:.3f}">\n'
    yield f'<testsuite name="{name}" {counts} skipped="{len(results.not_run)}" time="{total_s:.3f}"'
    yield f' timestamp="{attribute(began)}">\n' if began else ">\n"
    for outcome in results.outcomes():
        yield _case(outcome, name)
    for task in results.not_run:
        yield f'<testcase classname="{name}" name="{attribute(task)}"><skipped message="not run"/></testcase>\n'
    yield "</testsuite>\n</testsuites>\n"


def _case(one: Outcome, suite: str) -> str:
    parts = [f'<testcase classname="{suite}" name="{attribute(one.id)}" time="{seconds(one.duration_ms):.3f}">']
    if one.node:
        parts.append(f'<properties><property name="node" value="{attribute(one.node)}"/></properties>')
    if one.status is not TaskStatus.OK:
        tag = "failure" if one.status in FAILURES else "error"
        message = one.reason or one.status.value
        parts.append(f'<{tag} type="{one.status.value}" message="{attribute(message)}">{content(message)}</{tag}>')
    if one.text:
        parts.append(f"<system-out>{content(one.text)}</system-out>")
    if output := "".join(end.output for end in (one.setup, one.check) if end is not None):
        parts.append(f"<system-err>{content(output)}</system-err>")
    return "".join(parts) + "</testcase>\n"


def seconds(milliseconds: int) -> float:
    """Never negative, and never too large for a float."""
    return max(0, min(milliseconds, LONGEST_MS)) / 1000


def content(text: str) -> str:
    """The text of an element. XML has no place for most control characters: U+FFFD stands for them."""
    return html.escape(_NOT_IN_XML.sub("\ufffd", text), quote=False).replace("\r", "&#13;")


def attribute(text: str) -> str:
    """The text of an attribute, in which a reader would make spaces of line breaks."""
    return html.escape(_NOT_IN_XML.sub("\ufffd", text)).translate(_LINE_BREAKS)


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
