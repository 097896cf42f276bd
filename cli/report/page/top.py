"""The top of a page: title, facts, notes, the most important figures, and the things to look at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from cli.report.markup import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Tile(msgspec.Struct, frozen=True):
    """One figure at the top of the page; `said` is the text below it."""

    label: str
    value: str
    said: str = ""
    is_bad: bool = False
    style: str = "bad"
    """How a bad tile looks: `bad`, or `warn` if only the text below the value is bad."""


def top(title: str, facts: Iterable[tuple[str, str]], notes: Iterable[str] = ()) -> str:
    """The header, with the facts that have a value; then notes."""
    told = "".join(f"<div><dt>{text(label)}</dt><dd>{text(value)}</dd></div>" for label, value in facts if value)
    listed = "".join(f"<li>{code_elements(text(note))}</li>" for note in notes)
    return f'<header><h1>{text(title)}</h1><dl class="facts">{told}</dl></header>' + (
        f'<ul class="notes" role="note">{listed}</ul>' if listed else ""
    )


def tile_row(tiles: Iterable[Tile]) -> str:
    """The tiles beside each other; empty without any."""
    shown = "".join(
        f'<div class="tile{f" {tile.style}" if tile.is_bad else ""}"><dt>{text(tile.label)}</dt>'
        f"<dd>{text(tile.value)}</dd>"
        f'<small title="{text(tile.said)}">{text(tile.said, 80)}</small></div>'
        for tile in tiles
    )
    return f'<dl class="tiles">{shown}</dl>' if shown else ""


def code_elements(escaped: str) -> str:
    """Turns backquotes into `<code>` elements: notes have commands between backquotes."""
    parts = escaped.split("`")
    if len(parts) % 2 == 0:
        return escaped
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def findings(title: str, rows: Sequence[tuple[str, str, bool]], calm: str) -> str:
    """The section with heading, text and importance of each thing to look at, both HTML already; `calm` is the text
    without any."""
    if not rows:
        return f'<section id="findings" class="calm"><h2>{title}</h2><p>{calm}</p></section>'
    shown = "".join(
        f'<li class="{"bad" if is_bad else "plain"}"><b>{heading}</b><div>{said}</div></li>'
        for heading, said, is_bad in rows
    )
    return f'<section id="findings"><h2>{title}</h2><ul>{shown}</ul></section>'
