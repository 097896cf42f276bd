"""A session as one page for a browser: a single file without a script, which asks nothing from the network. What was
said is escaped; of its Markdown only what is harmless is carried out."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.sessions.export.wording import (
    clock_of,
    compaction_text,
    fault_text,
    image_bytes,
    image_text,
    title_of,
    usage_text,
    visible,
)
from agent.sessions.reading.arguments import named_arguments
from agent.sessions.reading.history import Compacted
from agent.transcript import Image, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token

    from agent.sessions.reading.history import History
    from agent.transcript import Block, Message

TEXT_CHARACTERS = 256 * 1024
"""The most of one text; the rest is left out."""
PARSED_CHARACTERS = 32 * 1024
ALL_PARSED_CHARACTERS = 2 * 1024 * 1024
"""Of one text of the model and of all that are read as Markdown; others are shown as they are. A hostile text takes a
second for each 100 KiB."""
IMAGE_BYTES = 2 * 1024 * 1024
IMAGES_BYTES = 16 * 1024 * 1024
"""The most of one image and of all; others are a line."""
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
SUMMARY_CHARACTERS = 160
CSS = Path(__file__).with_name("page.css")
ROLES = {"user": "User", "assistant": "Assistant", "tool": "Results"}
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_SAFE_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def export_html(history: History) -> str:
    """The page."""
    return "".join(_Page(history).parts())


class _Page:
    def __init__(self, history: History) -> None:
        self._history = history
        self._markdown = _markdown()
        self._images_left = IMAGES_BYTES
        self._parsed_left = ALL_PARSED_CHARACTERS
        self._results = {
            block.call_id: (number, block)
            for number, message in reversed(list(enumerate(history.messages)))
            for block in message.content
            if isinstance(block, ToolResult)
        }
        """The first result of each call, and in which message it is."""
        self._shown: set[tuple[int, str]] = set()
        """Results that are shown with their calls, as the index of the message and the call's id."""

    def parts(self) -> Iterator[str]:
        style = CSS.read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        title = _text(title_of(self._history))
        yield (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
            f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        )
        yield f"<header>\n<h1>{title}</h1>\n<dl>\n{''.join(self._facts())}</dl>\n"
        if faults := fault_text(self._history):
            yield f'<p class="note">{_text(faults)}.</p>\n'
        if summary := self._history.summary:
            yield f"<h2>Summary</h2>\n{_verbatim('text', summary)}"
        yield "</header>\n"
        for step in self._history.steps():
            if isinstance(step, Compacted):
                yield self._compaction(step)
            else:
                yield self._message(*step)
        if not self._history.messages:
            yield '<p class="note">This session has no messages.</p>\n'
        yield f"</main>\n<footer>{_text(usage_text(self._history.info.usage))}</footer>\n</body>\n</html>\n"

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
                yield f"<div><dt>{name}</dt><dd><bdi>{_text(value)}</bdi></dd></div>\n"

    def _message(self, number: int, message: Message) -> str:
        inner = "".join(self._block(number - 1, message.role, block) for block in message.content)
        if not inner:  # all results stand with their calls
            return f'<span id="m{number}"></span>\n'
        time = f"<time>{_text(clock_of(message.time))}</time>" if message.time else ""
        link = f'<a href="#m{number}">{number}</a>'
        return (
            f'<article class="{message.role}" id="m{number}">\n<h2>{ROLES[message.role]} {time}{link}</h2>\n'
            f"{inner}</article>\n"
        )

    def _block(self, index: int, role: str, block: Block) -> str:
        match block:
            case Text(text):
                return self._prose(text) if role == "assistant" else _verbatim("text", text) if text.strip() else ""
            case Image():
                return self._image(block)
            case Thinking(text):
                inner = _verbatim("text", text) if text else '<p class="note">encrypted by the provider</p>\n'
                return f'<details class="thinking"><summary>Thinking</summary>\n{inner}</details>\n'
            case ToolCall():
                return self._call(index, block)
            case ToolResult(call_id, _, is_error):
                if (index, call_id) in self._shown:
                    return ""
                name = "error" if is_error else "result"
                return (
                    f'<details class="tool{" bad" if is_error else ""}"><summary><b>{name}</b> '
                    f"<code>of a call that is not before it</code></summary>\n{self._result(block)}</details>\n"
                )

    def _prose(self, text: str) -> str:
        if not text.strip():
            return ""
        if len(text) > min(PARSED_CHARACTERS, self._parsed_left):
            return _verbatim("text", text)
        self._parsed_left -= len(text)
        return f'<div class="prose">\n{self._markdown.render(visible(text))}</div>\n'

    def _call(self, index: int, call: ToolCall) -> str:
        arguments = named_arguments(call.args)
        first = next((" ".join(visible(value[:1000]).split()) for _, value in arguments if value.strip()), "")
        if len(first) > SUMMARY_CHARACTERS:
            first = first[: SUMMARY_CHARACTERS - 1] + "…"
        at, result = self._results.get(call.id, (-1, None))
        state, note = "", ""
        if result is not None and at > index and (at, call.id) not in self._shown:
            self._shown.add((at, call.id))
            answer = self._result(result)
            if result.is_error:
                state, note = " bad", " <em>error</em>"
        else:
            answer, note = "", " <em>no result</em>"
        rows = "".join(
            (f"<h3>{_text(name[:200])}</h3>\n" if name else "") + _verbatim("code", value) for name, value in arguments
        )
        head = "<h3>result</h3>\n" if answer else ""
        return (
            f'<details class="tool{state}"><summary><b>{_text(call.name[:200])}</b> '
            f"<code><bdi>{_text(first)}</bdi></code>{note}</summary>\n{rows}{head}{answer}</details>\n"
        )

    def _result(self, result: ToolResult) -> str:
        parts = [
            _verbatim("code", part.text) if isinstance(part, Text) else self._image(part) for part in result.content
        ]
        return "".join(parts) or '<p class="note">empty</p>\n'

    def _image(self, image: Image) -> str:
        label = _text(image_text(image))
        size = image_bytes(image)
        if image.mime_type not in IMAGE_TYPES or not _BASE64.fullmatch(image.data):
            return f'<p class="note">[{label}: not shown]</p>\n'
        if size > min(IMAGE_BYTES, self._images_left):
            return f'<p class="note">[{label}: too large for this page]</p>\n'
        self._images_left -= size
        return f'<figure><img alt="{label}" src="data:{image.mime_type};base64,{image.data}"></figure>\n'

    def _compaction(self, compacted: Compacted) -> str:
        messages = "".join(
            self._prose(block.text)
            for message in compacted.messages[:1]
            for block in message.content
            if isinstance(block, Text)
        )
        return (
            f'<details class="compacted"><summary>{_text(compaction_text(compacted))}</summary>\n{messages}</details>\n'
        )


