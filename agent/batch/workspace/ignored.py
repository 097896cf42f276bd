"""Finds the new files that the repository of a workspace ignores.

git decides, and never sees the workspace: it is started in a repository of our own, without configuration, whose work
tree has copies of the workspace's `.gitignore` files and nothing else. So neither `.git/config` nor anything else that
a run may have written can name a program, and pipes, devices and links in place of a file are not opened.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

from supervisor.discovery.environment import child_environment
from supervisor.home.files import read_file
from supervisor.home.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

RULES = ".gitignore"
RULES_LIMIT = 1024 * 1024
"""Maximum size of a file of rules in bytes. A larger one does not count."""
RULES_TOTAL = 16 * 1024 * 1024
"""Maximum size of all files of rules in bytes. Those beyond it do not count: many may be one by hard links."""
INDEX_LIMIT = 64 * 1024 * 1024
"""Maximum size of the index in bytes. A larger one does not count."""
GIT_S = 60.0
"""Seconds that git may take."""
NO_CONFIGURATION = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_NO_LAZY_FETCH": "1"}
HERE = b"./"
"""Before each path: without it `:(glob)x` is an order to git, which ends it."""
ANSWERS = (0, 1)
"""Exit statuses of `git check-ignore`: some files are ignored, none is."""


def ignored_files(workspace: Path, made: Sequence[str], rules: Iterable[str]) -> frozenset[str]:
    """Returns those of the new files `made` that the rules of the workspace ignore and that its index does not have.
    The rules are its `.gitignore` files, of which `rules` has the paths, and `.git/info/exclude`. Paths are relative to
    the workspace. Returns an empty set if the workspace is no repository, and if git is missing, fails or takes longer
    than `GIT_S`."""
    if not made or not (workspace / ".git").is_dir():
        return frozenset()
    try:
        with scratch_folder("git") as scratch:  # its name is new: what a run could foresee, it could write into
            ended = _answer(scratch, workspace, made, rules)
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    if ended.returncode not in ANSWERS:
        return frozenset()
    return frozenset(os.fsdecode(path.removeprefix(HERE)) for path in ended.stdout.split(b"\0"))


def _answer(
    scratch: Path, workspace: Path, made: Sequence[str], rules: Iterable[str]
) -> subprocess.CompletedProcess[bytes]:
    """Makes the repository of our own in the folder `scratch`, and asks git in it."""
    for name in ("git/objects", "git/refs", "tree"):
        (scratch / name).mkdir(parents=True)
    (scratch / "git" / "HEAD").write_text("ref: refs/heads/main\n")
    left = RULES_TOTAL
    for path in rules:
        left -= _copy(workspace / path, scratch / "tree" / path, min(RULES_LIMIT, left))
    _copy(workspace / ".git" / "info" / "exclude", scratch / "git" / "info" / "exclude", RULES_LIMIT)
    index = scratch / "git" / "index"
    _copy(workspace / ".git" / "index", index, INDEX_LIMIT)
    ended = _check_ignore(scratch, made)
    if ended.returncode not in ANSWERS and index.exists():
        index.unlink()  # it is damaged, or needs more of its repository than git has here
        ended = _check_ignore(scratch, made)
    return ended


def _copy(source: Path, target: Path, limit: int) -> int:
    """Copies a regular file and returns its size in bytes. Leaves out one that cannot be read or has more than `limit`
    bytes, and returns 0."""
    with suppress(OSError):
        data = read_file(source, limit)
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
