"""Plays a script with an extension in a harness of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.harness.harness import Harness
from supervisor.harness.script_runner import WAIT_S, find_extension, play

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.harness.result import ScriptResult
    from supervisor.harness.script import Script


def run_script(folder: Path, script: Script, *, wait_s: float = WAIT_S) -> ScriptResult:
    with Harness() as harness:
        return play(harness, find_extension(folder), script, wait_s=wait_s)
