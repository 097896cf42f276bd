"""Saves what a run has changed in its workspace, as one patch. Needs no git; with it, new files that the repository
ignores are left out.

git decides which, and never sees the workspace: it is started in a repository of our own, without configuration, whose
work tree has copies of the workspace's `.gitignore` files and nothing else. So neither `.git/config` nor anything else
that a run may have written can name a program, and pipes, devices and links in place of a file are not opened.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import msgspec

from agent.batch.journal.rundir_files import make_rundir_folder, rundir_names
from agent.batch.workspace.patch import Side, display_name, file_patch, git_mode
from agent.batch.workspace.tree import Skipped, TreeEntry, scan
from supervisor.discovery.environment import child_environment
from supervisor.home.safe_files import SPECIAL, read_file, replacement
from supervisor.home.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from agent.batch.workspace.copy import TaskWorkspace

    Read = Callable[[Path, int], bytes]
    """Reads a regular file of at most so many bytes, as `read_file` does."""

DIFFS = "diffs"
SIZE_LIMIT = 16 * 1024 * 1024
"""Bytes of a patch, and of a file that goes into it. Files beyond it are named, and left out whole: what is there
applies."""
SLACK_NS = 1_000_000_000
"""Nanoseconds. A file that was changed so shortly after the copy was made may have the copy's time."""
NAMED = 50
"""Files left out that are named."""


class _Change(msgspec.Struct, frozen=True):
    path: str
    old: TreeEntry | None
    new: TreeEntry | None


def save_diff(workspace: TaskWorkspace, folder: Path, name: str) -> str:
    """Writes `diffs/NAME.diff` below `folder`, that of the batch, and returns this path; "" if the run has changed
    nothing. `.git`, empty folders and permissions other than the owner's right to execute do not count. Call it when no
    process of the run lives, and before `check`. Raises `FolderError`, `OSError`."""
    path = folder / DIFFS / f"{name}.diff"
    make_rundir_folder(path.parent)
    rundir_names(workspace.path, depth=2)  # the run may have put a link to any folder in its place
    rundir_names(workspace.snapshot, depth=3)
    text = diff_of(workspace)
    if not text:
        path.unlink(missing_ok=True)
        return ""
    with replacement(path) as file:
        file.write(text)
    return f"{DIFFS}/{name}.diff"


def diff_of(workspace: TaskWorkspace) -> bytes:
    """The patch; empty without changes. Raises `OSError` if the workspace cannot be listed."""
    if not workspace.is_confined:
        return _diff_of(workspace, read_file, None)
    from agent.batch.workspace.reader import ConfinedReader  # most runs are not confined

    with closing(ConfinedReader(workspace.path)) as reader:
        return _diff_of(workspace, reader.read, reader.open_folder)


def _diff_of(workspace: TaskWorkspace, read: Read, open_folder: Callable[[str], int] | None) -> bytes:
    parts: list[bytes] = []
    size = 0
    changes, skipped = _changes(workspace, read, open_folder)
    left_out = [f"{display_name(path)}: {reason}" for path, reason in skipped.items()]
    too_large = f"the patch would be larger than {SIZE_LIMIT >> 20} MiB"
    for change in changes:
        if change.old is None and change.new is not None and SIZE_LIMIT - size < change.new.size <= SIZE_LIMIT:
            left_out.append(f"{display_name(change.path)}: {too_large}")  # unread: there may be any number of them
            continue
        try:
            part = _patch(workspace, change, read)
        except OSError as error:
            left_out.append(f"{display_name(change.path)}: {error.strerror}")
            continue
        if size + len(part) > SIZE_LIMIT:
            left_out.append(f"{display_name(change.path)}: {too_large}")
            continue
        size += len(part)
        parts.append(part)
    return _notes(left_out) + b"".join(parts)


def _notes(left_out: list[str]) -> bytes:
    """Lines that readers of patches skip."""
    more = [f"{len(left_out) - NAMED} more"] if len(left_out) > NAMED else []
    return "".join(f"# not in this patch: {line}\n" for line in [*left_out[:NAMED], *more]).encode()


def _changes(
    workspace: TaskWorkspace, read: Read, open_folder: Callable[[str], int] | None
) -> tuple[list[_Change], Skipped]:
    """The changes, deletions first: a folder may have taken the place of a file. And the folders that can no longer be
    listed: files below them do not count as deleted."""
    before, hidden_before = _files(str(workspace.snapshot))
    after, skipped = _files(str(workspace.path), open_folder)
    hidden = tuple(f"{path}{os.sep}" for path in skipped)
    found = [
        _Change(path, old, after.get(path))
        for path, old in before.items()
        if (not _is_untouched(old, after[path], workspace) if path in after else not path.startswith(hidden))
    ]
    made = sorted(after.keys() - before.keys())
    rules = [path for path, entry in after.items() if os.path.basename(path) == RULES and entry.is_file]
    ignored = ignored_files(workspace.path, made, rules, workspace.index, workspace.exclude, read=read)
    found += [_Change(path, None, after[path]) for path in made if path not in ignored]
    return sorted(found, key=lambda change: (change.new is not None, change.path)), {
        path: why for path, why in skipped.items() if path not in hidden_before
    }


