"""The results of a batch: each task once, in the order of the tasks."""

from __future__ import annotations

import msgspec
import pytest

from agent.batch.journal.errors import JournalError
from agent.batch.journal.shards import READ, BatchResults, outcome_of_attempt, read_shard, write_results
from tests.support.batch_journal import open_journal, outcome, run_folder, tasks
from wire.batch.outcome import Outcome, Score, TaskStatus


@pytest.fixture
def folder(tmp_path, loop):
    long = outcome("c", text="x" * (READ * 2))
    made = run_folder(
        tmp_path, loop, tasks("a", "b", "c"), long, outcome("a", status=TaskStatus.ERROR), outcome("gone")
    )
    journal = open_journal(tmp_path, loop)
    journal.started("b", 1)
    journal.finished(outcome("b", status=TaskStatus.CRASHED), final=False)
    journal.finished(outcome("a", 2), final=True)
    journal.close()
    return made


def test_final_outcomes_are_in_the_order_of_the_tasks(folder):
    results = BatchResults([read_shard(folder)])
    assert (results.done, results.not_run, results.listed) == (["a", "c", "gone"], ["b"], 3)
    assert [(one.id, one.attempt, one.status.value, len(one.text)) for one in results.outcomes()] == [
        ("a", 1, "error", 0),
        ("c", 1, "ok", READ * 2),
        ("gone", 1, "ok", 0),
    ]
    assert [msgspec.json.decode(text, type=Outcome) for text in results.outcome_texts()] == list(results.outcomes())


def test_all_attempts_that_have_ended(folder):
    found = {
        (task, attempt): outcome_of_attempt(folder, task, attempt) for task in ("a", "b", "x") for attempt in (1, 2)
    }
    assert {key for key, one in found.items() if one is not None} == {("a", 1), ("b", 1), ("a", 2)}
    assert all((one.id, one.attempt) == key for key, one in found.items() if one is not None)


def test_a_result_that_was_scored_again_has_its_last_score(folder, loop):
    journal = open_journal(folder.path, loop)
    for attempt, value in ((1, 0.5), (1, 0.25), (2, 7.0)):
        journal.scored("a", attempt, Score(value, values={"n": [1]}))
    journal.close()
    first, *others = BatchResults([read_shard(folder)]).outcomes()
    assert first.score == Score(0.25, values={"n": [1]})
    assert all(one.score is None for one in others)
    texts = list(BatchResults([read_shard(folder)]).outcome_texts())
    assert [msgspec.json.decode(text, type=Outcome) for text in texts] == [first, *others]
    list(write_results(folder, read_shard(folder).state))
    assert folder.results_file.read_bytes() == b"".join(texts)
    found = [outcome_of_attempt(folder, "a", attempt) for attempt in (1, 2)]
    assert [one.score.value for one in found] == [0.25, 7.0]


def test_results_are_written_whole(folder):
    folder.results_file.write_text("old")
    list(write_results(folder, read_shard(folder).state))
    lines = folder.results_file.read_bytes().splitlines()
    assert [msgspec.json.decode(line)["id"] for line in lines] == ["a", "c", "gone"]


def test_a_result_that_was_changed_meanwhile_is_an_error(folder):
    results = BatchResults([read_shard(folder)])
    folder.journal.write_bytes(folder.journal.read_bytes().replace(b'"error"', b'"erred"'))
    with pytest.raises(JournalError, match="the result of task a cannot be read: its checksum is wrong"):
        list(results.outcomes())
    folder.journal.unlink()
    with pytest.raises(JournalError, match="cannot be read: No such file"):
        list(results.outcomes())
    folder.results_file.write_text("old")
    with pytest.raises(JournalError):
        list(write_results(folder, results.shards[0].state))
    assert folder.results_file.read_text() == "old"
