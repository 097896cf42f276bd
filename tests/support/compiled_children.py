"""Compiles the children that are written in C."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHILDREN = Path(__file__).parents[1] / "children"


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory):
    """Compiles `NAME.c`, once a session, and returns the program's path. Skips the test without a C compiler."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("children")

    def compile_child(stem: str) -> Path:
        program = folder / stem
        if not program.exists():
            program.parent.mkdir(exist_ok=True)
            subprocess.run(
                ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, CHILDREN / f"{stem}.c"], check=True
            )
        return program

    return compile_child
