"""Runs git in a repository of the user's, so that it changes nothing there but what a command is for."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from supervisor.discovery.environment import child_environment
from wire.text import one_line

if TYPE_CHECKING:
    from pathlib import Path

QUIET = (
    "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false", "-c", "submodule.recurse=false", "-c", "apply.whitespace=nowarn",
)  # fmt: skip
"""No hooks, no process that stays, and no work beside the command. Filters, as those of LFS, run: files need them."""
SHOWN = 300
"""Characters of git's own words in an error."""
NO_ROOM = ("No space left on device", "Disk quota exceeded")


class GitError(Exception):
    """git has failed; the text is its own last words."""

    has_no_room = False
    """Whether the disk was full."""


def run_git(cwd: str | Path, *words: str, env: dict[str, str] | None = None) -> str:
    """The output of `git WORDS` in the folder `cwd`, without the line end. Variables of the environment that lead to
    another repository do not count; `env` has further ones. Raises `GitError`."""
    inherited = {name: value for name, value in child_environment().items() if not name.startswith("GIT_")}
    ours = {"LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", **(env or {})}
    try:
        ended = subprocess.run(
            ["git", *QUIET, *words],
            cwd=cwd,
            env={**inherited, **ours},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise GitError("git is not installed" if os.path.isdir(cwd) else "there is no such folder") from None
    except OSError as error:
        raise GitError(f"git cannot be started: {error.strerror}") from None
    if ended.returncode:
        said = ended.stderr.decode("utf-8", "backslashreplace")
        failed = GitError(_last_words(said) or f"git {words[0]} ended with exit status {ended.returncode}")
        failed.has_no_room = any(words in said for words in NO_ROOM)
        raise failed
    return os.fsdecode(ended.stdout).removesuffix("\n")


def _last_words(said: str) -> str:
    """The lines that say why, without git's own marks; else the last one."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    why = [line.removeprefix("fatal: ") for line in lines if line.startswith(("fatal: ", "error: "))]
    return one_line("; ".join(why) or "".join(lines[-1:]), SHOWN)
