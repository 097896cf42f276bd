"""A session as one page for a browser: a single file without scripts and requests to the network. Texts are
escaped; of their Markdown only harmless parts are rendered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent.sessions.export.conversation import ConversationEntry, SummaryEntry, conversation_of
from agent.sessions.export.html_parts import HtmlParts, escape_html, html_document, verbatim
from agent.sessions.export.labels import ROLES, clock_of, facts_of, fault_text, title_of, usage_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.sessions.reading.history import History

CSS = Path(__file__).with_name("page.css")


def export_html(history: History) -> str:
    """The page."""
    style = CSS.read_text(encoding="utf-8")
    body = "".join(_Page(history).parts())
    return html_document(escape_html(title_of(history)), style, body, has_images=True)


class _Page:
    def __init__(self, history: History) -> None:
        self._history = history
        self._parts = HtmlParts(has_prose=True)

    def parts(self) -> Iterator[str]:
        info = self._history.info
        facts = [
            *facts_of(info),
            ("Messages", f"{len(self._history.messages):,}"),
            ("Usage", usage_text(info.usage)),
        ]
        told = "".join(f"<div><dt>{name}</dt><dd><bdi>{escape_html(value)}</bdi></dd></div>\n" for name, value in facts)
        yield f"<main>\n<header>\n<h1>{escape_html(title_of(self._history))}</h1>\n<dl>\n{told}</dl>\n"
        if faults := fault_text(self._history):
            yield f'<p class="note">{escape_html(faults)}.</p>\n'
        if summary := self._history.summary:
            yield f"<h2>Summary</h2>\n{verbatim('text', summary)}"
        yield "</header>\n"
        for step in conversation_of(self._history):
            yield self._message(step) if isinstance(step, ConversationEntry) else self._summary(step)
        if not self._history.messages:
            yield '<p class="note">This session has no messages.</p>\n'
        yield f"</main>\n<footer>{escape_html(usage_text(info.usage))}</footer>\n"

    def _message(self, entry: ConversationEntry) -> str:
        inner = "".join(self._parts.part(entry.role, part) for part in entry.parts)
        if not inner:  # all results are shown with their calls
            return f'<span id="m{entry.number}"></span>\n'
        time = f"<time>{escape_html(clock_of(entry.time))}</time>" if entry.time else ""
        link = f'<a href="#m{entry.number}">{entry.number}</a>'
        return (
            f'<article class="{entry.role}" id="m{entry.number}">\n<h2>{ROLES[entry.role]} {time}{link}</h2>\n'
            f"{inner}</article>\n"
        )

    def _summary(self, summary: SummaryEntry) -> str:
        texts = "".join(map(self._parts.prose, summary.texts))
        return f'<details class="compacted"><summary>{escape_html(summary.title)}</summary>\n{texts}</details>\n'
