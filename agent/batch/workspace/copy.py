"""Makes a task's own copy of its working folder.

The folder is copied twice: once, for all tasks that find it in the same state, to a snapshot, which nobody changes, and
from there to the workspace of each task. So what a run has changed can be told also after the folder itself has
changed, and all workspaces of one state begin alike.
"""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import msgspec

from agent.batch.journal.errors import FolderError
from agent.batch.journal.rundir_files import check_rundir_entry, make_rundir_folder
from agent.batch.workspace.copy_tree import copy_tree
from agent.batch.workspace.patch import display_name
from agent.batch.workspace.tree import Skipped, Tree, scan
from supervisor.home.delete_tree import delete

WORKSPACES = "workspaces"
SNAPSHOTS = ".snapshots"
UNFINISHED = ".new"
"""Ending of a copy that is not whole yet; its name begins with a dot."""
NAMED = 5
"""Skipped files that are named."""


class WorkspaceError(Exception):
    """The copy cannot be made; the text names the folder, and says why."""

    has_no_room = False
    """Whether it would have been made on a disk with more room."""


class TaskWorkspace(msgspec.Struct, frozen=True):
    """A task's own copy of its working folder, before its run."""

    path: Path
    snapshot: Path
    """The state in which it began."""
    made_ns: int
    """When the copy was whole, in nanoseconds of the file system's clock."""
    notes: tuple[str, ...] = ()
    """Lines for the user: what was not copied, and what leads out of the copy."""
    has_own_times: bool = False
    """Whether its files have other times than those of the snapshot."""
    is_confined: bool = False
    """Whether something may still write into it that must lead nobody out: a container of `--in`."""
    cwd: Path | None = None
    """The working folder; None: `path`."""
    index: Path | None = None
    """The index of a worktree, and its repository's file `exclude`; None: they are in its folder `.git`, if at all."""
    exclude: Path | None = None


def make_workspace(cwd: str | Path, folder: Path, name: str) -> TaskWorkspace:
    """Copies the folder `cwd`, with hidden files and `.git`, to `folder/workspaces/NAME`, where `folder` is that of the
    batch. Neither that one is copied if it lies in `cwd`, nor what is in the folders of other batches. A workspace of
    an earlier attempt is deleted. Links stay links; pipes, sockets and devices are skipped. Raises
    `WorkspaceError`."""
    source = os.path.realpath(cwd)
    rundir = os.path.realpath(folder)
    if source == rundir or source.startswith(rundir + os.sep):
        raise WorkspaceError(f"{cwd}: cannot be copied: it lies in the folder of the batch, {folder}")
    workspaces = Path(rundir, WORKSPACES)
    try:
        make_rundir_folder(workspaces)
        here = os.stat(rundir)
        tree = scan(source, (here.st_dev, here.st_ino))
        state = hashlib.sha256(repr((source, tree.entries)).encode()).hexdigest()[:32]
        snapshot, skipped = keep_snapshot(tree, source, workspaces, state)
        path = workspaces / name
        unfinished = workspaces / f".{name}{UNFINISHED}"
        _remove(path)
        _remove(unfinished)
        copy_tree(scan(str(snapshot)), str(snapshot), str(unfinished))
        os.utime(unfinished)
        made_ns = unfinished.stat().st_ctime_ns
        unfinished.rename(path)
    except FolderError as error:
        raise WorkspaceError(str(error)) from None
    except OSError as error:
        failed = WorkspaceError(f"{cwd}: cannot be copied to {workspaces / name}: {error.strerror or error}")
        failed.has_no_room = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise failed from None
    return TaskWorkspace(path, snapshot, made_ns, (*_notes(cwd, skipped), *_ways_out(source, tree)))


def remove_workspace(folder: Path, name: str) -> str:
    """Deletes a workspace, whole or not. Returns what could not be deleted, and why, or ""."""
    workspaces = folder / WORKSPACES
    if trouble := _not_own(workspaces):
        return trouble
    return delete(workspaces / name) or delete(workspaces / f".{name}{UNFINISHED}")


def remove_snapshots(folder: Path) -> str:
    """Deletes the snapshots, and copies that were never finished. Only while no run of the batch lives. Returns what
    could not be deleted, and why, or ""."""
    workspaces = folder / WORKSPACES
    if trouble := _not_own(workspaces):
        return trouble
    left = [path for path in workspaces.glob(f".*{UNFINISHED}") if path.is_dir() and not path.is_symlink()]
    return "; ".join(filter(None, map(delete, [workspaces / SNAPSHOTS, *left])))


def workspace_environment(folder: Path) -> dict[str, str]:
    """Variables for a run in a workspace: git must not take a repository around the folder of the batch for its own."""
    return {"GIT_CEILING_DIRECTORIES": str(Path(os.path.realpath(folder), WORKSPACES))}


def keep_snapshot(tree: Tree, source: str, workspaces: Path, state: str) -> tuple[Path, Skipped]:
    """The snapshot of the folder `source`, whose state has this name, and what it lacks. Of several runs that make it
    at once, the first to end counts. Raises `FolderError`, `OSError`."""
    snapshot = workspaces / SNAPSHOTS / state
    make_rundir_folder(snapshot.parent, depth=2)
    check_rundir_entry(snapshot, is_folder=True)
    if snapshot.is_dir():
        return snapshot, tree.skipped
    unfinished = snapshot.parent / f".{state}.{os.getpid()}{UNFINISHED}"
    _remove(unfinished)
    try:
        skipped = copy_tree(tree, source, str(unfinished))
        unfinished.rename(snapshot)
    except OSError as error:
        delete(unfinished)
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not snapshot.is_dir():
            raise
        return snapshot, tree.skipped
    return snapshot, {**tree.skipped, **skipped}


def _not_own(workspaces: Path) -> str:
    """Why nothing below this name is deleted; "" if it is the batch's own folder, or missing."""
    try:
        check_rundir_entry(workspaces, is_folder=True)
    except (FolderError, OSError) as error:
        return str(error)
    return ""


def _remove(path: Path) -> None:
    if trouble := delete(path):
        raise OSError(errno.EBUSY, f"what an earlier attempt left cannot be deleted: {trouble}")


def _notes(cwd: str | Path, skipped: Skipped) -> list[str]:
    named = list(skipped.items())[:NAMED]
    shown = [f"{cwd}: not copied: {display_name(path)}: {reason}" for path, reason in named]
    return shown + ([f"{cwd}: not copied: {len(skipped) - NAMED} more"] if len(skipped) > NAMED else [])


def _ways_out(source: str, tree: Tree) -> list[str]:
    """Lines about links, and a `.git`, by which a change in the copy would be one in the original."""
    links = [entry.path for entry in tree.entries if entry.target == source or entry.target.startswith(source + os.sep)]
    found = [
        f"{source}: the link {display_name(path)} leads to the original, also in the copy" for path in links[:NAMED]
    ]
    if any(entry.path == ".git" and entry.is_file for entry in tree.entries):
        found.append(f"{source}: it is a git worktree or submodule: commits in the copy go to its repository")
    return found
