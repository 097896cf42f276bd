"""An extension in this process, and extensions as programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.sdk_program import PRELUDE, PYTHON
from zotext import Extension
from zotext.testing import Program, spawn

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def ext() -> Extension:
    return Extension("sample", "1.2.3")


@pytest.fixture
def start(tmp_path: Path):
    """Starts an extension from its source, without the line that runs it."""
    started: list[Program] = []

    def begin(code: str, **options: Any) -> Program:
        script = tmp_path / "main.py"
        script.write_text(f"{PRELUDE}{code}\next.run()\n")
        started.append(spawn([*PYTHON, str(script)], cwd=tmp_path, **options))
        return started[-1]

    yield begin
    for program in started:
        program.kill()
