"""Reads a file of JSON lines. The first line tells the kind of the file, and so its reader."""

from __future__ import annotations

import os
import stat
from typing import IO, TYPE_CHECKING, Any

import msgspec

from cli.report.reading.event_stream import EVENT_TYPES, EventReader
from cli.report.reading.recording import InputError, RecordedRun
from cli.report.reading.stats_file import StatsReader
from wire.lenient_json import UNREADABLE, reason, repaired
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

BUFFER = 4 * 1024 * 1024
LINE_LIMIT = 256 * 1024 * 1024
"""The longest line, in bytes. A sample of 300 extensions has less than half a megabyte."""


class _Typed(msgspec.Struct):
    type: str


_typed: msgspec.json.Decoder[_Typed] = msgspec.json.Decoder(_Typed)


def read_recording(path: str) -> RecordedRun:
    """The recording in a file. An unreadable last line is left out, with a note. Raises `InputError`."""
    shown = printable(path)
    try:
        with open(path, "rb", buffering=BUFFER) as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode) and os.fstat(file.fileno()).st_size == 0:
                raise InputError(f"{shown} is empty: nothing was recorded. {_HOW}")
            return _read(file, shown)
    except OSError as error:
        raise InputError(f"cannot read {shown}: {error.strerror}. {_HOW}") from None


_HOW = "Record a run with `zot --json --stats FILE …`, then `zot report FILE`"


def _read(file: IO[bytes], shown: str) -> RecordedRun:
    reader: StatsReader | EventReader | None = None
    cut_off = ""
    for number, line, is_last in _lines(file):
        try:
            if len(line) >= LINE_LIMIT:
                raise InputError(f"longer than {LINE_LIMIT // 2**20} MiB")
            if reader is None:
                reader = _reader_for(line)
            _feed(reader, line, number, is_last)
        except InputError as error:
            if not is_last:
                raise InputError(f"{shown}:{number}: {error}") from None
            cut_off = f"The last line (line {number}) cannot be read ({error}) and is left out."
            if not line.endswith(b"\n"):
                cut_off = (
                    f"The last line (line {number}) is cut off: whatever wrote the file was ended in the middle of it. "
                    "Everything before it is shown."
                )
    if reader is None or not reader.has_anything:
        why = "its only line is cut off or unreadable" if cut_off else "it has no lines"
        raise InputError(f"{shown} holds nothing to show: {why}. {_HOW}")
    try:
        return reader.finish([cut_off] if cut_off else [])
    except InputError as error:
        raise InputError(f"{shown}: {error}") from None


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    """The number and the text of each line, and whether it is the last one. Skips empty lines."""
    number = 0
    held: tuple[int, bytes] | None = None
    while line := file.readline(LINE_LIMIT):
        number += 1
        if not line.strip():
            continue
        if held is not None:
            yield *held, False
        held = (number, line)
    if held is not None:
        yield *held, True


def _reader_for(line: bytes) -> StatsReader | EventReader:
    kind = _decoded(_typed, line).type
    if kind in StatsReader.types:
        return StatsReader()
    if kind in EVENT_TYPES:
        return EventReader()
    raise InputError(f"{printable(kind)[:40]!r} is neither a line of a --stats file nor an event of --json")


def _feed(reader: StatsReader | EventReader, line: bytes, number: int, is_last: bool) -> None:
    try:
        value = _decoded(reader.decoder, line)
    except InputError:
        if _decoded(_typed, line).type in reader.types:
            raise
        return  # a type of a later version
    reader.add(value, line, number, is_last)


def _decoded(decoder: msgspec.json.Decoder[Any], line: bytes) -> Any:
    """As lenient as zot's own readers: bytes that are not UTF-8 become U+FFFD."""
    try:
        return decoder.decode(line)
    except UNREADABLE as error:
        mended = repaired(line)
        if mended is None:
            raise InputError(f"not a readable line: {reason(error)}") from None
    try:
        return decoder.decode(mended)
    except UNREADABLE as error:
        raise InputError(f"not a readable line: {reason(error)}") from None