def _markdown() -> MarkdownIt:
    """CommonMark with tables, without HTML and images, and with links to the web only."""
    from markdown_it import MarkdownIt  # 30 ms, for exports only

    class Harmless(MarkdownIt):
        def validateLink(self, url: str) -> bool:  # noqa: N802  the name is the library's
            return bool(_SAFE_LINK.match(url))

    markdown = Harmless("commonmark", {"html": False}).enable("table").disable("image")
    for cell in ("th_open", "td_open"):
        markdown.add_render_rule(cell, _without_style)
    return markdown


def _without_style(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, _env: Any) -> str:
    """A cell of a table without the style that aligns it: the page's policy allows the style sheet only."""
    tokens[index].attrs.pop("style", None)
    return renderer.renderToken(tokens, index, options, _env)


def _verbatim(kind: str, text: str) -> str:
    """A text as it is, cut to `TEXT_CHARACTERS`."""
    rest = len(text) - TEXT_CHARACTERS
    cut = f'<p class="note">{rest:,} more characters are left out</p>\n' if rest > 0 else ""
    # A line feed at the start of <pre> is not shown: one more keeps that of the text.
    return f'<pre class="{kind}" dir="auto">\n{_text(text[:TEXT_CHARACTERS].rstrip())}</pre>\n{cut}'


def _text(text: str) -> str:
    """Text as the content of an element or of a quoted attribute."""
    return escape(visible(text), quote=True)
