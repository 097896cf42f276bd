"""Reads a file of JSON lines. The type of the first line chooses the reader."""

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from cli.report.input.event_stream import EVENT_TYPES, EventReader
from cli.report.input.recorded_run import InputError, RecordedRun
from cli.report.input.stats_file import StatsReader
from supervisor.home.safe_files import parts
from supervisor.monitoring.rotated_file import PARTS
from wire.lenient_json import UNREADABLE, reason, repair
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

BUFFER = 4 * 1024 * 1024
LINE_LIMIT = 256 * 1024 * 1024
"""Maximum length of a line in bytes. A sample of 300 extensions has less than half a megabyte."""

LONGEST_NUMBER = 19
"""Maximum number of digits of a whole number; 2^63 has 19."""
_MANY_DIGITS = re.compile(rb"[0-9]{20}")


class _Typed(msgspec.Struct):
    type: str


_typed: msgspec.json.Decoder[_Typed] = msgspec.json.Decoder(_Typed)


def read_recording(path: str) -> RecordedRun:
    """The recording in a file and in its rotated parts. An unreadable last line is left out, with a note. Raises
    `InputError`."""
    shown = printable(path)
    try:
        with ExitStack() as stack:
            file = stack.enter_context(open(path, "rb", buffering=BUFFER))
            is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            if is_regular and os.fstat(file.fileno()).st_size == 0:
                raise InputError(f"{shown} is empty: nothing was recorded. {_HOW}")
            files = [(shown, file)]
            if is_regular and _is_stats(file):
                older = [part for part in parts(Path(path), PARTS)[1:] if part.is_file()]
                for part in older:
                    files.insert(0, (printable(str(part)), stack.enter_context(open(part, "rb", buffering=BUFFER))))
            return _read(files, Path(path))
    except OSError as error:
        raise InputError(f"cannot read {shown}: {error.strerror}. {_HOW}") from None


_HOW = "Record a run with `zot --json --stats FILE …`, then `zot report FILE`"


def _is_stats(file: IO[bytes]) -> bool:
    """Whether a file begins with a line of `--stats`. Rewinds the file."""
    line = file.readline(LINE_LIMIT)
    file.seek(0)
    try:
        return _decode(_typed, line).type in StatsReader.types
    except InputError:
        return False


def _read(files: Sequence[tuple[str, IO[bytes]]], path: Path) -> RecordedRun:
    reader: StatsReader | EventReader | None = None
    notes: list[str] = []
    unread: str | None = None
    """The fault of the line before. It is no error if this line begins another run."""
    for shown, number, line, is_last in _lines(files):
        try:
            reader = reader or _reader_for(line, path)
            value = _value(reader, line)
            if isinstance(reader, StatsReader) and reader.begins_a_run(value):
                unread = None
            if unread is None and value is not None:
                reader.add(value, line, number, is_last)
        except InputError as error:
            if is_last:
                notes.append(_note_cut_line(line, number, error))
            elif isinstance(reader, StatsReader) and reader.is_trace:
                notes.append(f"Line {number} cannot be read ({error}) and is skipped.")
            elif unread is None:
                unread = f"{shown}:{number}: {error}"
                continue
        if unread is not None:
            raise InputError(unread)
    return _finish(reader, files[-1][0], notes)


def _finish(reader: StatsReader | EventReader | None, shown: str, notes: list[str]) -> RecordedRun:
    if reader is None or not reader.has_anything:
        why = "its only line is cut off or unreadable" if notes else "it has no lines"
        raise InputError(f"{shown} holds nothing to show: {why}. {_HOW}")
    try:
        return reader.finish(notes)
    except InputError as error:
        raise InputError(f"{shown}: {error}") from None


def _note_cut_line(line: bytes, number: int, error: InputError) -> str:
    if line.endswith(b"\n"):
        return f"The last line (line {number}) cannot be read ({error}) and is skipped."
    return (
        f"The last line (line {number}) is cut off: whatever wrote the file was ended in the middle of it. "
        "Everything before it is shown."
    )


def _lines(files: Iterable[tuple[str, IO[bytes]]]) -> Iterator[tuple[str, int, bytes, bool]]:
    """The file, number and text of each line, and whether it is the last line of all files. Skips empty lines."""
    held: tuple[str, int, bytes] | None = None
    for shown, file in files:
        number = 0
        while line := file.readline(LINE_LIMIT):
            number += 1
            if not line.strip():
                continue
            if held is not None:
                yield *held, False
            held = (shown, number, line)
    if held is not None:
        yield *held, True


def _reader_for(line: bytes, path: Path) -> StatsReader | EventReader:
    kind = _decode(_typed, line).type
    if kind in StatsReader.types:
        return StatsReader(path)
    if kind in EVENT_TYPES:
        return EventReader()
    raise InputError(f"{printable(kind)[:40]!r} is neither a line of a --stats file nor an event of --json")


def _value(reader: StatsReader | EventReader, line: bytes) -> Any:
    """The decoded line; None for a type of a later version."""
    try:
        return _decode(reader.decoder, line)
    except InputError:
        if _decode(_typed, line).type in reader.types:
            raise
        return None


def _decode(decoder: msgspec.json.Decoder[Any], line: bytes) -> Any:
    """The decoded line, read as leniently as zot's own readers do: bytes that are not UTF-8 become U+FFFD."""
    if len(line) >= LINE_LIMIT:
        raise InputError(f"longer than {LINE_LIMIT // 2**20} MiB")
    if _MANY_DIGITS.search(line):
        _check_numbers(line)
    try:
        return decoder.decode(line)
    except UNREADABLE as error:
        mended = repair(line)
        if mended is None:
            raise InputError(f"not a readable line: {reason(error)}") from None
    try:
        return decoder.decode(mended)
    except UNREADABLE as error:
        raise InputError(f"not a readable line: {reason(error)}") from None


def _check_numbers(line: bytes) -> None:
    """Raises `InputError` for a whole number with more than `LONGEST_NUMBER` digits: no counter reaches it."""
    try:
        json.loads(line, parse_int=_check_digits)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        pass  # the decoder says what is wrong


def _check_digits(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise InputError(f"not a readable line: the number {digits[:LONGEST_NUMBER]}… is too large")
    return 0
