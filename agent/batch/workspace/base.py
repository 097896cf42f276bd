"""The commit at which the worktrees of a batch begin, one for each repository: HEAD when its first task was about to
run. It is kept in the folder of the batch, so that all tasks, retries and resumes begin alike."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.batch.workspace.git import GitError, run_git
from agent.batch.workspace.tree import OF_A_BATCH
from wire.batch.link import WorktreeBase

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SIGNS = 12
"""Hex digits of a commit, for people."""
HINT = "--workspace copy copies any folder"


class BaseError(Exception):
    """No worktree can be made of a folder; the text names the folder, and says why."""


def repository_of(folder: str) -> str:
    """Returns the nearest folder at or above this one that has a `.git`, else the folder itself; links are resolved."""
    here = real = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return real
        here = above
    return here


def find_bases(folders: Iterable[str], known: Iterable[WorktreeBase]) -> dict[str, WorktreeBase]:
    """The bases by the folders of their repositories: of those in which these folders lie, and the known ones. Raises
    `BaseError`."""
    bases = {base.repository: base for base in known}
    for folder in dict.fromkeys(folders):
        repository = repository_of(folder)
        if repository not in bases:
            bases[repository] = _base_of(repository, folder)
    return bases


def base_remarks(base: WorktreeBase, rundir: Path) -> list[str]:
    """Lines for the user: what of the repository's folder the worktrees lack."""
    found, at, repository = list[str](), base.commit[:SIGNS], base.repository
    try:
        status = run_git(repository, "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all")
        own = os.path.relpath(os.path.realpath(rundir), repository)
        changed = [
            entry[3:] for entry in status.split("\0")
            if entry and not (entry.startswith("?? ") and _is_of_a_batch(repository, entry[3:], own))
        ]  # fmt: skip
        if changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            found.append(
                f"{repository}: changes that are not committed ({changed[0]}{more}) are not in the worktrees of the"
                f" tasks, which begin at {at}"
            )
        if run_git(repository, "ls-tree", base.commit, ".gitmodules"):
            found.append(f"{repository}: its submodules are empty in the worktrees of the tasks; {HINT}")
    except GitError as error:
        found.append(f"{repository}: what the worktrees lack is unknown: {error}")
    return found


def _is_of_a_batch(repository: str, path: str, own: str) -> bool:
    """Whether a new folder is that of a batch, or has the batch's `own` in it. Such folders are in no copy either."""
    try:
        names = os.listdir(os.path.join(repository, path))
    except OSError:
        return False
    return OF_A_BATCH.issubset(names) or f"{own}/".startswith(path)


def _base_of(repository: str, folder: str) -> WorktreeBase:
    where = f"{folder}: --workspace worktree"
    try:
        if run_git(repository, "rev-parse", "--is-bare-repository") == "true":
            raise BaseError(f"{where}: it is a bare repository, without files to work on; clone it first")
        common = run_git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir")
        if os.path.realpath(run_git(repository, "rev-parse", "--show-toplevel")) != repository:
            raise BaseError(f"{where}: its .git has another working folder (core.worktree); {HINT}")
    except GitError as error:
        if "not a git repository" in str(error):
            raise BaseError(f"{where}: it is in no git repository; {HINT}") from None
        if "dubious ownership" in str(error):
            raise BaseError(
                f"{where}: the repository belongs to another user, and git does not open it: git config --global --add"
                f" safe.directory {repository} allows it"
            ) from None
        raise BaseError(f"{where}: {error}") from None
    try:
        commit = run_git(repository, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return WorktreeBase(repository, commit, common)
    except GitError:
        if _has_head(repository):
            raise BaseError(f"{where}: the commit of HEAD cannot be read: git fsck tells more") from None
        raise BaseError(f"{where}: the repository has no commit yet: commit first; or {HINT}") from None


def _has_head(repository: str) -> bool:
    try:
        return bool(run_git(repository, "rev-parse", "--verify", "--quiet", "HEAD"))
    except GitError:
        return False
