"""The parts of a conversation as HTML. All texts are escaped. If asked for, harmless parts of the model's Markdown are
rendered."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from typing import TYPE_CHECKING, Any

from agent.sessions.export.conversation import CallPart, NotePart, Part, ResultPart
from agent.sessions.export.labels import image_bytes, image_text, visible
from agent.sessions.reading.arguments import named_arguments
from agent.transcript import Image, Text, Thinking
from wire.text import noun_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token

    from agent.transcript import Role

TEXT_CHARACTERS = 256 * 1024
"""Maximum of one text; the rest is left out."""
PARSED_CHARACTERS = 32 * 1024
ALL_PARSED_CHARACTERS = 2 * 1024 * 1024
"""Maximum of one text of the model, and of all, that are parsed as Markdown; others are shown unrendered. A hostile
text takes a second for each 100 KiB."""
IMAGE_BYTES = 2 * 1024 * 1024
IMAGES_BYTES = 16 * 1024 * 1024
"""Maximum of one image, and of all, in bytes; others become a line."""
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
DOCTYPE = "<!doctype html>\n"
SUMMARY_CHARACTERS = 160
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_SAFE_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


class HtmlParts:
    """Writes the parts of one document, and counts its images and Markdown towards their limits."""

    def __init__(self, *, has_prose: bool, has_first_lines: bool = False) -> None:
        """With `has_prose` the texts of the model are rendered as Markdown, else shown unrendered. With
        `has_first_lines` a folded call shows the first line of its result."""
        self._has_first_lines = has_first_lines
        self._markdown = _markdown() if has_prose else None
        self._images_left = IMAGES_BYTES
        self._parsed_left = ALL_PARSED_CHARACTERS

    def part(self, role: Role, part: Part) -> str:
        """A part of an entry of this role; "" for a result, which is shown with its call."""
        match part:
            case Text(text):
                return self.prose(text) if role == "assistant" else verbatim("text", text) if text.strip() else ""
            case Image():
                return self._image(part)
            case Thinking(text):
                inner = verbatim("text", text) if text else '<p class="note">encrypted by the provider</p>\n'
                return f'<details class="thinking"><summary>Thinking</summary>\n{inner}</details>\n'
            case CallPart():
                return self._call(part)
            case NotePart(text, is_bad):
                return f'<p class="{"bad" if is_bad else "note"}">{escape_html(text)}</p>\n'
            case ResultPart():
                if part.has_call:
                    return ""
                name = "error" if part.is_error else "result"
                return (
                    f'<details class="tool{" bad" if part.is_error else ""}"><summary><b>{name}</b> '
                    f"<code>of a call that is not before it</code></summary>\n{self._result(part)}</details>\n"
                )

    def prose(self, text: str) -> str:
        """A text of the model."""
        if not text.strip():
            return ""
        if self._markdown is None or len(text) > min(PARSED_CHARACTERS, self._parsed_left):
            return verbatim("text", text)
        self._parsed_left -= len(text)
        return f'<div class="prose">\n{self._markdown.render(visible(text))}</div>\n'

    def _call(self, call: CallPart) -> str:
        arguments = named_arguments(call.args)
        first = next((" ".join(visible(value[:1000]).split()) for _, value in arguments if value.strip()), "")
        if len(first) > SUMMARY_CHARACTERS:
            first = first[: SUMMARY_CHARACTERS - 1] + "…"
        is_bad = call.result is not None and call.result.is_error
        note = " <em>no result</em>" if call.result is None else " <em>error</em>" if is_bad else ""
        rows = "".join(
            (f"<h3>{escape_html(name[:200])}</h3>\n" if name else "") + verbatim("code", value)
            for name, value in arguments
        )
        first_line = self._first_line(call.result, [value for _, value in arguments])
        answer = "" if call.result is None else f"<h3>result</h3>\n{self._result(call.result)}"
        return (
            f'<details class="tool{" bad" if is_bad else ""}"><summary><b>{escape_html(call.name[:200])}</b> '
            f"<code><bdi>{escape_html(first)}</bdi></code>{note}{first_line}</summary>\n"
            f"{rows}{answer}</details>\n"
        )

    def _first_line(self, result: ResultPart | None, given: Sequence[str]) -> str:
        """The first line of a result that is not empty, without the command that bash repeats of what it was `given`;
        "" without one, or if such lines are not shown."""
        if result is None or not self._has_first_lines:
            return ""
        text = "\n".join(part.text for part in result.content if isinstance(part, Text)).strip()
        for command in given:
            text = text.removeprefix(f"$ {command}\n").strip()
        first, _, rest = text.partition("\n")
        if len(first) > SUMMARY_CHARACTERS:
            first = first[: SUMMARY_CHARACTERS - 1] + "…"
        more = noun_for(lines := rest.count("\n") + 1, "more line") if rest else ""
        told = f" <small>{lines:,} {more}</small>" if more else ""
        return f"<samp><bdi>{escape_html(first)}</bdi>{told}</samp>" if first else ""

    def _result(self, result: ResultPart) -> str:
        parts = [
            verbatim("code", part.text) if isinstance(part, Text) else self._image(part) for part in result.content
        ]
        return "".join(parts) or '<p class="note">empty</p>\n'

    def _image(self, image: Image) -> str:
        label = escape_html(image_text(image))
        size = image_bytes(image)
        if image.mime_type not in IMAGE_TYPES or not _BASE64.fullmatch(image.data):
            return f'<p class="note">[{label}: not shown]</p>\n'
        if size > min(IMAGE_BYTES, self._images_left):
            return f'<p class="note">[{label}: too large for this page]</p>\n'
        self._images_left -= size
        return f'<figure><img alt="{label}" src="data:{image.mime_type};base64,{image.data}"></figure>\n'


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
    """A table cell without its alignment style: the page's policy allows only the style sheet."""
    tokens[index].attrs.pop("style", None)
    return renderer.renderToken(tokens, index, options, _env)


def verbatim(kind: str, text: str) -> str:
    """A text without rendering, cut to `TEXT_CHARACTERS`."""
    rest = len(text) - TEXT_CHARACTERS
    cut = f'<p class="note">{rest:,} more characters are left out</p>\n' if rest > 0 else ""
    # Browsers drop a line feed at the start of <pre>: one more keeps that of the text.
    return f'<pre class="{kind}" dir="auto">\n{escape_html(text[:TEXT_CHARACTERS].rstrip())}</pre>\n{cut}'


def escape_html(text: str) -> str:
    """Text as the content of an element or of a quoted attribute."""
    return escape(visible(text), quote=True)


def html_document(title: str, style: str, body: str, script: str = "", *, has_images: bool = False) -> str:
    """A page in one file: with any text in it, the browser fetches nothing and uses only this style and script. `title`
    and `body` are HTML; `script` is JavaScript, "" for none."""
    allowed = ("img-src data:; " if has_images else "") + (f"script-src {_digest(script)}; " if script else "")
    policy = f"default-src 'none'; {allowed}style-src {_digest(style)}; base-uri 'none'; form-action 'none'"
    return (
        f'{DOCTYPE}<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}"
        + (f"<script>{script}</script>\n" if script else "")
        + "</body>\n</html>\n"
    )


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
