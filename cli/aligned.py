"""Rows of cells as lines of text in columns."""

from __future__ import annotations

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
