"""A batch of a program with the real `zot batch`: killed, stopped, left, and gone on with; and no process is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from pyzot import Batch, BatchError, Result, ToolCall
from tests.support import warm_start
from tests.support.marked_processes import MARK, marked_pids
from tests.support.patience import PATIENCE_S
from tests.support.replay_script import Script
from tests.support.zot_process import ROOT, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def options(tmp_path, monkeypatch):
    """Of a batch of three tasks, the second of which does not end by itself."""
    monkeypatch.setenv(warm_start.TURNED_OFF, "1")  # all processes are to bear the mark
    project = tmp_path / "project"
    project.mkdir()
    os.mkfifo(project / "fifo")
    home = tmp_path / "home"
    Script(project, "go", home=home).answer("Done.").write(tmp_path / "go.jsonl")
    hangs = Script(project, "hang", home=home).call(("bash", {"command": "read line < fifo"}), results=[("", False)])
    hangs.write(tmp_path / "hang.jsonl")
    tasks = [
        {"id": "one", "prompt": "go", "replay": tmp_path / "go.jsonl", "meta": {"n": 1}},
        {"id": "two", "prompt": "hang", "replay": tmp_path / "hang.jsonl"},
        {"id": "three", "prompt": "go", "replay": tmp_path / "go.jsonl"},
    ]
    env = {"ZOT_HOME": str(home), MARK: str(tmp_path)}
    return {"tasks": tasks, "folder": tmp_path / "runs", "cwd": project, "env": env, "no_ext": True, "jobs": 2}


def is_nothing_left(options):
    return not marked_pids(MARK, options["env"][MARK])


def test_a_killed_batch_goes_on_and_is_stopped_without_a_trace(options):
    seen, hangs = [], threading.Event()

    def on_event(task, attempt, event):
        seen.append((task, attempt, type(event)))
        if isinstance(event, ToolCall):
            hangs.set()

    with Batch(**options, on_event=on_event) as batch:
        found = [next(batch), next(batch)]
        assert hangs.wait(PATIENCE_S)
        os.kill(batch.pid, signal.SIGKILL)
        with pytest.raises(BatchError, match="killed by signal 9"):
            next(batch)
        assert batch.summary is None
    assert {(one.id, one.status, one.text) for one in found} == {("one", "ok", "Done."), ("three", "ok", "Done.")}
    assert ("one", 1, Result) in seen
    wait_until(lambda: is_nothing_left(options))

    hangs.clear()
    with Batch(**options, on_event=on_event) as batch:
        assert [next(batch), next(batch)] == sorted(found, key=lambda one: one.id != "one")
        assert hangs.wait(PATIENCE_S)
        batch.stop()
        assert list(batch) == []
        assert (batch.summary.reason, batch.summary.statuses) == ("stopped", {"ok": 2, "not_run": 1})
        assert is_nothing_left(options)
    assert [attempt for task, attempt, kind in seen if (task, kind) == ("two", ToolCall)] == [1, 2]

    with pytest.raises(BatchError) as caught:
        Batch(**{**options, "tasks": [*options["tasks"], {"id": "two", "prompt": "x"}]}).wait()
    assert (caught.value.exit_status, len(caught.value.stderr)) == (2, 1)
    assert "stdin:4: id: 'two' is the id of line 2, too" in caught.value.stderr[0]


def test_the_end_of_the_program_stops_its_batch(options, tmp_path):
    program = (
        "import json, sys, threading\n"
        "from pyzot import Batch, ToolCall\n"
        "hangs = threading.Event()\n"
        "def on_event(task, attempt, event):\n"
        "    isinstance(event, ToolCall) and hangs.set()\n"
        "batch = Batch(**json.load(sys.stdin), on_event=on_event)\n"
        "assert hangs.wait(120)\n"
        "print(next(batch).id, next(batch).id)\n"
    )
    given = json.dumps(options, default=str)
    done = subprocess.run([sys.executable, "-c", program], input=given, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, sorted(done.stdout.split())) == (0, ["one", "three"]), done.stderr
    assert is_nothing_left(options)
    kept = (tmp_path / "runs" / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in kept] == ["one", "three"]
