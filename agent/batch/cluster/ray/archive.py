"""The archive of an uploaded folder: the files that git tracks or would track, so that no ignored secret travels.

It has the folders first, each before what is in it, then files, then links, and the folder itself, `.`, as its last
entry: without that one it is not whole. `agent.batch.cluster.node.upload_copy` reads it.
"""

from __future__ import annotations

import errno
import os
import stat
import tarfile
import tempfile
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING

from agent.batch.workspace.base import repository_of
from agent.batch.workspace.git import GitError, run_git
from agent.batch.workspace.patch import display_name
from agent.batch.workspace.tree import OF_A_BATCH
from supervisor.home.safe_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LIMIT = 2 * 2**30
"""Maximum of bytes of all files. Each node has to take them before its first task."""
NAMED = 5
"""Files that are named."""
NEVER = ("--exclude=.venv/", "--exclude=__pycache__/", "--exclude=node_modules/")
"""Left out of a folder in no repository, which mostly has no `.gitignore`."""
FASTEST = 1
"""The level of compression: a node is to wait for the network, not for this machine."""


class UploadError(Exception):
    """The folder cannot be uploaded; the text says why, and what to do."""


def make_archive(folder: str) -> IO[bytes]:
    """An open file without a name. Raises `UploadError`."""
    shown = f"--upload {display_name(folder)}"
    try:
        entries = _entries(folder)
        _check(folder, entries)
        with ExitStack() as exits:
            out = exits.enter_context(tempfile.TemporaryFile())
            with tarfile.open(fileobj=out, mode="w:gz", compresslevel=FASTEST) as tar:
                for path, found in entries:
                    _add(tar, folder, path, found)
            out.flush()
            exits.pop_all()
            return out
    except UploadError as error:
        raise UploadError(f"{shown}: {error}") from None
    except GitError as error:
        raise UploadError(f"{shown}: git, which tells what .gitignore leaves out, says: {error}") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UploadError(
                f"{shown}: no room for its archive in {tempfile.gettempdir()}: set TMPDIR, or name large files in"
                " .gitignore"
            ) from None
        raise UploadError(f"{shown}: it cannot be read, or changes: {error}: start again") from None


def _entries(folder: str) -> list[tuple[str, os.stat_result]]:
    """Paths relative to the folder, in the order of the archive."""
    folders: dict[str, os.stat_result] = {}
    files: list[tuple[str, os.stat_result]] = []
    links: list[tuple[str, os.stat_result]] = []
    of_batches: set[str] = set()
    for path in dict.fromkeys(list_files(folder)):
        above = list(_parents(path))
        for parent in above:
            if parent not in folders and parent not in of_batches:
                here = os.path.join(folder, parent)
                if all(os.path.lexists(os.path.join(here, name)) for name in OF_A_BATCH):
                    of_batches.add(parent)
                else:
                    folders[parent] = os.lstat(here)
        if of_batches.intersection(above):
            continue
        try:
            found = os.lstat(os.path.join(folder, path))
        except FileNotFoundError:
            continue  # tracked, and deleted
        (links if stat.S_ISLNK(found.st_mode) else files).append((path, found))
    return [*sorted((path, found) for path, found in folders.items() if not of_batches.intersection(_parents(path))),
            *files, *links, (".", os.stat(folder))]  # fmt: skip


def list_files(folder: str) -> Iterator[str]:
    """The files and links that git tracks or would track, by paths relative to the folder; in the repositories within
    it, too. Tracked ones may be missing, and some come twice. In no repository, each `.gitignore` counts all the same.
    Raises `GitError`."""
    if os.path.lexists(os.path.join(repository_of(folder), ".git")):
        yield from _listed(folder)
        return
    with tempfile.TemporaryDirectory(prefix="zot-list-") as place:
        run_git(place, "init", "--quiet", "--bare", ".")
        yield from _listed(folder, *NEVER, env={"GIT_DIR": place, "GIT_WORK_TREE": os.path.realpath(folder)})


def _listed(folder: str, *excludes: str, env: dict[str, str] | None = None) -> Iterator[str]:
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", *excludes, "--", ".")
    for path in run_git(folder, *words, env=env).split("\0"):
        there = os.path.join(folder, path)
        if not path:
            continue
        if os.path.islink(there) or not os.path.isdir(there):
            yield path
        elif os.path.lexists(os.path.join(there, ".git")):
            yield from (os.path.join(path, inner) for inner in _listed(there))


def _parents(path: str) -> Iterable[str]:
    """The folders above it, the outermost first."""
    parts = path.split("/")[:-1]
    return ("/".join(parts[: count + 1]) for count in range(len(parts)))


def _check(folder: str, entries: list[tuple[str, os.stat_result]]) -> None:
    """Raises `UploadError` for what cannot be sent, all of it at once."""
    faults: list[str] = []
    root = os.path.realpath(folder)
    files = [(found.st_size, path) for path, found in entries if stat.S_ISREG(found.st_mode)]
    if len(entries) == 1:
        raise UploadError("it is empty, or .gitignore leaves out all that is in it")
    for path, found in entries:
        if fault := _fault(root, path, found):
            faults.append(f"{display_name(path)} {fault}")
    if faults:
        more = [f"{len(faults) - NAMED} more"] if len(faults) > NAMED else []
        raise UploadError(f"{'; '.join(faults[:NAMED] + more)}: change them, or name them in .gitignore")
    if (size := sum(size for size, _ in files)) > LIMIT:
        largest = ", ".join(f"{display_name(path)} {_gib(size)}" for size, path in sorted(files, reverse=True)[:3])
        raise UploadError(
            f"it has {_gib(size)} in {len(files):,} files, and {_gib(LIMIT)} are the most (the largest: {largest}):"
            " name large files in .gitignore, or mount the folder on each node and leave out --upload"
        )


def _fault(root: str, path: str, found: os.stat_result) -> str:
    try:
        path.encode()
    except UnicodeEncodeError:
        return "has a name that is not UTF-8"
    here = os.path.join(root, path)
    if stat.S_ISLNK(found.st_mode):
        target = os.readlink(here)
        if os.path.isabs(target):
            return f"is a link to the absolute path {display_name(target)}"
        if os.path.commonpath((root, os.path.realpath(here))) != root:
            return f"is a link that leads out of the folder, to {display_name(target)}"
    elif not stat.S_ISDIR(found.st_mode):
        if not stat.S_ISREG(found.st_mode):
            return "is no file"
        if not os.access(here, os.R_OK):
            return "may not be read"
    return ""


def _add(tar: tarfile.TarFile, folder: str, path: str, found: os.stat_result) -> None:
    here = os.path.join(folder, path)
    entry = tarfile.TarInfo(path)
    entry.mode, entry.mtime = stat.S_IMODE(found.st_mode), found.st_mtime
    if stat.S_ISDIR(found.st_mode):
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
    elif stat.S_ISLNK(found.st_mode):
        entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(here)
        tar.addfile(entry)
    else:
        with open(open_regular(here, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            entry.size = os.fstat(file.fileno()).st_size
            tar.addfile(entry, file)


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
