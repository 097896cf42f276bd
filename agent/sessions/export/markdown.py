"""A session as Markdown. Texts stay Markdown, but cannot affect other messages: an open fence is closed, and HTML is
shown, not rendered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent.sessions.export.conversation import CallPart, ConversationEntry, NotePart, Part, ResultPart, conversation_of
from agent.sessions.export.labels import (
    ROLES,
    clock_of,
    facts_of,
    fault_text,
    image_text,
    title_of,
    usage_text,
    visible,
)
from agent.sessions.reading.arguments import named_arguments
from agent.transcript import Image, Text, Thinking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from agent.sessions.reading.history import History

PARSED_CHARACTERS = 64 * 1024
"""Maximum of a parsed text; a longer one is shown as a block of code."""
_EVERYWHERE = re.compile(
    r"<https?://[^\s<>]*>"
    r"|(?i:(?:https?|ftp)://|www\.)[^ \t\n\f\v<]*"  # GitHub takes a backtick as a part of the address
    r"|\\?[<&]|\\[!-/:-@[-`{-~]"
)
"""Addresses, which stay; `<` and `&`, also after a backslash; and other signs after a backslash."""
_OUTSIDE_SPANS = re.compile(rf"(`+)(?!`).*?(?<!`)\1(?!`)|`+|{_EVERYWHERE.pattern}", re.DOTALL)
"""The same, and spans of code, which stay."""
_GOES_ON = re.compile(r"(?i:://|www\.)[^\s<]*<[^\s`]*`")
_ENTITIES = {"<": "&lt;", "&": "&amp;"}
_TICKS = re.compile(r"`+")
_MEANING = re.compile(r"([\\`*_\[\]<>#|~&])")


def export_markdown(history: History) -> str:
    """The document, with a line feed at its end."""
    parts = list(_head(history))
    for step in conversation_of(history):
        if isinstance(step, ConversationEntry):
            at = f" · {_plain(clock_of(step.time))}" if step.time else ""
            parts.append(f"## {step.number}. {ROLES[step.role]}{at}")
            parts += (shown for part in step.parts for shown in _part(part))
        else:
            parts += ["---", f"*{step.title}.*", *(contain_markdown(visible(text)) for text in step.texts), "---"]
    parts += ["---", f"{_plain(usage_text(history.info.usage))}"]
    return "\n\n".join(parts) + "\n"


def fenced_block(text: str, language: str = "") -> str:
    """The text as a block of code, between fences that are longer than any in it."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


def contain_markdown(text: str) -> str:
    """Markdown without HTML and without effect on the text after it: `<` and `&` outside code become entities, and each
    block of code gets its own fences, also an indented or unclosed one."""
    if len(text) > PARSED_CHARACTERS:
        return fenced_block(text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # as the parser counts lines
    shown = _contain(text, keeps_spans=True)
    may_have_html = "`" in text and "<" in text
    return _contain(text, keeps_spans=False) if may_have_html and _has_html(shown) else shown


def _contain(text: str, *, keeps_spans: bool) -> str:
    lines = text.split("\n")
    shown: list[str] = []
    for first, after, token in _blocks(text, len(lines)):
        part = "\n".join(lines[first:after])
        if token is None or token.type == "inline":
            has_spans = keeps_spans and token is not None and _are_spans_clear(part)
            shown.append((_OUTSIDE_SPANS if has_spans else _EVERYWHERE).sub(_escape, part))
        elif token.level == 0:  # an open fence; an indented block, which can belong to a footnote
            shown.append(fenced_block(token.content, token.info.replace("`", "").replace("|", "").strip()))
        elif token.type == "fence":  # some readers see a table in a fence with a |
            head, feed, rest = part.partition("\n")
            shown.append(head.replace("|", "") + feed + rest)
        else:
            shown.append(part)
    return "\n".join(shown)


def _blocks(text: str, count: int) -> Iterator[tuple[int, int, Token | None]]:
    """Parts of the text as first line, line after the last, and token: the blocks of code, and texts in which a code
    span may continue over lines. Each line between is a part without a token."""
    at = 0
    for token in _parser().disable("inline").parse(text):
        if token.type in ("fence", "code_block", "inline") and token.map is not None and token.map[0] >= at:
            first, after = token.map
            yield from ((line, line + 1, None) for line in range(at, first))
            yield first, after, token
            at = after
    yield from ((line, line + 1, None) for line in range(at, count))


def _are_spans_clear(text: str) -> bool:
    """Whether all backticks belong to spans. GitHub's reader misses a span after backticks that begin none, and takes
    backticks as a part of an address that goes on behind an escaped `<`."""
    return not _GOES_ON.search(text) and all(
        found[1] or not found[0].startswith("`") for found in _OUTSIDE_SPANS.finditer(text)
    )


def _has_html(text: str) -> bool:
    """Whether a reader of Markdown, with tables or without, finds HTML in the text. The pattern alone cannot find code
    spans: a backtick in a link's address begins none, and the end of a table cell ends one."""
    parsers = [_parser(html=True), *([_parser(html=True).enable("table")] if "|" in text else ())]
    return any(
        inner.type in ("html_inline", "html_block")
        for parser in parsers
        for token in parser.parse(text)
        for inner in (token, *(token.children or ()))
    )


def _parser(*, html: bool = False) -> MarkdownIt:
    from markdown_it import MarkdownIt  # 30 ms, for exports only

    return MarkdownIt("commonmark", {"html": html})


def _escape(found: re.Match[str]) -> str:
    return _ENTITIES.get(found[0][-1], found[0]) if len(found[0]) <= 2 else found[0]


def _head(history: History) -> Iterator[str]:
    yield f"# {_plain(title_of(history))}"
    yield "\n".join(f"- {name}: {_on_a_line(value)}" for name, value in facts_of(history.info))
    if faults := fault_text(history):
        yield f"> {faults}."
    if history.summary:
        yield "## Summary"
        yield contain_markdown(visible(history.summary))


def _part(part: Part) -> Iterator[str]:
    match part:
        case Text(text):
            if text.strip():
                yield contain_markdown(visible(text).strip("\n"))
        case Image():
            yield f"*[{_plain(image_text(part))}]*"
        case Thinking(text):
            yield "**Thinking**"
            yield fenced_block(visible(text), "text") if text else "*[encrypted]*"
        case CallPart(name, args):
            yield f"**Call of {_on_a_line(name)}**"
            for argument, value in named_arguments(args):
                if argument:
                    yield f"{_on_a_line(argument)}:"
                yield fenced_block(visible(value), "" if argument else "json")
        case ResultPart():
            yield from _result(part)
        case NotePart(text):
            yield f"*{_on_a_line(text)}*"


def _result(result: ResultPart) -> Iterator[str]:
    yield f"**{'Error' if result.is_error else 'Result'} of {_on_a_line(result.tool or 'a call that is not there')}**"
    for part in result.content:
        yield fenced_block(visible(part.text), "text") if isinstance(part, Text) else f"*[{_plain(image_text(part))}]*"


def _on_a_line(text: str) -> str:
    return _plain(" ".join(visible(text).split()))


def _plain(text: str) -> str:
    """A text on one line, with Markdown's signs escaped."""
    return _MEANING.sub(r"\\\1", text)
