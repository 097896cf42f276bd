"""Finds the instructions of a project and its user for every agent: `AGENTS.md`, or else `CLAUDE.md`.

The file of `$ZOT_HOME` is read first, then those of the folders from the root of the repository down to the working
folder. The root is the nearest folder with `.git` whose owner is the user or the owner of the working folder. Without a
root only the working folder's own file is read: a file above it need not belong to the project, and in `/tmp` anyone
could have put it there.
"""

from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from supervisor.home.repository import repository_root
from supervisor.home.safe_files import read_start
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ("AGENTS.md", "CLAUDE.md")
"""The first of these that a folder has is read."""
FILE_LIMIT = 32 * 1024
"""Maximum of one file in bytes; the rest is not used."""
LIMIT = 128 * 1024
"""Maximum of all files together in bytes. The farthest files are cut first: the nearest says most about the work."""
HEADING = "# Instructions from files"
LEAD = "These files are for every agent that works here. Where two of them differ, the later one holds."


class ContextFile(msgspec.Struct, frozen=True):
    path: str
    text: str
    is_cut: bool = False
    """Whether the text is only the beginning of the file."""


class FoundContext(msgspec.Struct, frozen=True):
    files: tuple[ContextFile, ...]
    """Farthest first, nearest last."""
    notices: tuple[str, ...]
    """A line for the user about each file that is not used, or only in part."""


NO_CONTEXT = FoundContext((), ())


def find_context_files(home: Path, cwd: Path) -> FoundContext:
    """Reads the files. Never raises: a file that cannot be read becomes a notice."""
    notices: list[str] = []
    cwd = Path(os.path.realpath(cwd))  # a link has other parents than its folder
    root = repository_root(cwd)
    inside = root or cwd
    files: dict[str, tuple[Path, bytes, bool]] = {}
    for folder in (home, *_down_from(inside, cwd)):
        path = _first_file(folder)
        if path is None:
            continue
        real = os.path.realpath(path)
        if folder != home and not _is_below(real, os.path.realpath(inside)):
            notices.append(f"{valid_text(str(path))}: skipped: it is a link to a file outside of {inside}")
            continue
        try:
            data = read_start(path, FILE_LIMIT + 1)
        except OSError as error:
            notices.append(f"{valid_text(str(path))}: skipped: it cannot be read: {error.strerror}")
            continue
        if b"\0" in data:
            notices.append(f"{valid_text(str(path))}: skipped: it is not text")
            continue
        files.pop(real, None)  # a link to a farther file: the nearest place counts
        files[real] = (path, data[:FILE_LIMIT], len(data) > FILE_LIMIT)
    return FoundContext(tuple(_fit_into_limit(list(files.values()), notices)), tuple(notices))


def context_text(files: Sequence[ContextFile], cwd: str) -> str:
    """The part of the system prompt with these files; "" without any. A file in the working folder or above it is named
    by its path from there, so that all copies of a project have the same text."""
    if not files:
        return ""
    parts, here = [HEADING, LEAD], os.path.realpath(cwd)
    for file in files:
        name = os.path.relpath(file.path, here) if _is_below(here, os.path.dirname(file.path)) else file.path
        cut = "\n\n(cut here: read the file for the rest)" if file.is_cut else ""
        parts += [f"## {name}", file.text + cut]
    return "\n\n".join(parts)


def _down_from(root: Path, cwd: Path) -> list[Path]:
    """The folders from the root to the working folder, both included."""
    above = [folder for folder in cwd.parents if folder == root or root in folder.parents]
    return [*reversed(above), cwd]


def _first_file(folder: Path) -> Path | None:
    """The first file of `NAMES` in the folder, also if it is a link that leads nowhere; None without one."""
    return next((folder / name for name in NAMES if os.path.lexists(folder / name)), None)


def _is_below(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def _fit_into_limit(files: Sequence[tuple[Path, bytes, bool]], notices: list[str]) -> list[ContextFile]:
    """Cuts the files to `LIMIT` in all, the farthest first, and leaves out empty ones."""
    kept: list[ContextFile] = []
    left = LIMIT
    for path, data, is_long in reversed(files):
        shown = valid_text(str(path))
        used = data[:left]
        left -= len(used)
        is_cut = is_long or len(used) < len(data)
        text, faulty_line = _decode(used, is_cut=is_cut)
        if faulty_line:
            notices.append(f"{shown}:{faulty_line}: it is not UTF-8: some characters are replaced")
        if is_cut and not used:
            notices.append(f"{shown}: skipped: the files of this kind have more than {LIMIT >> 10} KiB together")
        elif is_cut:
            limit = f"{FILE_LIMIT >> 10} KiB" if is_long and len(used) == len(data) else f"{LIMIT >> 10} KiB in all"
            notices.append(f"{shown}: only its first {len(used)} bytes are used: the limit is {limit}")
        if text:
            kept.append(ContextFile(shown, text, is_cut))
    return kept[::-1]


def _decode(data: bytes, *, is_cut: bool) -> tuple[str, int]:
    """Returns the text, and the number of the first line that is not UTF-8; 0 if all are. Half a character at a cut
    is no fault of the file."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")
    try:
        return decoder("strict").decode(data, final=not is_cut).strip(), 0
    except UnicodeDecodeError as error:
        return decoder("replace").decode(data, final=not is_cut).strip(), data.count(b"\n", 0, error.start) + 1
