"""The command line, tables and JSON output that all benchmarks share."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def parse(program: str, what: str, argv: list[str] | None = None, *, parts: Sequence[str] = ()) -> argparse.Namespace:
    """Reads `--quick` and `--json FILE`, and `--part NAME` for a benchmark with parts."""
    return flags(program, what, parts).parse_args(argv)


def flags(program: str, what: str, parts: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of `parse`, for a benchmark with further flags."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{program}", description=what)
    parser.add_argument("--quick", action="store_true", help="a smoke test: few samples, figures of no worth")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the raw figures there")
    if parts:
        said = f"only this one of {', '.join(parts)}; repeatable"
        parser.add_argument("--part", action="append", choices=parts, metavar="NAME", help=said)
    return parser


def machine() -> str:
    """Describes the machine in one line: cores, system, Python version."""
    return f"{os.cpu_count()} cores ({platform.machine()}), {platform.system()} {platform.release().split('-')[0]}, " \
        f"{platform.python_implementation()} {platform.python_version()}"  # fmt: skip


@dataclass
class Table:
    """Rows of cells. Numbers below 100 are shown with two decimals, below 1000 with one."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, *cells: Any) -> None:
        self.rows.append(cells)

    def __str__(self) -> str:
        lines = [self.columns, *[tuple(_shown(cell) for cell in row) for row in self.rows]]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        text = ["  ".join(_aligned(cell, widths[i], i) for i, cell in enumerate(line)).rstrip() for line in lines]
        return "\n".join(["", self.title, text[0], "-" * len(text[0]), *text[1:]])


class Report:
    """Prints each table when it is complete, and writes all of them for `--json` at the end."""

    def __init__(self, program: str, options: argparse.Namespace) -> None:
        self._program = program
        self._options = options
        self._tables: list[Table] = []
        self._notes: list[str] = []
        print(machine() + (", --quick" if options.quick else ""))

    def show(self, table: Table) -> None:
        self._tables.append(table)
        print(table, flush=True)

    def note(self, text: str) -> None:
        self._notes.append(text)
        print(text, flush=True)

    def progress(self, text: str) -> None:
        print(f"… {text}", file=sys.stderr, flush=True)

    def finish(self) -> None:
        if self._options.json is None:
            return
        tables = [{"title": t.title, "columns": t.columns, "rows": t.rows} for t in self._tables]
        whole = {"benchmark": self._program, "machine": machine(), "quick": self._options.quick}
        self._options.json.write_text(json.dumps({**whole, "notes": self._notes, "tables": tables}, indent=1) + "\n")


def _shown(cell: Any) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.0f}" if abs(cell) >= 1000 else f"{cell:.1f}" if abs(cell) >= 100 else f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column == 0 else cell.rjust(width)
