"""Sessions that go from one machine to another: zot's `.zotsession` files, whose `meta` row names no folder."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

import orjson
from msgspec.structs import replace

from agent.sessions.file import SessionFile, write_file
from agent.sessions.places import PORTABLE_SUFFIX
from agent.sessions.reading.source import SessionSource
from agent.sessions.rows import Meta, Unreadable, meta_line

if TYPE_CHECKING:
    from pathlib import Path

    from agent.sessions.torn_line import Line

IMPORT_LIMIT = 500 * 1000 * 1000
"""Maximum of a file to import in bytes."""
SLUG_CHARACTERS = 40
ID_CHARACTERS = 8


def export_portable(source: Path, target: Path) -> Path:
    """Writes a session for another machine to `target` and returns the file. A missing suffix is added. If `target` is
    a folder, the file gets a name of the session's start, id and first prompt. An existing file is replaced. The
    rows are copied as they are, without lines that are no JSON objects. Raises `SessionError`."""
    with SessionSource(source) as original:
        _choose(original)
        original.require_session()
        path = target / _name(original) if os.path.isdir(target) else target
        if not path.name.lower().endswith(PORTABLE_SUFFIX):
            path = path.with_name(path.name + PORTABLE_SUFFIX)
        write_file(path, chain([_head(original)], original.kept()))
        return path


def portable_text(source: Path) -> bytes:
    """The text that `export_portable` writes. Raises `SessionError`."""
    with SessionSource(source) as original:
        _choose(original)
        original.require_session()
        return b"".join([_head(original), *original.kept()])


def _head(original: SessionSource) -> bytes:
    return meta_line(replace(original.meta, cwd="", title=original.title))


def import_session(source: Path, home: Path, *, cwd: str, version: str) -> Path:
    """Makes a new session of the folder `cwd` from a file of another machine, or any session file; returns its file.
    The session gets a new id and start, and no parent; its rows are copied as they are. Raises `SessionError`."""
    with SessionSource(source, size_limit=IMPORT_LIMIT) as original:
        _choose(original)
        original.require_session()
        found = original.meta
        meta = Meta(cwd=cwd, model=found.model, provider=found.provider, version=version, title=original.title)
        file = SessionFile.new(home, meta, original)
        try:
            return file.create()
        finally:
            file.close()


def _choose(original: SessionSource) -> None:
    for line, row in original.lines():
        if not isinstance(row, Meta) and (not isinstance(row, Unreadable) or _is_object(line)):
            original.keep(line)


def _is_object(line: Line) -> bool:
    """Whether the line is a JSON object, maybe of a row that only other readers know."""
    try:
        found = orjson.loads(line.text or b"")
    except orjson.JSONDecodeError:
        return False
    return isinstance(found, dict) and found.get("type") != "meta"


def _name(original: SessionSource) -> str:
    """`YYYYMMDD-HHMMSS-ID-SLUG.zotsession`, as in zot; unknown parts are left out."""
    meta = original.meta
    parts = [_stamp(meta.started), _slug(meta.id[:ID_CHARACTERS]), _slug(original.first_prompt)]
    return "-".join(part for part in parts if part) + PORTABLE_SUFFIX


def _stamp(started: str) -> str:
    try:
        return datetime.fromisoformat(started).astimezone(UTC).strftime("%Y%m%d-%H%M%S")
    except (ValueError, OverflowError):
        return ""


def _slug(text: str) -> str:
    """The words of a text for a file name: ASCII letters and digits, joined by hyphens."""
    start = text[: 10 * SLUG_CHARACTERS].lower()
    words = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in start).split()
    return "-".join(words)[:SLUG_CHARACTERS].strip("-")
