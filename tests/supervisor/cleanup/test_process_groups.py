"""Where there is no /proc, process groups are ended as a whole; those of other processes are left alone."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

from supervisor.cleanup.process_groups import end_groups, start_time
from supervisor.process.table import Identity

pytestmark = pytest.mark.usefixtures("orphans_are_collected")


def test_a_stubborn_group_is_killed_and_a_reused_pid_is_left_alone(bystanders):
    script = "trap '' TERM; sleep 600 & sleep 600 & echo; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True) as leader:
        leader.stdout.readline()
        started = start_time(leader.pid)
        assert abs(started - time.time()) < 60
        others = [Identity(process.pid, start_time(process.pid) - 100) for process in bystanders]
        end_groups([Identity(leader.pid, started), *others], term_s=0.1)
        assert leader.wait() == -signal.SIGKILL
    assert start_time(2**22 + 1) is None
