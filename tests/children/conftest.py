"""Compiles the children that are written in C."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory):
    """Compiles `NAME.c`, once a session, and returns the program's path. Skips the test without a C compiler."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("children")

    def compile_child(stem: str) -> Path:
        program = folder / stem
        if not program.exists():
            subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / f"{stem}.c"], check=True)
        return program

    return compile_child
