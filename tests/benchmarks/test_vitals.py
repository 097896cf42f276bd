"""Processes that a soak left behind, and memory by quarters of its length."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

import pytest

from benchmarks.vitals import left_behind, quarters
from supervisor.cleanup.env_marks import TOKEN
from tests.support.zot_process import wait_until

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="finds processes by /proc")


@linux_only
@pytest.mark.parametrize("by", ["token", "session", "descent"])
def test_processes_left_behind_are_found(by: str):
    token = uuid.uuid4().hex
    env = {**os.environ, TOKEN: token} if by == "token" else None
    child = subprocess.Popen(["sleep", "600"], env=env, start_new_session=True)
    try:
        sessions = {child.pid} if by == "session" else set()

        def found() -> list[str]:
            return [
                line.split()[0] for line in left_behind(token if by == "token" else "none", sessions) if "sleep" in line
            ]

        # A process that has just begun shows no environment for a moment.
        assert wait_until(found) == [str(child.pid)]
    finally:
        child.kill()
        child.wait()
    assert not [line for line in left_behind(token, {child.pid}) if line.startswith(f"{child.pid} ")]


def test_quarters_leave_out_the_beginning():
    assert quarters([100, 100, 1, 1, 5, 5, 2, 2]) == (1, 2)
    with pytest.raises(ValueError, match="no quarters"):
        quarters([1, 2, 3])
