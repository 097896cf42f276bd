"""The node program, from its first frame to its last: whatever ends it, it leaves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tests.support.replay_script import Script
from wire import events
from wire.batch.link import RunEnded
from wire.batch.node_frames import Exited
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.node_driver import NodeDriver


def replayed(driver: NodeDriver, script: Script, **fields: object) -> Task:
    cassette = script.write(driver.home.parent / "cassette.jsonl")
    return msgspec.convert({"id": "a", "prompt": "go", "replay": str(cassette), **fields}, Task)


def test_a_task_runs_to_its_end(driver: NodeDriver, tmp_path: Path) -> None:
    ready = driver.ready()
    assert 1 <= ready.jobs <= ready.most_jobs
    run = driver.start(replayed(driver, Script(driver.cwd).answer("done")))
    ended = driver.told(RunEnded)
    assert (ended.status, ended.reason) == (TaskStatus.OK, "")
    # All of the event stream is there before the run says how it has ended.
    records = [events.decode(line) for line in driver.output(run).splitlines()]
    assert [type(record) for record in records[-2:]] == [events.Result, events.Done]
    exited = driver.take(Exited)
    assert (exited.run, exited.code) == (run, 0)
    assert driver.frames[-1] == exited or driver.of(Exited, run) == [exited]
    assert driver.end() == "the node program ended (exit 0)"
    assert not list((tmp_path / "tmp").iterdir())
