"""Situations of a batch: its tasks, its folder, its limits."""

from __future__ import annotations

import errno
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from agent.batch.journal.shards import BatchResults, read_shard
from agent.batch.journal.writer import Journal
from agent.batch.throttle import Throttle
from cli.batch.folder.status import facts, lines
from supervisor.loop.loop import Loop
from tests.support.batch_journal import open_journal, outcome, run_folder, tasks
from tests.support.patience import PATIENCE_S
from tests.support.situations.stage import situation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.batch.journal.folder import RunFolder
    from tests.support.situations.stage import Stage


@contextmanager
def folder(stage: Stage) -> Iterator[tuple[RunFolder, Loop]]:
    """The folder of a batch of two tasks, of which one is done."""
    loop = Loop()
    try:
        yield run_folder(stage.zot.cwd / "runs", loop, tasks("a", "b"), outcome("a")), loop
    finally:
        loop.close()


def started(stage: Stage, *written: dict[str, object], flags: tuple[str, ...] = ()) -> str:
    file = stage.file("tasks.jsonl", "".join(json.dumps(task) + "\n" for task in written))
    return stage.zot.run("batch", file, "-o", "runs", "--no-ext", "--base-url", "http://127.0.0.1:9", *flags).stderr


@situation("zot batch: …:2: promt: no such field; did you mean 'prompt'?")
def a_misspelt_field(stage: Stage) -> str:
    return started(stage, {"prompt": "a"}, {"promt": "b"})


@situation("zot batch: …:1: the price of the model … is unknown, …")
def no_price(stage: Stage) -> str:
    return started(stage, {"prompt": "a", "model": "mine"}, flags=("--max-cost-usd", "1"))


@situation("zot batch: …: process … runs this batch; …")
def in_use(stage: Stage) -> str:
    with folder(stage) as (made, loop):
        journal = open_journal(made.path, loop)
        said = started(stage, {"id": "a", "prompt": "do a"})
        journal.close()
    return said


@situation("… line … is damaged: …")
def damaged(stage: Stage) -> str:
    with folder(stage) as (made, _loop):
        journal = made.path / "journal.jsonl"
        journal.write_bytes(journal.read_bytes().replace(b'"started"', b'"startet"', 1))
    return stage.zot.run("batch", "status", "runs").stderr


@situation("…/journal.jsonl: cannot be written: …; no task starts from now on; …")
def full_disk(stage: Stage) -> str:
    said: list[str] = []
    with folder(stage) as (made, loop):
        journal = Journal.open(made.path, loop, on_failure=said.append)
        journal.started("b", 1)
        with patch("agent.batch.journal.writer.write_all", side_effect=full):
            journal.sync()
        loop.run_until(lambda: bool(said), loop.clock() + PATIENCE_S)
        journal.close()
    return "".join(said)


def full(_fd: int, _text: bytes) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@situation("paused … of those under way: rate limit: …; next at …")
def paused(stage: Stage) -> str:
    throttle = Throttle(most=4)
    throttle.sent("1", 100)
    throttle.refused(0.0, "1", 20.0, None)
    wait = throttle.may_send(1.0, throttle.estimate(100))
    assert wait is not None
    with folder(stage) as (made, loop):
        journal = open_journal(made.path, loop)
        journal.started("b", 1)
        journal.paused("b", 1, f"rate limit: {wait.reason}; next at 12:03:20")
        journal.sync()
        said = "\n".join(lines(facts(BatchResults([read_shard(made)]))))
        journal.close()
    return said
