"""The page of one task: how it ended, what was said and done, and what its processes wrote."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from agent.sessions.export.html_parts import HtmlParts, verbatim
from agent.transcript import Text
from cli.number_format import bytes_text, count_text, dollars, duration_text, elapsed, plural, short
from cli.report.batch.conversation import cut, shorten
from cli.report.batch.figures import OpenTaskState
from cli.report.batch.overview import count_label, style_of
from cli.report.markup import text
from cli.report.page.document import document, read_packaged
from cli.report.page.table import Cell, TableColumn, chip, number_cell, section, table
from cli.report.page.top import top
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from agent.sessions.export.conversation import ConversationEntry
    from cli.report.batch.conversation import AttemptConversation
    from cli.report.batch.figures import TaskFigures
    from wire.batch.outcome import CommandEnd, Outcome, Score
    from wire.events import Cost

PAGE_CHARACTERS = 200_000
"""Maximum characters of the conversations on one page, before they are escaped."""
PROMPT_CHARACTERS = 32 * 1024
RESULT_CHARACTERS = 64 * 1024
META_CHARACTERS = 8 * 1024


class TaskPage(msgspec.Struct, kw_only=True):
    """The contents of the page of a task."""

    task: TaskFigures
    prompt: str = ""
    """Empty if it is not known."""
    outcome: Outcome | None = None
    """Outcome of the attempt that is shown first, if it has ended."""
    conversations: list[tuple[int, AttemptConversation]] = []
    """Number and events of some attempts; the one that is shown first comes first."""
    stderr: str = ""
    """The end of what the run of that attempt wrote there."""
    diff: str = ""
    """The diff of the task's changes, or its beginning."""
    back: str
    """Address of the page of the batch."""
    batch: str
    """Name of the batch."""
    room: int = PAGE_CHARACTERS


