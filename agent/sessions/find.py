"""Finds the session to go on with: the newest one of a working folder, or one by its id."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.sessions.load import CHUNK, SessionError
from agent.sessions.places import session_files
from agent.sessions.rows import Meta, read_row

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LEAST_PREFIX = 4
"""Characters."""
CANDIDATES_SHOWN = 5


class NoSuchSessionError(SessionError):
    """No session is meant, or more than one."""


def newest(home: Path, cwd: str) -> Path:
    """The session of a working folder that was written to last. Raises `NoSuchSessionError`."""
    for path in session_files(home, cwd):
        return path
    raise NoSuchSessionError(
        f"there is no session of {cwd} to go on with: leave out --continue, or see zot session list"
    )


def by_id(home: Path, cwd: str, given: str) -> Path:
    """The session whose id, or whose file's name, begins with `given`: at least `LEAST_PREFIX` characters. Those of the
    folder `cwd` go before all others. Raises `NoSuchSessionError`."""
    wanted = given.strip().lower()
    if len(wanted) < LEAST_PREFIX:
        raise NoSuchSessionError(
            f"--resume {given!r}: an id has at least {LEAST_PREFIX} characters; see zot session list"
        )
    for files in (session_files(home, cwd), session_files(home)):
        matching = {path: names for path in files if (names := _names(path, wanted))}
        exact = [path for path, names in matching.items() if wanted in names]
        found = exact or list(matching)
        if len(found) == 1:
            return found[0]
        if found:
            raise NoSuchSessionError(f"--resume {given}: {len(found)} sessions begin so: {_shown(found)}")
    raise NoSuchSessionError(f"--resume {given}: there is no session whose id begins so; see zot session list")


def _names(path: Path, wanted: str) -> list[str]:
    """The names of a session that begin with `wanted`: its file's, the digits at the end of that, and its id, which
    zot chooses anew."""
    stem = path.stem.lower()
    names = [stem, stem.rpartition("-")[2], meta_of(path).id.lower()]
    return [name for name in names if name.startswith(wanted)]


def meta_of(path: Path) -> Meta:
    """What the first line of a session file says; nothing if it cannot be read."""
    try:
        with path.open("rb", buffering=0) as file:
            row = read_row(os.read(file.fileno(), CHUNK).partition(b"\n")[0])
    except OSError:
        return Meta()
    return row if isinstance(row, Meta) else Meta()


def _shown(paths: Sequence[Path]) -> str:
    shown = ", ".join(path.stem for path in paths[:CANDIDATES_SHOWN])
    return shown if len(paths) <= CANDIDATES_SHOWN else f"{shown} and {len(paths) - CANDIDATES_SHOWN} more"
