"""`--repeat` and `--score` in whole batches: repetitions, scores, and what interrupts them."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.marked_processes import marked_pids
from tests.support.replay_script import Script
from tests.support.warm_start import MARK
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Running, Zot

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")
ONCE_GO = "touch scoring; while [ ! -e go ]; do sleep 0.02; done; echo 0.5"


class Replayed(BatchCommand):
    """Tasks that need no model."""

    def __init__(self, zot: Zot) -> None:
        super().__init__(zot)
        script = Script(zot.cwd, "go").answer("Done.").write(zot.folder / "cassette.jsonl")
        self._model = ["--replay", str(script)]

    def scores(self) -> dict[str, Any]:
        return {name: one["score"] and one["score"]["value"] for name, one in self.results().items()}


@pytest.fixture
def batch(zot: Zot) -> Replayed:
    return Replayed(zot)


def test_repetitions_are_run_in_their_environment_and_scored(batch: Replayed) -> None:
    shown = "echo $ZOT_TASK/$ZOT_REPEAT/$ZOT_SEED"
    batch.tasks(
        {
            "fix": {"prompt": "go", "setup": shown, "check": f"{shown}; exit $((ZOT_REPEAT - 1))"},
            "b": {"prompt": "go", "env": {"ZOT_SEED": "7"}, "score": f"{shown} >&2; cat >&2; echo 0.25"},
        }
    )
    flags = ("-q", "--score", "echo $ZOT_STATUS >&2; test $ZOT_STATUS = ok")
    assert batch.run("--repeat", "2", *flags).status == 10
    found = batch.results()
    assert list(found) == ["fix#1", "b#1", "fix#2", "b#2"]
    assert [one["repeat"] for one in found.values()] == [1, 1, 2, 2]
    assert [one["status"] for one in found.values()] == ["ok", "ok", "check_failed", "ok"]
    assert batch.scores() == {"fix#1": 1.0, "b#1": 0.25, "fix#2": 0.0, "b#2": 0.25}
    assert found["fix#2"]["score"]["command"]["output"] == "check_failed\n"
    assert found["b#2"]["score"]["command"]["output"].splitlines() == ["b/2/7", "Done.0.25"]
    first, second = (found[f"fix#{k}"]["setup"]["output"].strip().split("/") for k in (1, 2))
    assert (first[:2], second[:2]) == (["fix", "1"], ["fix", "2"])
    assert first[2] != second[2]

    assert batch.run("--repeat", "3", *flags).status == 10
    assert batch.finals() == dict.fromkeys(["fix#1", "b#1", "fix#2", "b#2", "fix#3", "b#3"], 1), "only the new ones ran"
    assert batch.run("--repeat", "3", "--redo", "b", *flags).status == 10
    assert batch.finals() == {"fix#1": 1, "b#1": 2, "fix#2": 1, "b#2": 2, "fix#3": 1, "b#3": 2}
    assert batch.run("--repeat", "3", "--redo", "b#2", *flags).status == 10
    assert batch.finals()["b#2"] == 3
    own = batch.zot.run("batch", "runs/tasks.jsonl", "-o", "runs", *batch._model, "--no-ext", *flags)
    assert (own.status, sum(batch.finals().values())) == (10, 10), "its own file needs no --repeat"
    once = batch.run(*flags)
    assert (once.status, sum(batch.finals().values())) == (1, 10), "--repeat was left out"
    again = batch.zot.run("batch", "runs/tasks.jsonl", "-o", "runs", *batch._model, "--repeat", "2")
    assert "'fix#1' is a repetition already; leave --repeat out" in again.stderr
    logs = batch.zot.run("batch", "logs", "runs", "fix#2")
    assert logs.status == 0
    assert "score" in logs.text


def test_an_id_that_a_repetition_would_take_is_refused(batch: Replayed) -> None:
    batch.tasks({"a#1": "go"})
    assert batch.run("-q").status == 0
    batch.tasks({"a": "go"})
    found = batch.run("--repeat", "2")
    assert found.status == 1
    assert "'a#1' is not the one of this start: one of them is repetition 1 of 'a'" in found.stderr
    assert batch.finals() == {"a#1": 1}


def test_a_task_is_repeated_at_each_start_or_at_none(batch: Replayed) -> None:
    batch.tasks({"a": "go"})
    assert batch.run("-q", "--repeat", "2").status == 0
    without = batch.run("-q")
    assert without.status == 1
    assert "repeats the task 'a': give --repeat again, or name a new folder with -o" in without.stderr
    batch.tasks({"b": "go"})
    assert batch.run("-q").status == 0
    repeated = batch.run("-q", "--repeat", "2")
    assert repeated.status == 1
    assert "has the task 'b' without repetitions: leave --repeat out" in repeated.stderr
    assert batch.finals() == {"a#1": 1, "a#2": 1, "b": 1}


def test_faults_are_told_once_with_the_line(batch: Replayed) -> None:
    batch.tasks({"a": {"prompt": "go", "cwd": "/nonexistent"}, "b": {"prompt": "go", "score": "a\0b"}})
    found = batch.run("--repeat", "3")
    assert found.status == 2
    assert found.stderr.splitlines() == [
        "zot batch: t.jsonl:1: cwd: /nonexistent: no such file or folder",
        "zot batch: t.jsonl:2: score: a command cannot have a NUL character",
    ]


def test_ends_that_say_nothing_of_the_agent_are_not_scored(batch: Replayed) -> None:
    batch.tasks({"a": {"prompt": "go", "setup": "exit 1"}, "b": {"prompt": "other words"}})
    assert batch.run("-q", "--score", "true").status == 10
    assert {name: one["status"] for name, one in batch.results().items()} == {"a": "setup_failed", "b": "error"}
    assert batch.scores() == {"a": None, "b": None}


def test_a_run_whose_time_is_over_is_scored_in_a_time_of_its_own(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    batch.tasks({"a": "hang"})
    assert batch.run("-q", "--task-timeout", "0.5", "--score", "sleep 1; echo $ZOT_STATUS >&2; echo 0.5").status == 10
    (one,) = batch.results().values()
    assert (one["status"], one["score"]["value"], one["score"]["command"]["output"]) == (
        "timeout",
        0.5,
        "timeout\n0.5\n",
    )


def test_an_interrupted_score_interrupts_the_attempt(batch: Replayed) -> None:
    batch.tasks({"a": "go"})
    with batch.start("-q", "--score", ONCE_GO) as running:
        wait_until((batch.zot.cwd / "scoring").exists)
        running.process.send_signal(signal.SIGTERM)
        found = running.finish()
    assert (found.status, found.leftovers, dict(batch.finals())) == (130, [], {})
    (ended,) = batch.attempts("a")
    assert (ended.status.value, ended.score) == ("interrupted", None)
    (batch.zot.cwd / "go").touch()
    assert batch.run("-q", "--score", ONCE_GO).status == 0
    assert (batch.finals(), batch.scores()) == ({"a": 1}, {"a": 0.5})


@pytest.mark.slow
def test_a_batch_that_is_killed_in_a_score_scores_in_the_next_attempt(batch: Replayed) -> None:
    batch.tasks({"a": "go", "b": "go"})
    with batch.start("-q", "--repeat", "2", "--score", ONCE_GO, cold=True) as running:
        wait_until((batch.zot.cwd / "scoring").exists)
        kill(running)
    assert not batch.finals()
    (batch.zot.cwd / "go").touch()
    assert batch.run("-q", "--repeat", "2", "--score", ONCE_GO).leftovers == []
    assert batch.finals() == dict.fromkeys(["a#1", "a#2", "b#1", "b#2"], 1)
    assert set(batch.scores().values()) == {0.5}
    assert {one.repeat for one in batch.attempts("a#2")} == {2}, "also those that were cut off"


def test_a_score_after_the_time_is_over_can_be_interrupted(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    batch.tasks({"a": "hang"})
    with batch.start("-q", "--task-timeout", "0.5", "--score", ONCE_GO) as running:
        wait_until((zot.cwd / "scoring").exists)
        running.process.send_signal(signal.SIGTERM)
        found = running.finish()
    assert (found.status, found.leftovers, dict(batch.finals())) == (130, [], {})


def kill(running: Running) -> None:
    """SIGKILL to the batch; returns once nothing of it is left."""
    running.process.kill()
    running.process.wait()
    wait_until(lambda: not marked_pids(MARK, running._mark))


def test_a_score_that_leaves_a_child_leaves_nothing(batch: Replayed) -> None:
    batch.tasks({"a": "go"})
    found = batch.run("-q", "--score", "setsid sleep 600 & head -c 9000000 /dev/zero; echo; echo 0.5")
    assert (found.status, found.leftovers, batch.scores()) == (0, [], {"a": 0.5})


def test_another_score_command_is_no_change_of_the_task(batch: Replayed) -> None:
    batch.tasks({"a": "go", "b": {"prompt": "go", "score": "echo 2"}})
    assert batch.run("-q", "--score", "echo 1").status == 0
    found = batch.run("--score", "echo 3", "--redo", "changed", "--no-progress")
    assert found.status == 0
    assert "task 'a': the score command changed, the score stays: zot batch score scores again" in found.stderr
    assert batch.scores() == {"a": 1.0, "b": 2.0}
