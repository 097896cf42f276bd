"""Makes a git worktree of the user's repository for a task, and removes it.

git makes it. All later work is without git: the run may have written anything into the worktree's `.git`, and no
program that it names may start outside. So a worktree is removed by deleting its folder and then the repository's
record of it, `.git/worktrees/ID`, which is all that `git worktree prune` deletes.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.batch.journal.errors import FolderError
from agent.batch.journal.rundir_files import make_rundir_folder
from agent.batch.workspace.copy import WORKSPACES, TaskWorkspace, WorkspaceError, keep_snapshot, remove_workspace
from agent.batch.workspace.copy_tree import FREE_KEPT
from agent.batch.workspace.diff import NO_CONFIGURATION
from agent.batch.workspace.git import GitError, run_git
from agent.batch.workspace.tree import scan
from supervisor.home.delete_tree import OPEN_FOLDER, delete
from supervisor.home.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wire.batch.link import WorktreeBase

TRIES = 4
"""Attempts of git to make a worktree: another program of the user's may make one at the same time."""
_SIGN = re.compile(r"[^A-Za-z0-9]")
"""git replaces some of them in the name of a record."""


def make_worktree(cwd: str, base: WorktreeBase, folder: Path, name: str) -> TaskWorkspace:
    """Makes the worktree `folder/workspaces/NAME` of the base's commit, with no branch. Its `cwd` is the folder of the
    repository that `cwd` is. An earlier attempt's is removed. Raises `WorkspaceError`."""
    rundir = os.path.realpath(folder)
    path = Path(rundir, WORKSPACES, name)
    try:
        make_rundir_folder(path.parent)
        if trouble := remove_worktree(path, base.common):
            raise OSError(errno.EBUSY, f"an earlier attempt's cannot be deleted: {trouble}")
        if shutil.disk_usage(path.parent).free < FREE_KEPT:
            raise OSError(errno.ENOSPC, f"less than {FREE_KEPT >> 20} MiB are free")
        _add(path, base)
        record = _record_of(path)
        place = os.path.relpath(os.path.realpath(cwd), base.repository)
        if not (path / place).is_dir():
            raise WorkspaceError(
                f"{cwd}: is no folder in the commit {base.commit[:12]}: commit it, and name another -o"
            )
        tree = scan(str(path))
        tree = replace(tree, entries=[entry for entry in tree.entries if entry.path != ".git"])
        alike = [(entry.path, entry.mode, entry.size, entry.target) for entry in tree.entries]
        state = hashlib.sha256(repr((base.commit, alike)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        snapshot, _ = keep_snapshot(tree, str(path), path.parent, state)
        os.utime(path)
        return TaskWorkspace(
            path, snapshot, path.stat().st_ctime_ns, has_own_times=True, cwd=path / place, index=record / "index",
            exclude=Path(base.common, "info", "exclude"),
        )  # fmt: skip
    except FolderError as error:
        failed = WorkspaceError(str(error))
    except WorkspaceError as error:
        failed = error
    except GitError as error:
        failed = WorkspaceError(f"{base.repository}: no worktree can be made of it: {error}")
        failed.has_no_room = error.has_no_room
    except OSError as error:
        failed = WorkspaceError(f"{base.repository}: no worktree can be made at {path}: {error.strerror or error}")
        failed.has_no_room = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remove_worktree(path, base.common)
    raise failed from None


def remake_worktree(cwd: str, base: WorktreeBase, folder: Path, name: str, diff: Path | None) -> TaskWorkspace:
    """A worktree as the run of a task has left it: the base's commit, and the patch `diff` of the run applied; None is
    a run without changes. Files that the repository ignores, and those that a note in the patch names, are missing.
    Raises `WorkspaceError`."""
    made = make_worktree(cwd, base, folder, name)
    if diff is None:
        return made
    try:
        apply_patch(made.path, diff)
    except (GitError, OSError) as error:
        remove_worktree(made.path, base.common)
        raise WorkspaceError(f"{diff}: cannot be applied to {base.commit[:12]} of {base.repository}: {error}") from None
    return made


def apply_patch(path: Path, diff: Path) -> None:
    """Applies a patch to the files of a folder as they are, byte by byte, in a repository of our own: no attribute and
    no setting of the user's repository changes a line end. Raises `GitError`, `OSError`."""
    with scratch_folder("git") as scratch:
        own = scratch / "git"
        for inner in ("objects", "refs", "info"):
            (own / inner).mkdir(parents=True)
        (own / "HEAD").write_text("ref: refs/heads/main\n")
        (own / "info" / "attributes").write_text("* -text -filter -ident -working-tree-encoding\n")
        run_git(
            path, f"--git-dir={own}", "--work-tree=.", "apply", "--allow-empty", str(diff.absolute()),
            env=NO_CONFIGURATION,
        )  # fmt: skip


def remove_worktree(path: Path, common: str) -> str:
    """Deletes the worktree at `path`, whole or not, and the repository's record of it. Returns what could not be
    deleted, and why, or ""."""
    trouble = remove_workspace(path.parent.parent, path.name)
    return trouble or _forget(common, lambda at, _record: at == path)


def clear_worktrees(folder: Path, bases: Iterable[WorktreeBase]) -> str:
    """Deletes all worktrees of a batch, of killed runs too, with the records of the repositories. Only while no run of
    the batch lives. Returns what could not be deleted, and why, or ""."""
    rundir = Path(os.path.realpath(folder))
    workspaces = rundir / WORKSPACES
    troubles = []

    def is_own(at: Path | None, record: Path) -> bool:
        if at is not None:
            if at.parent != workspaces:
                return False
            troubles.append(remove_workspace(rundir, at.name))
            return True
        # git was killed before it wrote where the worktree is, in this batch or another one, which tries again
        meant = _named_after(record.name, rundir / "runs")
        for name in meant:
            with suppress(OSError):
                (workspaces / name).rmdir()
        return bool(meant)

    troubles += [_forget(base.common, is_own) for base in bases]
    return "; ".join(filter(None, troubles))


def _add(path: Path, base: WorktreeBase) -> None:
    """Raises `GitError`."""
    for left in reversed(range(TRIES)):
        try:
            with _lock(base.common):
                run_git(
                    base.repository, "worktree", "add", "--quiet", "--detach", "--no-checkout", str(path), base.commit
                )
            run_git(path, "reset", "--quiet", "--hard")
            return
        except GitError as error:
            if not left or error.has_no_room:
                raise
            remove_worktree(path, base.common)


@contextmanager
def _lock(common: str) -> Iterator[None]:
    """Lets one run at a time register a worktree: git fails where it meets the half-made record of another one. Nothing
    is written: the lock is on the folder itself."""
    folder = os.open(common, OPEN_FOLDER & ~os.O_NOFOLLOW)
    try:
        with suppress(OSError):  # a file system without locks: git tries again
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _record_of(path: Path) -> Path:
    """The repository's record of a worktree that no run has seen yet. Raises `OSError`."""
    return Path((path / ".git").read_text().removeprefix("gitdir: ").removesuffix("\n"))


def _forget(common: str, is_meant: Callable[[Path | None, Path], bool]) -> str:
    """Deletes the records for which `is_meant` says so: it gets the folder of the worktree, None if that was not
    written, and the record."""
    records = Path(common, "worktrees")
    troubles = list[str]()
    with suppress(OSError):
        found = [*records.iterdir()]
        troubles += [delete(record) for record in found if is_meant(_place_of(record), record)]
    with suppress(OSError):  # others are in use
        records.rmdir()
    return "; ".join(filter(None, troubles))


def _named_after(record: str, runs: Path) -> list[str]:
    """The folders in `runs` after which git may have named the record. It appends a number if the name is taken."""
    digits = len(record) - len(record.rstrip("0123456789"))
    names = {_SIGN.sub("-", record[: len(record) - cut]) for cut in range(digits + 1)}
    try:
        return [name for name in os.listdir(runs) if _SIGN.sub("-", name) in names]
    except OSError:
        return []


def _place_of(record: Path) -> Path | None:
    try:
        written = (record / "gitdir").read_text(errors="surrogateescape").removesuffix("\n")
    except OSError:
        return None
    return Path(written).parent if written else None