def _files(root: str, open_folder: Callable[[str], int] | None = None) -> tuple[dict[str, TreeEntry], Skipped]:
    """The files and links by their paths, and what cannot be listed, without `.git`. Pipes, sockets and devices are
    neither."""
    tree = scan(root, open_folder=open_folder)
    files = {entry.path: entry for entry in tree.entries if not entry.is_folder and _counts(entry.path)}
    failed = {path: why for path, why in tree.skipped.items() if _counts(path) and why not in SPECIAL.values()}
    return files, failed


def _counts(path: str) -> bool:
    return ".git" not in path.split(os.sep)


def _is_untouched(old: TreeEntry, new: TreeEntry, workspace: TaskWorkspace) -> bool:
    """Whether a file is certainly as it was: nothing that any write changes has changed since the copy was made."""
    is_alike = (old.mode, old.size, old.target) == (new.mode, new.size, new.target)
    has_its_time = workspace.has_own_times or old.mtime_ns == new.mtime_ns
    return is_alike and has_its_time and new.ctime_ns < workspace.made_ns - SLACK_NS


def _patch(workspace: TaskWorkspace, change: _Change, read: Read) -> bytes:
    """Raises `OSError`."""
    old = None if change.old is None else _side(workspace.snapshot, change.old, read)
    new = None if change.new is None else _side(workspace.path, change.new, read)
    return file_patch(os.fsencode(change.path), old, new)


def _side(root: Path, entry: TreeEntry, read: Read) -> Side:
    mode = git_mode(entry.mode)
    if not entry.is_file:
        return Side(mode, os.fsencode(entry.target))
    return Side(mode, read(root / entry.path, SIZE_LIMIT))


RULES = ".gitignore"
RULES_LIMIT = 1024 * 1024
"""Maximum size of a file of rules in bytes. A larger one does not count."""
RULES_TOTAL = 16 * 1024 * 1024
"""Maximum size of all files of rules in bytes. Further files do not count: many may be one by hard links."""
INDEX_LIMIT = 64 * 1024 * 1024
"""Maximum size of the index in bytes. A larger one does not count."""
GIT_S = 60.0
"""Seconds that git may take."""
NO_CONFIGURATION = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_NO_LAZY_FETCH": "1"}
HERE = b"./"
"""Before each path: without it `:(glob)x` is an order to git, which ends it."""
ANSWERS = (0, 1)
"""Exit statuses of `git check-ignore`: some files are ignored, none is."""


def ignored_files(
    workspace: Path,
    made: Sequence[str],
    rules: Iterable[str],
    index: Path | None = None,
    exclude: Path | None = None,
    *,
    read: Read = read_file,
) -> frozenset[str]:
    """Returns those of the new files `made` that the rules of the workspace ignore and that its index does not have.
    The rules are its `.gitignore` files, of which `rules` has the paths, and `exclude`, of which the default is
    `.git/info/exclude`, as that of the index is `.git/index`. Paths are relative to the workspace. Returns an empty set
    if the workspace is no repository, and if git is missing, fails or takes longer than `GIT_S`."""
    if not made or (index is None and not (workspace / ".git").is_dir()):
        return frozenset()
    kept = (index or workspace / ".git" / "index", exclude or workspace / ".git" / "info" / "exclude")
    try:
        with scratch_folder("git") as scratch:  # its name is new: what a run could foresee, it could write into
            ended = _answer(scratch, workspace, made, rules, *kept, read)
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    if ended.returncode not in ANSWERS:
        return frozenset()
    return frozenset(os.fsdecode(path.removeprefix(HERE)) for path in ended.stdout.split(b"\0"))


def _answer(
    scratch: Path,
    workspace: Path,
    made: Sequence[str],
    rules: Iterable[str],
    index: Path,
    exclude: Path,
    read: Read,
) -> subprocess.CompletedProcess[bytes]:
    """Makes the repository of our own in the folder `scratch`, and asks git in it."""
    for name in ("git/objects", "git/refs", "tree"):
        (scratch / name).mkdir(parents=True)
    (scratch / "git" / "HEAD").write_text("ref: refs/heads/main\n")
    left = RULES_TOTAL
    for path in rules:
        left -= _copy(workspace / path, scratch / "tree" / path, min(RULES_LIMIT, left), read)
    _copy(exclude, scratch / "git" / "info" / "exclude", RULES_LIMIT, read)
    own = scratch / "git" / "index"
    _copy(index, own, INDEX_LIMIT, read)
    ended = _check_ignore(scratch, made)
    if ended.returncode not in ANSWERS and own.exists():
        own.unlink()  # it is damaged, or needs more of its repository than git has here
        ended = _check_ignore(scratch, made)
    return ended


def _copy(source: Path, target: Path, limit: int, read: Read) -> int:
    """Copies a regular file and returns its size in bytes. Leaves out one that cannot be read or has more than `limit`
    bytes, and returns 0."""
    with suppress(OSError):
        data = read(source, limit)
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.write_bytes(data)
    return 0


def _check_ignore(scratch: Path, made: Iterable[str]) -> subprocess.CompletedProcess[bytes]:
    env = {name: value for name, value in child_environment().items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", "--git-dir=../git", "--work-tree=.", "check-ignore", "-z", "--stdin"],
        cwd=scratch / "tree",
        env={**env, **NO_CONFIGURATION},
        input=b"".join(HERE + os.fsencode(path) + b"\0" for path in made),
        capture_output=True,
        timeout=GIT_S,
        check=False,
    )
