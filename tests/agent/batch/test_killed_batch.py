"""A batch whose process is killed leaves nothing running, and the next start goes on."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from supervisor.cleanup.env_marks import bears_token, environment_of
from supervisor.process.table import ProcessTable
from tests.support.batch_place import BatchPlace, tasks
from tests.support.patience import PATIENCE_S
from wire.batch.outcome import TaskStatus

PROGRAM = Path(__file__).resolve().parents[2] / "support" / "batch_program.py"
ROOT = Path(__file__).resolve().parents[3]


def test_a_killed_batch_leaves_nothing_and_goes_on(tmp_path: Path) -> None:
    prompts = ("usage 5", "leave usage 7 deaf", "hang", "ok")
    batch = subprocess.Popen(
        [sys.executable, str(PROGRAM), str(tmp_path), *prompts],
        stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True,
    )  # fmt: skip
    assert batch.stdout is not None
    with batch:
        token = batch.stdout.readline().decode().strip()
        # The warning of one folder, the start, a, b and, after the end of a, c.
        said = [batch.stdout.readline().split() for _ in range(6)]
        assert [b"TaskStart", b"c"] in said
        place = BatchPlace(tmp_path)
        events = place.rundir / "runs" / "b" / "1.events.jsonl"
        assert until(lambda: events.exists() and b'"usage"' in events.read_bytes())
        batch.send_signal(signal.SIGKILL)
    assert until(lambda: not bearing(token))
    end = place.run(tasks("ok", "ok", "ok", "ok"))
    assert (end.exit_code, end.statuses) == (0, {"ok": 4})
    assert end.usage.input == 12  # also that of the attempt that nobody saw end
    assert end.cost_usd == 0.02, "no request was in flight"
    assert {task: outcomes[0].attempt for task, outcomes in place.ends().items()} == {"b": 2, "c": 2, "d": 1}
    assert place.state().history("a").status is TaskStatus.OK
    assert any("'b', 'c'" in line and "run again" in line for line in place.said)


def bearing(token: str) -> list[int]:
    return [pid for pid in ProcessTable.read().by_pid if bears_token(environment_of(pid), token)]


def until(condition: object) -> bool:
    assert callable(condition)
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        select.select([], [], [], 0.02)
    return True
