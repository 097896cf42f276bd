"""A git repository of the user's, and all that git has of it, to see that nothing has changed there."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def git(folder: Path, *words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_OPTIONAL_LOCKS": "0"}
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    ended = subprocess.run(["git", *identity, *words], cwd=folder, env=environment, check=True, capture_output=True)
    return ended.stdout.decode()


def make_repository(folder: Path) -> Path:
    """Commits all that is in the folder."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def git_facts(repository: Path) -> dict[str, Any]:
    """All files below `.git` but for objects, its folders, and what git says of the repository."""
    own = repository / ".git"
    files = {
        str(path): path.read_bytes()
        for path in own.rglob("*")
        if path.is_file() and own / "objects" not in path.parents
    }
    return {
        **files,
        "folders": sorted(path.name for path in own.iterdir()),
        "status": git(repository, "status", "--porcelain", "--", ":!runs", ":!t.jsonl"),
        "worktrees": git(repository, "worktree", "list"),
    }


@contextmanager
def unchanged(repository: Path) -> Iterator[None]:
    """Nothing that git has of the repository is other than before, byte for byte, but for objects."""
    before = git_facts(repository)
    yield
    assert git_facts(repository) == before
