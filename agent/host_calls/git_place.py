"""The git repository and the branch of a folder, read from its files: no process is started."""

from __future__ import annotations

from pathlib import Path

from supervisor.home.files import read_start
from supervisor.home.repository import repository_root

HEAD_BYTES = 4096
POINTER = "gitdir: "
BRANCH = "ref: refs/heads/"


def git_place(folder: str) -> tuple[str | None, str | None]:
    """The root of the repository that the folder is in, and the branch; None for what there is not, as the branch while
    a single commit is checked out."""
    root = repository_root(Path(folder))
    if root is None:
        return None, None
    try:
        return str(root), _branch(root)
    except (OSError, ValueError):
        return str(root), None


def _branch(root: Path) -> str | None:
    git = root / ".git"
    if git.is_file():
        pointer = _start(git)
        if not pointer.startswith(POINTER):
            return None
        git = root / pointer.removeprefix(POINTER)
    head = _start(git / "HEAD")
    return head.removeprefix(BRANCH) if head.startswith(BRANCH) else None


def _start(file: Path) -> str:
    return read_start(file, HEAD_BYTES).decode("utf-8", "replace").partition("\n")[0].rstrip("\r")
