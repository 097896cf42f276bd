"""Runs pytest with this project's `tests/conftest.py` on tests that are given as text."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil

from tests.support.patience import PATIENCE_S
from tests.support.warm_start import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = ("-p", "no:anyio")


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
    env["PYTHONFAULTHANDLER"] = "1"
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", *PLAIN, "-q", *flags, "test_x.py"]
    with subprocess.Popen(
        command, cwd=folder, env=env, stdin=-3, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            out, err = running.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            for process in (*psutil.Process(running.pid).children(recursive=True), running):
                process.send_signal(signal.SIGABRT)  # each says where it is
            out, err = running.communicate()
            raise AssertionError(f"it hangs: {out}{err}") from None
    return subprocess.CompletedProcess(command, running.returncode, out, err)
