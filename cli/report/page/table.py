"""Tables of a page. The script sorts and filters their rows, and draws bars in columns that have them."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

import msgspec

from cli.report.markup import TEXT_CHARACTERS, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

NAME_CHARACTERS = 80
"""Maximum characters of a text that names something."""


class TableColumn(msgspec.Struct, frozen=True):
    title: str
    hint: str = ""
    is_text: bool = False
    has_bar: bool = False
    is_name: bool = False
    """Whether its cells are the headers of their rows."""
    is_folded: bool = False
    """Whether it is shown only with all columns, which the reader asks for. One table of a page has such columns."""


class Cell(msgspec.Struct, frozen=True, gc=False):
    label: str
    value: float | None = None
    """The value of a number: rows are sorted by it. None if unknown."""
    style: str = ""
    """`bad` or `zero` of a number; of a text, the style of a state."""
    link: str = ""
    """An address, escaped as such."""
    hint: str = ""
    note: str = ""
    """Small text behind the label."""


def number_cell(value: float | None, label: Callable[[float], str], *, is_bad: bool = False) -> Cell:
    """The cell of a number. `is_bad` marks a value above 0; one that is not known is a `-`."""
    if value is None:
        return Cell("-")
    return Cell(label(value), value, "zero" if value == 0 else "bad" if is_bad and value > 0 else "")


def chip(state: str, style: str, hint: str = "") -> str:
    """A state, as a word in a colour."""
    return f'<span class="state {style}"{_hint(hint)}>{text(state, 40)}</span>'


def table(
    label: str,
    columns: Sequence[TableColumn],
    rows: Iterable[Sequence[Cell]],
    *,
    ids: Iterable[str] = (),
    style: str = "",
    sorted_by: int | None = None,
    filter_hint: str = "",
    shown: int = 0,
) -> str:
    """A table that scrolls by itself. `ids` are those of the first rows; `sorted_by` is the column whose values fall.
    With `filter_hint` the script offers to filter by the first two columns. It shows `shown` rows at once, all if 0."""
    head = "".join(_head(column, is_sorted=index == sorted_by) for index, column in enumerate(columns))
    tags = chain((f'<tr id="{each}">' for each in ids), repeat("<tr>"))
    made = [f"{tag}{''.join(map(_cell, columns, row))}</tr>" for tag, row in zip(tags, rows, strict=False)]
    at_once = shown or len(made)
    body = f"<tbody>{''.join(made[:at_once])}</tbody>"
    if made[at_once:]:
        body += f'<tbody class="rest">{"".join(made[at_once:])}</tbody>'
    given = f' class="{style}"' if style else ""
    folded = sum(column.is_folded for column in columns)
    given += f' data-filter="{text(filter_hint)}"' if filter_hint else ""
    return (_unfolder(folded) if folded else "") + (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(label)}"><table{given}>'
        f"<thead><tr>{head}</tr></thead>{body}</table></div>"
    )


def _unfolder(folded: int) -> str:
    """The switch that shows the folded columns of the table behind it; works without the script."""
    return (
        '<input type="checkbox" id="all-columns" class="unfold"><label for="all-columns" class="unfold">'
        f"{folded} more columns</label>"
    )


def _classes(column: TableColumn, style: str = "") -> str:
    names = " ".join(filter(None, ("text" if column.is_text else "", style, "folded" if column.is_folded else "")))
    return f' class="{names}"' if names else ""


def _head(column: TableColumn, *, is_sorted: bool) -> str:
    given = _classes(column) + (" data-bar" if column.has_bar else "")
    given += ' aria-sort="descending"' if is_sorted else ""
    return f'<th scope="col"{given}{_hint(column.hint)}>{text(column.title)}</th>'


def _cell(column: TableColumn, cell: Cell) -> str:
    note = f" <small>{text(cell.note)}</small>" if cell.note else ""
    if column.is_name:
        return f'<th scope="row">{name_text(cell.label, cell.link, cell.hint)}{note}</th>'
    if not column.is_text:
        value = "" if cell.value is None else f' data-v="{cell.value:.6g}"'
        return f"<td{value}{_classes(column, cell.style)}>{text(cell.label)}</td>"
    if cell.style:
        return f"<td{_classes(column)}>{chip(cell.label, cell.style, cell.hint)}{note}</td>"
    said = name_text(cell.label, cell.link, cell.hint, TEXT_CHARACTERS) if cell.label else ""
    return f"<td{_classes(column)}>{said}{note}</td>"


def name_text(label: str, link: str = "", hint: str = "", most: int = NAME_CHARACTERS) -> str:
    """A text of others, which cannot turn the text around it; never empty, so that a link has a text."""
    shown = f"<bdi{_hint(hint)}>{text(label, most) if label.strip() else '(no name)'}</bdi>"
    return f'<a href="{link}">{shown}</a>' if link else shown


def _hint(hint: str) -> str:
    return f' title="{text(hint, 200)}"' if hint else ""


def section(id_: str, title: str, caption: str, body: str, *, is_drawn: bool = False) -> str:
    """A section of a page. `caption` and `body` are HTML already. One that `is_drawn` has nothing to show without the
    script."""
    said = f'<p class="caption">{caption}</p>' if caption else ""
    return f'<section id="{id_}"{" hidden" if is_drawn else ""}><h2>{title}</h2>{said}{body}</section>'


def figure(kind: str, tables: str) -> str:
    """The place of a chart, which the script draws, and the same in tables, which it folds away."""
    told = f'<details class="told" open><summary>As a table</summary>{tables}</details>' if tables else ""
    return f'<div data-figure="{kind}"></div>{told}'
