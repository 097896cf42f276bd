"""A batch with nodes whose own process is killed: its nodes end, and the next start goes on."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from supervisor.cleanup.env_marks import bears_token, environment_of
from supervisor.process.table import ProcessTable
from tests.support.batch_place import tasks
from tests.support.node_place import NodePlace
from tests.support.patience import PATIENCE_S
from wire.batch.journal_lines import Finished, decode_line

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = ROOT / "tests/support/node_batch_program.py"
TASKS = 10


def prompts() -> list[str]:
    return [f"usage {number + 1}" for number in range(TASKS)]


def start_and_kill(folder: Path, records: int) -> str:
    """Kills the batch once it has told so many records; returns the token of its processes."""
    batch = subprocess.Popen(
        [sys.executable, str(PROGRAM), str(folder), "2", *prompts()],
        stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True,
    )  # fmt: skip
    assert batch.stdout is not None
    with batch:
        token = batch.stdout.readline().decode().strip()
        said = [batch.stdout.readline() for _ in range(records)]
        assert all(said)
        batch.send_signal(signal.SIGKILL)
    return token


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        select.select([], [], [], 0.02)
    return True


def has_none_left(token: str) -> bool:
    return not any(bears_token(environment_of(pid), token) for pid in ProcessTable.read().by_pid)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_each_task_has_one_final_row_however_often_the_driver_is_killed(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(2):
        token = start_and_kill(tmp_path, dice.randint(2, TASKS))
        assert until(lambda token=token: has_none_left(token)), "node programs and runs end with their driver"
    place = NodePlace(tmp_path)
    end = place.run(tasks(*prompts()))
    assert (end.exit_code, end.statuses) == (0, {"ok": TASKS})
    lines = [decode_line(line) for line in (place.rundir / "journal.jsonl").read_bytes().splitlines()]
    final = [line.outcome.id for line in lines if isinstance(line, Finished) and line.final]
    assert sorted(final) == [task.id for task in tasks(*prompts())]
    events = b"".join(path.read_bytes() for path in place.rundir.glob("runs/*/*.events.jsonl"))
    used = [json.loads(line)["input"] for line in events.splitlines() if b'"type":"usage"' in line]
    assert end.usage.input == sum(used), "each start that has spent something counts once"
