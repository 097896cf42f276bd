"""Rows of cells as lines of text in columns. In a table that must fit, the least important columns give way, and names
stay whole."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cli.terminal import wants_style

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def align_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """One line of text for each row. Columns are two spaces apart; columns in `right` are right-aligned. Rows may be
    short: the last cell of a row takes the rest of the line."""
    columns = range(max(len(row) for row in rows) - 1)
    widths = [max(len(row[column]) for row in rows if len(row) > column + 1) for column in columns]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row[:-1], widths, strict=False))
        ]
        lines.append("  ".join([*cells, row[-1]]))
    return lines


def fit_columns(
    rows: Sequence[Sequence[str]], width: int | None, gives_way: Sequence[int], right: Collection[int] = ()
) -> list[str]:
    """One line of text for each row, as `align_columns` makes it. While a line is longer than `width`, the next
    column in `gives_way` is left out. With all of these left out, lines may still be longer. Each row has all columns.
    None means any width."""
    left_out: set[int] = set()
    for column in (None, *gives_way):
        if column is not None:
            left_out.add(column)
        kept = [index for index in range(len(rows[0])) if index not in left_out]
        end = [""] if kept[-1] in right else []  # `align_columns` pads no last cell
        lines = align_columns(
            [[*(row[index] for index in kept), *end] for row in rows],
            {place for place, index in enumerate(kept) if index in right},
        )
        lines = [line.rstrip() for line in lines]
        if width is None or max(map(len, lines)) <= width:
            break
    return lines


def cut_line(line: str, width: int | None) -> str:
    """The line in at most `width` columns of a terminal; wide characters count two. None means any width."""
    from rich.cells import cell_len, set_cell_size

    if width is None or cell_len(line) <= width:
        return line
    return set_cell_size(line, width - 1).rstrip() + "…"


def pad_or_cut(text: str, width: int) -> str:
    """The text, exactly `width` columns wide; an ellipsis marks a cut."""
    from rich.cells import set_cell_size

    return set_cell_size(cut_line(text, width), width)


def print_table(lines: Sequence[str]) -> None:
    """Prints the lines of a table, the headings in bold on a terminal that wants it."""
    heading, *others = lines
    sys.stdout.write(f"\x1b[1m{heading}\x1b[0m\n" if wants_style() else f"{heading}\n")
    for line in others:
        sys.stdout.write(f"{line}\n")