def render_task(page: TaskPage) -> str:
    """The HTML of the page."""
    task, outcome = page.task, page.outcome
    shown_first, conversation = page.conversations[0] if page.conversations else (task.latest, None)
    body = f'<p class="back"><a href="{page.back}">← <bdi>{text(page.batch, 100)}</bdi></a></p>'
    body += top(f"Task {task.id}", _facts(task, outcome, shown_first))
    body += _ending(task)
    ends = [] if outcome is None else _commands(outcome)
    body += "".join(shown for shown, has_failed in ends if has_failed)
    if page.prompt:
        body += f'<section id="prompt"><h2>Prompt</h2>{_format_value(cut(page.prompt, PROMPT_CHARACTERS))}</section>'
    if outcome is not None and outcome.text.strip():
        more = '<p class="caption">Cut; the events have all of it.</p>' if outcome.is_cut else ""
        value = _format_value(cut(outcome.text, RESULT_CHARACTERS))
        body += f'<section id="result"><h2>Final text</h2>{value}{more}</section>'
    body += "".join(shown for shown, has_failed in ends if not has_failed)
    room = page.room
    if conversation is not None:
        body += _conversation(conversation, page.prompt, room, is_over=task.running != shown_first)
    if page.stderr:
        body += f'<section id="stderr"><h2>The end of stderr</h2>{_format_value(page.stderr)}</section>'
    if page.diff:
        body += f'<section id="diff"><h2>What it has changed</h2>{_format_value(page.diff)}</section>'
    body += _attempts(task)
    for number, other in page.conversations[1:]:
        told = _steps(other, page.prompt, room // 4)
        body += f"<section><details><summary>Attempt {number}</summary>{told}</details></section>"
    if outcome is not None:
        body += _extensions(outcome) + _meta(outcome.meta)
    return document(
        f"{text(task.id, 100)}: {text(task.state.value)}",
        read_packaged("colors.css", "task.css"),
        f"<main>{body}</main>",
    )


def _facts(task: TaskFigures, outcome: Outcome | None, shown: int) -> list[tuple[str, str]]:
    attempts = f"{shown} of {max(shown, task.running, *(one.number for one in task.attempts), 0)}" if shown else ""
    facts = [("attempt", attempts), ("node", task.node if outcome is None else outcome.node or "")]
    if outcome is not None:
        usage = outcome.usage
        read = usage.input + usage.cache_read + usage.cache_write
        limited = f", {count_text(outcome.rate_limited)} refused for now" if outcome.rate_limited else ""
        ended = "" if outcome.exit_status is None else str(outcome.exit_status)
        facts += [
            ("model", f"{outcome.model} ({outcome.provider})" if outcome.provider else outcome.model),
            ("time", elapsed(outcome.duration_ms / 1000)),
            ("score", short(outcome.score.value) if outcome.score and outcome.score.value is not None else ""),
            ("paused", elapsed(outcome.paused_ms / 1000) if outcome.paused_ms else ""),
            ("cost", "unknown" if outcome.cost_usd is None else dollars(outcome.cost_usd)),
            ("tokens", f"{count_text(read)} read, {count_text(usage.output)} written"),
            ("turns", count_text(outcome.steps)),
            ("requests", f"{count_text(outcome.requests)}{limited}" if outcome.requests else ""),
            ("exit status", ended if outcome.exit_status else ""),
            ("CPU", f"{short(outcome.cpu_s)} s" if outcome.cpu_s else ""),
            ("memory", bytes_text(outcome.memory_peak_bytes) if outcome.memory_peak_bytes else ""),
            ("started", outcome.started),
            ("ended", outcome.ended),
            ("session", outcome.session),
        ]
    return facts


def _ending(task: TaskFigures) -> str:
    """The state of the task, and why."""
    told = task.told
    reason = told.reason.strip() if told is not None and task.state is not TaskStatus.OK else ""
    words = {
        OpenTaskState.RUNNING: "An attempt runs; this page has what it had done when the page was made.",
        OpenTaskState.INTERRUPTED: "An attempt was begun, and its batch process has ended before it.",
        OpenTaskState.NOT_RUN: "It has no final outcome yet.",
    }
    said = words.get(task.state, "") if isinstance(task.state, OpenTaskState) else ""
    state = chip(task.state.value, style_of(task.state.value))
    return (
        f'<section id="ending" class="{"good" if task.is_ok else "bad"}"><p>{state} {said}</p>'
        + (_format_value(reason) if reason else "")
        + "</section>"
    )


def _conversation(conversation: AttemptConversation, prompt: str, room: int, *, is_over: bool) -> str:
    notes = []
    if not conversation.is_there:
        notes.append("There is no file of events of this attempt.")
    elif not conversation.is_done and is_over:
        notes.append("The events do not end with `done`: the run was cut off.")
    if conversation.unread:
        notes.append(
            f"{plural(conversation.unread, 'line')} of the events cannot be read: cut off, damaged, or of another "
            "version."
        )
    told = "".join(f'<p class="note">{text(note)}</p>' for note in notes)
    return f'<section id="events"><h2>Events</h2>{told}{_steps(conversation, prompt, room)}</section>'


def _steps(conversation: AttemptConversation, prompt: str, room: int) -> str:
    entries = conversation.entries
    first = next((entry for entry in entries if entry.role == "user"), None)
    if prompt and first is not None and first.parts == [Text(cut(prompt))]:
        entries = [entry for entry in entries if entry is not first]  # it stands above
    parts = HtmlParts(has_prose=False, has_first_lines=True)
    return "".join(_entry(entry, parts) for entry in shorten(entries, room))


def _entry(entry: ConversationEntry, parts: HtmlParts) -> str:
    title = "user" if entry.role == "user" else f"turn {entry.number}" if entry.number else ""
    head = f"<h3>{title}</h3>" if title else ""
    shown = "".join(parts.part(entry.role, part) for part in entry.parts)
    return f'<article class="{entry.role}">{head}{shown}</article>'


def _format_value(value: str) -> str:
    return verbatim("text", value)


def _commands(outcome: Outcome) -> list[tuple[str, bool]]:
    """The sections of `setup`, `check` and `score`, as far as they ran, and whether each has failed."""
    shown = [
        (_command(what, end.how, end, has_failed=bool(end.exit_status)), bool(end.exit_status))
        for what, end in (("setup", outcome.setup), ("check", outcome.check))
        if end is not None
    ]
    if (score := outcome.score) is not None:
        has_failed = score.value is None or score.value < 1
        told = "no score" if score.value is None else short(score.value)
        shown.append((_command("score", told, score.command, _score_values(score), has_failed=has_failed), has_failed))
    return shown


def _command(what: str, told: str, end: CommandEnd | None, more: str = "", *, has_failed: bool) -> str:
    took = f"{duration_text(end.duration_ms)}; the end of its output" if end is not None else ""
    how = f"{end.how}, " if end is not None and what == "score" else ""
    output = _format_value(end.output) if end is not None and end.output.strip() else ""
    caption = f'<p class="caption">{how}{took if output else took.partition(";")[0]}</p>' if took else ""
    style = "bad" if has_failed else "good"
    return f'<section id="{what}" class="{style}"><h2>{what}: {text(told)}</h2>{caption}{output}{more}</section>'


def _score_values(score: Score) -> str:
    """The reason without a value, and the JSON object that the command has told."""
    reason = f'<p class="bad">{text(score.reason, 1000)}</p>' if score.reason else ""
    return reason + (_format_value(_json_text(score.values)) if score.values else "")


def _attempts(task: TaskFigures) -> str:
    if len(task.attempts) < 2:
        return ""
    has_nodes = any(one.node for one in task.attempts)
    columns = (
        TableColumn("attempt"),
        TableColumn("outcome", is_text=True),
        *([TableColumn("node", is_text=True)] if has_nodes else ()),
        TableColumn("time"),
        TableColumn("cost"),
        TableColumn("reason", is_text=True),
    )
    rows = (
        (
            Cell(f"{one.number}{' (it counts)' if one.is_final else ''}"),
            Cell(one.status.value, style=style_of(one.status.value)),
            *([Cell(one.node)] if has_nodes else ()),
            number_cell(one.duration_s, elapsed),
            Cell("unknown") if one.cost_usd is None else number_cell(one.cost_usd, dollars),
            Cell(one.reason),
        )
        for one in task.attempts
    )
    return section("attempts", "All attempts", "", table("All attempts", columns, rows))


def _extensions(outcome: Outcome) -> str:
    if not outcome.extensions:
        return ""
    columns = (
        TableColumn("extension", is_text=True, is_name=True),
        TableColumn("state", is_text=True),
        *map(TableColumn, ("CPU", "peak RSS", "calls", "errors", "p99", "restarts")),
    )
    rows = (
        (
            Cell(extension),
            Cell(cost.state, note=f"{cost.hosted.mode}, in host {cost.hosted.pid}" if cost.hosted else ""),
            _cpu_cell(cost),
            number_cell(None if cost.hosted else cost.rss_peak_bytes, bytes_text),
            number_cell(cost.calls, count_label),
            number_cell(cost.errors, count_label),
            number_cell(cost.p99_ms, duration_text),
            number_cell(cost.restarts, count_label),
        )
        for extension, cost in outcome.extensions.items()
    )
    return section("extensions", "Extensions", "", table("Extensions", columns, rows))


def _cpu_cell(cost: Cost) -> Cell:
    """The CPU time, or the share of a host's, with `~` in front."""
    if not cost.hosted:
        return number_cell(cost.cpu_ms / 1000, lambda cpu_s: f"{short(cpu_s)} s")
    share_ms = cost.hosted.cpu_share_ms
    return number_cell(None if share_ms is None else share_ms / 1000, lambda cpu_s: f"~{short(cpu_s)} s")


def _meta(meta: dict[str, Any]) -> str:
    if not meta:
        return ""
    return f'<section id="meta"><h2>meta</h2>{_format_value(_json_text(meta))}</section>'


def _json_text(value: dict[str, Any]) -> str:
    try:
        return cut(json.dumps(value, ensure_ascii=False, indent=1), META_CHARACTERS)
    except (ValueError, RecursionError):  # a number of thousands of digits, or a thousand levels
        return "it cannot be shown"
