"""A black box in the place of a script of `zot ext test`: it fails if the extension falls again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.os_errors import UnableError
from supervisor.harness.replay import replay
from supervisor.harness.result import ScriptFailure, ScriptResult
from supervisor.home.safe_files import read_file, read_start
from supervisor.torture.arguments import valid_arguments
from wire.exit_codes import Status
from wire.traces.black_box import BlackBoxError, decode, is_black_box

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.harness.harness import Harness
    from wire.traces.black_box import KeptBox

START = 8192
"""Bytes that have the whole first line of a black box."""


def is_black_box_file(path: Path) -> bool:
    """Whether the file begins as a black box; False if it cannot be read."""
    try:
        return is_black_box(read_start(path, START))
    except OSError:
        return False


def read_box(path: Path) -> KeptBox:
    """Reads a black box. Raises `UnableError`."""
    try:
        return decode(read_file(path))
    except OSError as error:
        raise UnableError(f"{path}: cannot be read: {error.strerror}", Status.USAGE) from None
    except BlackBoxError as error:
        raise UnableError(f"{path}: {error}", Status.USAGE) from None


def play_box(harness: Harness, found: FoundExtension, path: Path, *, cwd: Path | None, wait_s: float) -> ScriptResult:
    """Plays a black box to the extension. Raises `UnableError` and `HarnessInterruptedError`."""
    box = read_box(path)
    played = replay(harness, found, box, valid_arguments, cwd=cwd, wait_s=wait_s)
    return ScriptResult(
        script=str(path), steps=len(box.frames), done=played.frame or 0,
        failure=ScriptFailure(str(played)) if played.fall or played.is_void else None, said=(), stderr=played.stderr,
        exit="", places=harness.prepare(found, cwd), seconds=played.seconds,
    )  # fmt: skip
