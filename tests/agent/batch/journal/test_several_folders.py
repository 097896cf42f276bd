"""Several folders are read as one batch: each task once, nothing that was paid forgotten, contradictions refused."""

from __future__ import annotations

import pytest

from agent.batch.journal.errors import DamagedError, FolderError
from agent.batch.journal.shards import BatchResults, ContradictionError, read_shard
from tests.support.batch_journal import open_journal, outcome, run_folder, tasks
from wire.batch.outcome import TaskStatus, Usage
from wire.batch.task import Task

OK, ERROR = TaskStatus.OK, TaskStatus.ERROR


def read(*folders, prefer=None):
    return BatchResults([read_shard(folder) for folder in folders], prefer)


def finals(results):
    return {one.id: (one.status, one.attempt, one.text) for one in results.outcomes()}


def test_two_shards_are_one_batch(tmp_path, loop):
    first = run_folder(tmp_path / "1", loop, tasks("a", "b"), outcome("a", text="A"), outcome("b", status=ERROR))
    second = run_folder(tmp_path / "2", loop, tasks("c", "d"), outcome("c", text="C", diff="diffs/c.diff"))
    results = read(first, second)
    assert finals(results) == {"a": (OK, 1, "A"), "b": (ERROR, 1, ""), "c": (OK, 1, "C")}
    assert (results.not_run, results.listed, results.spent().cost_usd) == (["d"], 4, 1.5)
    assert [one.diff for one in results.outcomes()] == ["", "", str(second.diff("c"))]
    assert f'"diff":"{second.diff("c")}"'.encode() in list(results.outcome_texts())[2]
    assert results.locate("c", 1) == (second, 1)


def test_damage_in_one_journal_is_found(tmp_path, loop):
    good = run_folder(tmp_path / "1", loop, tasks("a"), outcome("a"))
    bad = run_folder(tmp_path / "2", loop, tasks("b", "c"), outcome("b"), outcome("c"))
    bad.journal.write_bytes(bad.journal.read_bytes().replace(b'"ok"', b'"no"', 1))
    with pytest.raises(DamagedError, match=r"2/journal\.jsonl, line 3 is damaged"):
        read(good, bad)


def test_the_same_outcome_twice_is_no_contradiction_and_the_first_counts(tmp_path, loop):
    first = run_folder(tmp_path / "1", loop, tasks("a"), outcome("a", text="first", digest="d", usage=Usage(1)))
    second = run_folder(tmp_path / "2", loop, tasks("a"), outcome("a", text="second", digest="d", usage=Usage(2)))
    results = read(first, second)
    assert finals(results) == {"a": (OK, 1, "first")}
    assert (results.spent().usage, results.locate("a", 2)) == (Usage(3), (second, 1))


@pytest.mark.parametrize(("prefer", "text"), [("first", "bad"), ("last", "worse"), ("ok", "good")])
def test_a_contradiction_is_refused_or_decided(tmp_path, loop, prefer, text):
    folders = [
        run_folder(tmp_path / name, loop, tasks("a", "b"), outcome("a", status=status, text=said))
        for name, status, said in (("1", ERROR, "bad"), ("2", OK, "good"), ("3", ERROR, "worse"))
    ]
    with pytest.raises(
        ContradictionError, match=r"contradict each other in 1 task: a \(error in .*/1, ok in .*/2, error"
    ) as raised:
        read(*folders)
    assert raised.value.tasks == ("a",)
    results = read(*folders, prefer=prefer)
    assert finals(results) == {"a": (OK if prefer == "ok" else ERROR, 1, text)}
    assert [results.locate("a", number) for number in (1, 2, 3)] == [(folder, 1) for folder in folders]
    assert (results.not_run, results.spent().known_usd) == (["b"], 1.5)


def test_other_tasks_with_the_same_ids_are_a_contradiction(tmp_path, loop):
    """As when two tasks files without ids were run: the ids are numbers of lines."""
    first = run_folder(tmp_path / "1", loop, [Task(id="1", prompt="one")])
    second = run_folder(tmp_path / "2", loop, [Task(id="1", prompt="another")], outcome("1"))
    with pytest.raises(ContradictionError, match=r"1 \(not the same task in all of them\)"):
        read(first, second)
    assert read(first, second, prefer="first").folder_of("1") is second


def test_one_that_was_killed_and_one_that_runs_are_read_as_they_are(tmp_path, loop):
    folders = [run_folder(tmp_path / name, loop, tasks(name), outcome("x", digest="d")) for name in ("1", "2")]
    killed = open_journal(folders[0].path, loop)
    killed.started("1", 1)
    killed.close()
    with open(folders[0].journal, "ab") as file:
        file.write(b'{"state":"fin')
    before = folders[0].journal.read_bytes()
    running = open_journal(folders[1].path, loop)
    results = read(*folders)
    assert (results.done, results.not_run) == (["x"], ["1", "2"])
    assert results.shards[0].state.history("1").is_interrupted
    assert folders[0].journal.read_bytes() == before
    running.close()


def test_a_folder_that_is_named_twice_is_refused(tmp_path, loop):
    folder = run_folder(tmp_path / "1", loop, tasks("a"), outcome("a"))
    with pytest.raises(FolderError, match="the same folder is named twice"):
        read(folder, folder)
