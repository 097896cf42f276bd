"""A signal that comes before a run has begun ends `zot` quietly, also in the middle of an import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.warm_start import ROOT

PROGRAM = """
import os, sys
sys.path[:0] = [{root!r}, {folder!r}]
from pyzot import __main__
__main__._end_quietly_when_asked_early()
try:
    {act}
finally:
    print("cleared up", flush=True)
print("went on")
"""


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT"])
def test_a_signal_in_an_import_ends_the_process_at_once(tmp_path, name):
    (tmp_path / "half_made.py").write_text(f"import os, signal\nos.kill(os.getpid(), signal.{name})\n")
    program = PROGRAM.format(root=str(ROOT), folder=str(tmp_path), act="import half_made")
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 130), ("SIGINT", -2)])
def test_a_signal_at_another_time_lets_the_command_clear_up(tmp_path, name, status):
    act = f"import signal; os.kill(os.getpid(), signal.{name})"
    program = PROGRAM.format(root=str(ROOT), folder=str(tmp_path), act=act)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (status, "cleared up\n")
