"""`zot batch --batch-api` as a process: tasks that it refuses, and a batch from its start to its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent.batch.message_batches.lifecycle import POLL_VARIABLE
from tests.support.batch_command import BatchCommand
from tests.support.zot_fork import run
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot

SENT = "2 of 2 through message batch msgbatch_0001 (in_progress, ends by "
FLAGS = ("--batch-api", "--max-steps=1", "--no-tools")


@pytest.fixture
def command(zot: Zot, server: MessagesServer) -> BatchCommand:
    zot.env[POLL_VARIABLE] = "0.05"
    server.offer_batches()
    return BatchCommand(zot, server)


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"max_steps": 3}, "a request has one turn, and the task may take 3 turns: give --max-steps 1"),
        ({"tools": ["read", "bash"]}, "a request has no tools, and the task has bash and read: give --no-tools"),
        ({"check": "true"}, "nothing runs in a folder: leave check out"),
        ({"score": "true"}, "nothing runs in a folder: leave score out"),
        ({"env": {"A": "b"}}, "no process of the task reads its env: leave it out"),
        ({"base_url": "http://127.0.0.1:1"}, "all tasks go to one server: give --base-url"),
        ({"provider": "ollama"}, "only provider anthropic has message batches, and the task goes to ollama"),
    ],
)
def test_a_task_that_is_no_single_request_is_refused(
    command: BatchCommand, task: dict[str, object], words: str
) -> None:
    command.tasks({"a": "say", "b": {"prompt": "x", **task}})
    outcome = command.run(*FLAGS)
    assert outcome.status == 2
    (line,) = [line for line in outcome.stderr.splitlines() if "--batch-api" in line]
    assert "t.jsonl" in line
    assert f"--batch-api: {words}" in line
    assert not command.rundir.exists()


def test_flags_that_make_tools_are_refused_for_each_task(command: BatchCommand) -> None:
    command.tasks({"a": "say"})
    outcome = command.run("--batch-api", "--workspace=copy", "--score=true", "--replay=x.jsonl")
    assert outcome.status == 2
    for words in ("give --max-steps 1", "give --no-tools", "leave --score out", "leave --workspace and --in out"):
        assert words in outcome.stderr


def test_installed_extensions_are_refused(command: BatchCommand, zot: Zot) -> None:
    folder = zot.home / "extensions" / "helper"
    folder.mkdir(parents=True)
    (folder / "extension.json").write_text('{"name": "helper", "version": "1.0.0", "exec": "./run", "enabled": true}')
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    command.extensions = []
    command.tasks({"a": "say"})
    outcome = command.run(*FLAGS)
    assert outcome.status == 2
    assert "a request has no extensions, and it has to run: helper: give --no-ext" in outcome.stderr


@pytest.mark.slow
def test_a_batch_from_its_start_to_its_rows(command: BatchCommand, zot: Zot, server: MessagesServer) -> None:
    assert server.batches is not None
    server.batches.looks = 1e9
    command.tasks({"a": "one", "b": "two"})
    with command.start(*FLAGS) as running:
        wait_until(lambda: SENT in running.errors())
        assert SENT in run(zot, "batch", "status", "runs").text
        running.process.kill()
        running.process.wait()
    (record,) = run(zot, "batch", "status", "runs", "--json").json_lines
    assert (record["state"], record["left"], record["interrupted"]) == ("killed", 2, 0)
    assert [(sent["id"], sent["tasks"]) for sent in record["sent"]] == [("msgbatch_0001", 2)]
    assert record["cost_usd"] is None
    server.batches.looks = 1
    outcome = zot.run("batch", "retry", "runs", "--api-key=k")
    assert outcome.status == 0, outcome.stderr
    assert set(server.batches.prompts.values()) == {1}
    assert [one["text"] for one in command.results().values()] == ["answer to one", "answer to two"]
    assert "answer to one" in run(zot, "batch", "logs", "runs", "a").text
