"""A session as one page for a browser: a single file without a script, which asks nothing from the network. What was
said is escaped; of its Markdown only what is harmless is carried out."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from agent.sessions.export.conversation import Entry, conversation_of
from agent.sessions.export.html_parts import HtmlParts, escaped, verbatim
from agent.sessions.export.wording import (
    clock_of,
    compaction_text,
    fault_text,
    title_of,
    usage_text,
)
from agent.transcript import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.sessions.reading.history import Compacted, History

CSS = Path(__file__).with_name("page.css")
ROLES = {"user": "User", "assistant": "Assistant", "tool": "Results"}


def export_html(history: History) -> str:
    """The page."""
    return "".join(_Page(history).parts())


class _Page:
    def __init__(self, history: History) -> None:
        self._history = history
        self._parts = HtmlParts(has_prose=True)

    def parts(self) -> Iterator[str]:
        style = CSS.read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        title = escaped(title_of(self._history))
        yield (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
            f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        )
        yield f"<header>\n<h1>{title}</h1>\n<dl>\n{''.join(self._facts())}</dl>\n"
        if faults := fault_text(self._history):
            yield f'<p class="note">{escaped(faults)}.</p>\n'
        if summary := self._history.summary:
            yield f"<h2>Summary</h2>\n{verbatim('text', summary)}"
        yield "</header>\n"
        for step in conversation_of(self._history):
            yield self._message(step) if isinstance(step, Entry) else self._compaction(step)
        if not self._history.messages:
            yield '<p class="note">This session has no messages.</p>\n'
        yield f"</main>\n<footer>{escaped(usage_text(self._history.info.usage))}</footer>\n</body>\n</html>\n"

    def _facts(self) -> Iterator[str]:
        info = self._history.info
        rows = [
            ("Session", info.id),
            ("Folder", info.cwd),
            ("Model", " ".join(filter(None, [info.provider, info.model]))),
            ("Started", clock_of(info.started)),
            ("Messages", f"{len(self._history.messages):,}"),
            ("Usage", usage_text(info.usage)),
            ("Fork of", f"{info.parent}, after message {info.fork_point}" if info.parent else ""),
        ]
        for name, value in rows:
            if value:
                yield f"<div><dt>{name}</dt><dd><bdi>{escaped(value)}</bdi></dd></div>\n"

    def _message(self, entry: Entry) -> str:
        inner = "".join(self._parts.part(entry.role, part) for part in entry.parts)
        if not inner:  # all results stand with their calls
            return f'<span id="m{entry.number}"></span>\n'
        time = f"<time>{escaped(clock_of(entry.time))}</time>" if entry.time else ""
        link = f'<a href="#m{entry.number}">{entry.number}</a>'
        return (
            f'<article class="{entry.role}" id="m{entry.number}">\n<h2>{ROLES[entry.role]} {time}{link}</h2>\n'
            f"{inner}</article>\n"
        )

    def _compaction(self, compacted: Compacted) -> str:
        messages = "".join(
            self._parts.prose(block.text)
            for message in compacted.messages[:1]
            for block in message.content
            if isinstance(block, Text)
        )
        summary = f"<summary>{escaped(compaction_text(compacted))}</summary>"
        return f'<details class="compacted">{summary}\n{messages}</details>\n'
