"""Rows of cells as lines of text in columns. In a table that must fit, the least important columns give way, and names
stay whole."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
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


def fitted(
    rows: Sequence[Sequence[str]], width: int | None, gives_way: Sequence[int], right: Collection[int] = ()
) -> list[str]:
    """A line of text for each row, as `aligned` makes them. While a line is longer than `width`, the next column of
    `gives_way` is left out. Lines may stay longer when all of those are gone. Each row has all columns. None means any
    width."""
    left_out: set[int] = set()
    for column in (None, *gives_way):
        if column is not None:
            left_out.add(column)
        kept = [index for index in range(len(rows[0])) if index not in left_out]
        end = [""] if kept[-1] in right else []  # `aligned` pads no last cell
        lines = aligned(
            [[*(row[index] for index in kept), *end] for row in rows],
            {place for place, index in enumerate(kept) if index in right},
        )
        lines = [line.rstrip() for line in lines]
        if width is None or max(map(len, lines)) <= width:
            break
    return lines


def table_width() -> int | None:
    """The width of the terminal that a table is printed on; None if stdout is no terminal."""
    from cli.help.page import page_width

    return page_width(widest=None) if sys.stdout.isatty() else None


def print_table(lines: Sequence[str]) -> None:
    """Prints the lines of a table, the headings in bold on a terminal that wants it."""
    from cli.help.page import wants_style

    heading, *others = lines
    sys.stdout.write(f"\x1b[1m{heading}\x1b[0m\n" if wants_style() else f"{heading}\n")
    for line in others:
        sys.stdout.write(f"{line}\n")
