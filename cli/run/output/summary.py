"""The text of --summary: a run in Markdown, for a person who looks at a CI job. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cli.number_format import dollars, elapsed, milliseconds
from cli.run.output.cpu_and_memory import cpu_and_memory
from wire import events
from wire.text import counted, one_line, printable, valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ANSWER_LENGTH = 60_000
"""Characters of the answer."""
NOTICES = 50
"""Most notices."""
EXTENSIONS = 100
"""Most rows of the table of extensions."""
TOLD = frozenset({"exited", "restarted", "failed", "blocked", "no_verdict", "limit", "late", "warning"})
"""Kinds of notices that a reader of a job wants to know of."""
HEADINGS = ("extension", "CPU ms", "peak RSS", "calls", "errors", "timeouts", "blocked", "restarts", "p50 ms", "p99 ms")

CELL_LENGTH = 300
"""Characters of a cell of a table."""
_SPECIAL = re.compile(r"[!-'*+/<-@\[-`{-~]")
"""ASCII punctuation that has a meaning somewhere in Markdown or HTML; of the rest none has inside a cell."""
_FENCES = re.compile(r"`{3,}")


class SummaryData:
    """Collects the data of a summary from the records of a run; `see` gets each record."""

    def __init__(self) -> None:
        self.session: events.Session | None = None
        self.notices: list[events.Extension] = []
        self.more = 0
        """Notices beyond `NOTICES`."""

    def see(self, record: events.Record) -> None:
        if isinstance(record, events.Session):
            self.session = record
        elif isinstance(record, events.Extension) and record.event in TOLD:
            if len(self.notices) < NOTICES:
                self.notices.append(record)
            else:
                self.more += 1


def summary(result: events.Result, seen: SummaryData, *, answer: str, is_kept: bool, most_bytes: int) -> str:
    """The run as Markdown of at most `most_bytes` bytes; "" if not even its head fits. `answer` is what a reader may
    see, "" if there is none; `is_kept` says whether there is a session file to go on with."""
    head = _head(result, seen, is_kept=is_kept)
    parts = [head, _extensions(result), _notices(seen)]
    left = most_bytes - sum(len(part.encode("utf-8", "replace")) for part in parts)
    while left < 0 and len(parts) > 1:
        left += len(parts.pop().encode("utf-8", "replace"))
    if left < 0:
        return ""
    return "".join([head, _answer(answer, left), *parts[1:]])


def _head(result: events.Result, seen: SummaryData, *, is_kept: bool) -> str:
    usage = result.usage
    session = seen.session
    cached = f", {usage.cache_read:,} read from the cache" if usage.cache_read else ""
    rows = [
        ("reason", cell(result.reason, 2000)),
        ("model", code(session.model) if session else ""),
        ("steps", str(result.steps)),
        ("tokens", f"{usage.input:,} in{cached}, {usage.output:,} out"),
        ("cost", "unknown" if result.cost_usd is None else f"{dollars(result.cost_usd)} at list price"),
        ("duration", elapsed(result.duration_ms / 1000)),
        ("session", code(result.session)),
    ]
    if is_kept and re.fullmatch(r"[\w.-]+", result.session):
        where = f" in {code(session.cwd)}" if session else ""
        again = f'zot -r {result.session} -p "…"'
        rows.append(("resume it", f"{code(again)}{where}"))
    sign = "\N{WHITE HEAVY CHECK MARK}" if result.exit_code == 0 else "\N{CROSS MARK}"
    outcome = f"{cell(result.status)}, exit status {result.exit_code}"
    shown = table(("outcome", outcome), [row for row in rows if row[1]])
    return f"\n### {sign} zot: {cell(result.status)}\n\n{shown}\n"


def _answer(text: str, most_bytes: int) -> str:
    """The answer in a fence; its start if it is too long, and nothing if there is no room."""
    if not text:
        return ""
    shown, kept = text, len(text)
    if kept > ANSWER_LENGTH:
        shown, kept = text[:ANSWER_LENGTH], ANSWER_LENGTH
    while True:
        cut = f"The answer has {counted(len(text), 'character')}; these are the first {kept:,}.\n\n"
        part = f"**Answer**\n\n{cut if kept < len(text) else ''}{fenced_block(shown)}\n"
        if len(part.encode("utf-8", "replace")) <= most_bytes:
            return part
        if kept < 100:
            return ""
        kept //= 2
        shown = text[:kept]


def _extensions(result: events.Result) -> str:
    if not result.extensions:
        return ""
    rows = [_costs(name, used) for name, used in list(result.extensions.items())[:EXTENSIONS]]
    more = len(result.extensions) - EXTENSIONS
    rest = f"\nand {counted(more, 'extension')} more\n" if more > 0 else ""
    return f"**Extensions**\n\n{table(HEADINGS, rows, right=range(1, len(HEADINGS)))}{rest}\n"


def _costs(name: str, used: events.Cost) -> Sequence[str]:
    return (
        code(name),
        *cpu_and_memory(used),
        f"{used.calls:,}",
        str(used.errors),
        str(used.timeouts),
        str(used.blocks),
        str(used.restarts),
        milliseconds(used.p50_ms),
        milliseconds(used.p99_ms),
    )


def _notices(seen: SummaryData) -> str:
    if not seen.notices:
        return ""
    rows = [(code(notice.extension), notice.event, cell(notice.message)) for notice in seen.notices]
    rest = f"\nand {counted(seen.more, 'notice')} more\n" if seen.more else ""
    return f"**Notices**\n\n{table(('extension', 'what', 'message'), rows)}{rest}\n"


# --- Markdown of texts of unknown origin, which change nothing around them ----------------------------------


def cell(text: str, length: int = CELL_LENGTH) -> str:
    """The text on one line, with a numeric entity for each character that could be markup."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", one_line(valid_text(text), length))


def code(text: str) -> str:
    """The text as code, in a cell of a table or elsewhere."""
    return f"<code>{cell(text)}</code>" if text.strip() else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> str:
    """A table of cells that are Markdown already. The columns in `right` are aligned right."""
    to_right = frozenset(right)
    rule = ("---:" if number in to_right else "---" for number in range(len(headings)))
    return "".join(f"| {' | '.join(row)} |\n" for row in (headings, tuple(rule), *rows))


def fenced_block(text: str) -> str:
    """The text as it is, in a block of code whose fence is longer than any in the text."""
    shown = printable(valid_text(text).replace("\r\n", "\n").replace("\r", "\n"))
    longest = max((len(found) for found in _FENCES.findall(shown)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{shown.rstrip(chr(10))}\n{fence}\n"
