"""Finds the session that a word names, by one rule for flags, commands and rpc; finds the newest one of a folder.

Only the beginnings of files are read.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agent.sessions.load import SessionError, session_descriptor
from agent.sessions.places import PORTABLE_SUFFIX, SUFFIX, session_files
from agent.sessions.rows import Meta
from agent.sessions.torn_line import Lines
from wire.events import Totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.sessions.rows import Row

LEAST_PREFIX = 4
"""Minimum of characters of an id that name a session."""
CANDIDATES_SHOWN = 5
WORD_SHOWN = 80
"""Maximum of characters of the word in an error."""
HEAD_BYTES = 64 * 1024
"""Maximum of the first row in bytes. A longer file has a message."""


class NoSuchSessionError(SessionError):
    """The word names no session, or more than one."""


def find(home: Path, cwd: str, word: str, *, named: str = "", base: str = "") -> Path:
    """The file of the session that `word` names: the name of its file, with or without the suffix; its id; the
    beginning of its id, or of the digits at the end of its file's name, of `LEAST_PREFIX` characters or more; or a
    path, which is taken as it is. Sessions of the folder `cwd` are tried before all others.

    `named`: the flag or field with the word, for the error. A relative path begins at `base`; default: the folder of
    this process. Raises `NoSuchSessionError`.
    """
    try:
        return _find(home, cwd, word.strip(), base)
    except NoSuchSessionError as error:
        raise NoSuchSessionError(f"{named}: {error}" if named else str(error)) from None


def newest(home: Path, cwd: str) -> Path:
    """The session of a working folder that was written to last. Skips hidden sessions and those without a message: a
    zot may be about to write to one. Raises `NoSuchSessionError`."""
    for path in session_files(home, cwd):
        rows = head(path)
        is_hidden = any(isinstance(row, Meta) and row.hide_from_sessions for row in rows)
        if not is_hidden and not is_empty(rows):
            return path
    raise NoSuchSessionError(
        f"there is no session of {cwd} to resume: leave out --continue, or see zot session list --all"
    )


def session_ids(home: Path, cwd: str) -> list[str]:
    """The ids of the sessions of a working folder, last written first."""
    return [id_of(path) for path in session_files(home, cwd)]


def id_of(path: Path) -> str:
    """The id in the first row of a file; else the file's name without its suffix."""
    first = next(iter(head(path)), None)
    return (first.id if isinstance(first, Meta) else "") or path.stem


def head(path: Path) -> list[Row]:
    """The rows at the beginning of a file, up to the first one that is neither `meta` nor `usage`; empty if the file
    cannot be read."""
    found: list[Row] = []
    try:
        with session_descriptor(path) as fd:
            for line in Lines(fd, HEAD_BYTES):
                found.append(line.row)
                if not isinstance(found[-1], Meta | Totals):
                    break
    except SessionError:
        return []
    return found


def is_empty(rows: Sequence[Row]) -> bool:
    """Whether a file with this head has nothing but rows about the session."""
    return all(isinstance(row, Meta | Totals) for row in rows)


def _find(home: Path, cwd: str, word: str, base: str) -> Path:
    if not word or "\0" in word:
        raise NoSuchSessionError("the id has a NUL character" if word else "the id is empty")
    if os.sep in word:
        return Path(base, word)
    unread: list[str] = []
    for files in (session_files(home, cwd), session_files(home, None, unread.append)):
        if found := _matches(files, word):
            return _single_match(found, word)
    if word.endswith((SUFFIX, PORTABLE_SUFFIX)) and (path := Path(base, word)).exists():
        return path
    if len(word) < LEAST_PREFIX:
        raise NoSuchSessionError(f"{word!r} is too short: give {LEAST_PREFIX} characters of the session's id or more")
    why = "".join(f"; {line}" for line in unread[:1])
    raise NoSuchSessionError(f"there is no session {word[:WORD_SHOWN]!r}{why}; zot session list --all names all")


def _matches(files: Sequence[Path], word: str) -> list[Path]:
    """The files that the word names, by the first rule that finds any: file name, id, beginning of the id."""
    if named := [path for path in files if word in (path.name, path.stem)]:
        return named
    if len(word) < LEAST_PREFIX:
        return []
    wanted = word.lower()
    ids = {path: id_of(path).lower() for path in files}
    if exact := [path for path, each in ids.items() if each == wanted]:
        return exact
    return [path for path, each in ids.items() if each.startswith(wanted) or _digits(path).startswith(wanted)]


def _digits(path: Path) -> str:
    """The first digits of the id in the file's name; zot writes another id to the row."""
    return path.stem.rpartition("-")[2].lower()


def _single_match(found: Sequence[Path], word: str) -> Path:
    if len(found) == 1:
        return found[0]
    names = [id_of(path) for path in found]
    if len(set(names)) < len(names):  # copies of one file
        names = [str(path) for path in found]
    more = f" and {len(names) - CANDIDATES_SHOWN} more" if len(names) > CANDIDATES_SHOWN else ""
    raise NoSuchSessionError(
        f"{word[:WORD_SHOWN]!r} may be {', '.join(names[:CANDIDATES_SHOWN])}{more}; give more of it, or the path"
    )
