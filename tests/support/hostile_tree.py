"""Folders as only a broken or hostile program leaves them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ODD_NAMES = (b"a\nb", b"\xff\xfe", b"n" * 255, b"\x1b[2J\x1b]0;title\x07", b"-rf", b"*", b"\xc2\x9b31m", b"[zot] x")


def deep(folder: Path, levels: int, name: str = "depth") -> None:
    """Makes this many folders within each other, with a file in the last: paths that no program can open."""
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("last", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)


def hostile(folder: Path) -> None:
    """Fills a folder with all that may be in the way of its removal."""
    for name in ODD_NAMES:
        at = os.path.join(os.fsencode(folder), name)
        os.mkdir(at)
        with open(os.path.join(at, name), "wb"):
            pass
    os.mkfifo(folder / "fifo")
    with suppress(PermissionError):  # macOS lets only root make one so
        os.mknod(folder / "socket", stat.S_IFSOCK | 0o600)
    (folder / "loop").symlink_to("loop")
    (folder / "up").symlink_to("..")
    (folder / "file").write_text("x")
    os.link(folder / "file", folder / "hardlink")
    git = folder / ".git" / "objects" / "ab"
    git.mkdir(parents=True)
    (git / "cd").write_text("")
    (git / "cd").chmod(0o000)
    git.chmod(0o555)
    for mode in (0o000, 0o111, 0o444, 0o555):
        closed = folder / f"closed{mode:o}"
        closed.mkdir()
        (closed / "inside").write_text("")
        (closed / "below").mkdir()
        (closed / "below" / "more").write_text("")
        (closed / "below").chmod(0o000)
        closed.chmod(mode)
    deep(folder, 1200)
