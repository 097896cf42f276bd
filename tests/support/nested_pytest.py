"""Runs pytest with this project's `tests/conftest.py` on tests that are given as text."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.warm_start import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def run_pytest(
    folder: Path, tests: str, *flags: str, expected: str | None = None, ini: str = ""
) -> subprocess.CompletedProcess[str]:
    """`expected` is the list of expected skips; without it there is none."""
    (folder / "test_x.py").write_text(tests)
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "ZOT"))}
    env["PYTHONPATH"] = str(ROOT)
    if expected is not None:
        (folder / "expected.txt").write_text(expected)
        env["ZOT_TEST_EXPECTED_SKIPS"] = "expected.txt"
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-q", *flags, "test_x.py"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
