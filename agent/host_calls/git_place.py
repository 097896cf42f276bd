"""The git repository and the branch of a folder, read from its files: no process is started."""

from __future__ import annotations

from pathlib import Path

from supervisor.home.small_file import read_start

HEAD_BYTES = 4096
POINTER = "gitdir: "
BRANCH = "ref: refs/heads/"


def git_place(folder: str) -> tuple[str | None, str | None]:
    """The root of the repository that the folder is in, and the branch; None for what there is not, as the branch while
    a single commit is checked out."""
    for root in (Path(folder), *Path(folder).parents):
        git = root / ".git"
        try:
            if git.is_dir():
                return str(root), _branch(git)
            if git.is_file():
                pointer = _start(git)
                return str(root), _branch(root / pointer.removeprefix(POINTER)) if pointer.startswith(POINTER) else None
        except (OSError, ValueError):
            return str(root), None
    return None, None


def _branch(git: Path) -> str | None:
    head = _start(git / "HEAD")
    return head.removeprefix(BRANCH) if head.startswith(BRANCH) else None


def _start(file: Path) -> str:
    return read_start(file, HEAD_BYTES).decode("utf-8", "replace").partition("\n")[0].rstrip("\r")
