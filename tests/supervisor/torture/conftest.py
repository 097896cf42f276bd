"""Extensions that are tortured with some faults only."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from supervisor.harness.harness import Harness
from supervisor.harness.script_runner import find_extension
from supervisor.torture.faults.table import FAULTS
from supervisor.torture.runner import Torture, torture
from tests.support.extension_folder import folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def torment() -> Callable[..., Torture]:
    """Plays some faults with the extension in a folder."""

    def play(extension: Path, *names: str, seed: int = 1, seconds: float = 0.0) -> Torture:
        chosen = [fault for fault in FAULTS if fault.name in names or not names]
        assert len(chosen) == len(names) or not names
        with Harness() as harness:
            return torture(harness, find_extension(extension), seed=seed, seconds=seconds, faults=chosen)

    return play


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """Writes an extension in Python into a folder of its own."""

    def write(code: str, name: str = "x") -> Path:
        source = tmp_path / f"{name}.py"
        source.write_text(code)
        return folder(
            tmp_path, name, [sys.executable, "-I", "-S", str(source)], timeouts={"hello": 30.0, "ready": 30.0}
        )

    return write
