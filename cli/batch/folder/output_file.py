"""Delivers the output of a command: to stdout, or with -o to a file, whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import IO

OutputFile = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        help="Write to this file instead of stdout, whole or not at all; an existing file is replaced.",
        metavar="FILE",
    ),
]


def deliver(lines: Iterable[bytes], output: str | None, *, is_json: bool) -> None:
    """Writes to the file, or to stdout if it is None or `-`. Raises `CommandLineError` for a folder, and `OSError`."""
    from cli.choices import CommandLineError
    from supervisor.home.safe_files import replacement

    if output is None or output == "-":
        sys.stdout.buffer.writelines(_clean_for(sys.stdout.buffer, lines, is_json=is_json))
        return
    path = Path(output)
    if not path.name or path.is_dir():
        raise CommandLineError(f"-o {path}: a folder; name the file in it")
    if path.exists() and not path.is_file():  # a device, a pipe: there is nothing to replace
        with path.open("wb") as file:
            file.writelines(_clean_for(file, lines, is_json=is_json))
        return
    with replacement(path, 0o666) as file:
        file.writelines(lines)


def _clean_for(stream: IO[bytes], lines: Iterable[bytes], *, is_json: bool) -> Iterable[bytes]:
    """On a terminal the lines without control characters."""
    from wire.text import printable, printable_json

    if not stream.isatty():
        return lines
    if is_json:
        return map(printable_json, lines)
    return (printable(line.decode("utf-8", "replace")).encode() for line in lines)
