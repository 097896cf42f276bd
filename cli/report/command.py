"""`zot report`: reads a recording, writes its page, and says where the page is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from agent.tools.files.atomic import replace_file
from agent.tools.outcome import ToolError
from cli.os_errors import discard_output
from cli.report.page.page import SIGNATURE, render
from cli.report.reading.recording import InputError
from cli.report.reading.source import read_recording
from cli.version import VERSION
from wire.exit_codes import Status
from wire.text import printable

STDIN = "/dev/stdin"


def make_report(source: str, output: str | None) -> int:
    """Writes the page and returns the exit status: 0, 2 if the file or the name cannot be used, 1 if the page cannot be
    written, 130 if the reader of stdout has gone.

    `source` is a file, or `-` for stdin; `output` a file, `-` for stdout, or None for the source's name with `.html`.
    Says on stderr where the page is.
    """
    if source == "-":
        source = STDIN
    try:
        target = _target(source, output)
        page = render(read_recording(source), source_name=os.path.basename(source), version=VERSION)
    except InputError as error:
        return _refused(str(error), Status.USAGE)
    if target is None:
        return _print(page)
    try:
        replace_file(target, page.encode())
    except ToolError as error:
        return _refused(
            f"the page cannot be written: {printable(str(error))}; choose another file with -o", Status.ERROR
        )
    print(f"{printable(target)}: open it in a browser", file=sys.stderr)  # noqa: T201
    return Status.OK.exit_code


def _target(source: str, output: str | None) -> str | None:
    """The file for the page; None for stdout. Raises `InputError` if the file cannot be used: for example, without -o,
    if it exists and is not a report."""
    if output == "-":
        return None
    if output == "":
        raise InputError("-o needs the name of a file, or - for stdout")
    target = output if output is not None else _beside(source)
    if _is_same(source, target):
        raise InputError(f"{printable(target)} is the recording itself; choose another file with -o")
    if output is None and os.path.exists(target) and not _is_ours(target):
        raise InputError(f"{printable(target)} is there already and is no report; choose another file with -o")
    return target


def _beside(source: str) -> str:
    path = Path(source)
    if path.is_dir():
        raise InputError(f"{printable(source) or '.'} is a folder; name the file of --stats or --json in it")
    if source == STDIN or (path.exists() and not path.is_file()):
        raise InputError(f"say where the page of {printable(source)} goes: -o FILE, or -o - for stdout")
    return str(path.with_suffix(".html"))


def _is_same(source: str, target: str) -> bool:
    try:
        return os.path.samefile(source, target)
    except OSError:
        return os.path.abspath(source) == os.path.abspath(target)


def _is_ours(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(SIGNATURE)) == SIGNATURE.encode()
    except OSError:
        return False


def _print(page: str) -> int:
    try:
        sys.stdout.buffer.write(page.encode())
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        return Status.INTERRUPTED.exit_code
    except OSError as error:
        return _refused(f"stdout cannot be written: {error.strerror}", Status.ERROR)
    return Status.OK.exit_code


def _refused(why: str, status: Status) -> int:
    print(f"zot report: {why}", file=sys.stderr)  # noqa: T201
    return status.exit_code
