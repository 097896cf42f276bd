"""The key of the registrations of an extension's last start: a hash of all that they may depend on.

Files are compared by their states, as a seal does it, and not read: an extension may have thousands. A change of the
key costs one start, no more: if the registrations of a process differ from those that were kept, its own hold.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

import msgspec

from supervisor.cleanup.env_marks import EXTENSION, START, TOKEN
from supervisor.discovery.content.seal import HISTORY
from wire.data_files import paths_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from supervisor.discovery.found_extension import FoundExtension

FILES_LIMIT = 20_000
"""Maximum number of files and folders of an extension: each takes 4 µs."""
WRITTEN_BY_STARTS = frozenset({HISTORY, "__pycache__"})
"""Folders that are not looked at: a start may change them, and no registration depends on them."""
OF_ONE_TERMINAL = frozenset({
    TOKEN, EXTENSION, START, "PWD", "OLDPWD", "SHLVL", "_", "TERM_SESSION_ID", "WINDOWID", "COLUMNS", "LINES",
    "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "TMUX_PANE", "STY", "WINDOW",
    "TRACEPARENT", "TRACESTATE",
})  # fmt: skip
"""Variables that differ from start to start, or from terminal to terminal, and mean nothing to an extension."""


def start_key(found: FoundExtension, env: Mapping[str, str], version: str) -> str:
    """The key of a start with this environment by this version of zot; "" if the extension has too many files, or
    cannot be looked at."""
    digest = hashlib.sha256()
    variables = sorted((name, value) for name, value in env.items() if name not in OF_ONE_TERMINAL)
    start = [version, found.argv, found.working_folder, variables]
    try:
        digest.update(repr(start).encode("utf-8", "surrogateescape"))
        digest.update(msgspec.json.encode(found.manifest, order="sorted"))
        for count, state in enumerate(_states(found)):
            if count >= FILES_LIMIT:
                return ""
            digest.update(repr(state).encode("utf-8", "surrogateescape"))
    except (OSError, ValueError):
        return ""
    return digest.hexdigest()


def _states(found: FoundExtension) -> Iterator[tuple[str, int, int, int, int]]:
    """Yields path, mode, size and times of the files in the extension's folder, and of those that its command names."""
    for word in found.argv:
        for path in paths_in(word):
            if "\0" not in path:
                yield from _state_of(os.path.join(found.working_folder, path))
    if not found.kind.has_folder:
        return  # the folder of an MCP server is where it runs
    pending = [(str(found.folder), "")]
    while pending:
        folder, shown = pending.pop()
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                inside = f"{shown}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in WRITTEN_BY_STARTS:
                        yield inside, 0, 0, 0, 0
                        pending.append((entry.path, f"{inside}/"))
                elif not (found.manifest.is_data(inside) and entry.is_file(follow_symlinks=False)):
                    yield from _state_of(entry.path)


def _state_of(path: str) -> Iterator[tuple[str, int, int, int, int]]:
    try:
        status = os.stat(path)
    except OSError:
        return  # it is not there, or a link that leads nowhere
    if stat.S_ISREG(status.st_mode):
        yield path, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns
