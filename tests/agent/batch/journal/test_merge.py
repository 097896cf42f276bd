"""Several batches become one: each task once, nothing that was paid forgotten, contradictions refused."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agent.batch.journal.errors import BusyError, FolderError
from agent.batch.journal.folder import RunFolder
from agent.batch.journal.merge import Merged, MergeError, merge
from agent.batch.journal.reader import read_journal
from agent.batch.journal.results import BatchResults
from tests.support.batch_journal import open_journal, outcome, run_folder, tasks
from wire.batch.outcome import TaskStatus, Usage
from wire.batch.task import Task

OK, ERROR = TaskStatus.OK, TaskStatus.ERROR


def merged(tmp_path, *names, **how):
    return merge([tmp_path / name for name in names], tmp_path / "all", version="1", now=1.5e9, **how)


def finals(folder):
    return {one.id: (one.status, one.attempt, one.text) for one in BatchResults(RunFolder(folder)).outcomes()}


def test_two_shards_become_one_batch(tmp_path, loop):
    first = run_folder(tmp_path / "1", loop, tasks("a", "b"), outcome("a", text="A"), outcome("b", status=ERROR))
    second = run_folder(tmp_path / "2", loop, tasks("c", "d"), outcome("c", text="C", diff="diffs/c.diff"))
    for folder, task in ((first, "a"), (second, "c")):
        folder.run(task).mkdir(parents=True)
        folder.events(task, 1).write_text(f"events of {task}")
    second.diffs.mkdir()
    second.diff("c").write_text("a diff")
    assert merged(tmp_path, "1", "2") == Merged(tasks=4, done=3, attempts=3, contradicting=0)
    assert finals(tmp_path / "all") == {"a": (OK, 1, "A"), "b": (ERROR, 1, ""), "c": (OK, 1, "C")}
    whole = RunFolder.existing(tmp_path / "all")
    assert [task.id for task in whole.read_tasks()] == ["a", "b", "c", "d"]
    assert whole.events("c", 1).read_text() == "events of c"
    assert whole.diff("c").read_text() == "a diff"
    assert whole.read_batch().merged_from == (str(tmp_path / "1"), str(tmp_path / "2"))
    assert len(whole.results_file.read_bytes().splitlines()) == 3
    assert not list(tmp_path.glob(".*"))
    journal = open_journal(whole.path, loop)  # a batch can go on in it
    assert (journal.state.closed.reason, journal.state.cost_usd) == ("drained", 1.5)
    journal.close()


def with_flags(folder, **flags):
    folder.write_batch(replace(folder.read_batch(), settings={"flags": {"run": {"model": "m"}, **flags}}))


def test_a_merged_batch_goes_on_with_the_flags_that_all_parts_share(tmp_path, loop):
    first = run_folder(tmp_path / "1", loop, tasks("a"), outcome("a", status=ERROR))
    second = run_folder(tmp_path / "2", loop, tasks("b"), outcome("b"))
    with_flags(first, jobs=2, retries=0, max_cost_usd=2.0, max_tokens=9)
    with_flags(second, jobs=2, retries=1, max_cost_usd=3.0)
    merged(tmp_path, "1", "2")
    flags = RunFolder.existing(tmp_path / "all").read_batch().settings["flags"]
    assert flags == {"run": {"model": "m"}, "jobs": 2, "max_cost_usd": 3.0}


@pytest.mark.parametrize("other", [{"run": {"model": "n"}}, {"run": 3}, None])
def test_a_merged_batch_of_other_runs_has_no_flags(tmp_path, loop, other):
    for name, flags in (("1", {"run": {"model": "m"}}), ("2", other)):
        folder = run_folder(tmp_path / name, loop, tasks(name), outcome(name))
        folder.write_batch(replace(folder.read_batch(), settings={"flags": flags}))
    merged(tmp_path, "1", "2")
    assert RunFolder.existing(tmp_path / "all").read_batch().settings == {}


def test_damage_in_a_merged_journal_is_found(tmp_path, loop):
    run_folder(tmp_path / "1", loop, tasks("a", "b"), outcome("a"), outcome("b"))
    merged(tmp_path, "1")
    journal = tmp_path / "all" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"ok"', b'"no"', 1))
    with pytest.raises(Exception, match="line 3 is damaged"):
        read_journal(journal)


def test_the_same_outcome_twice_is_no_contradiction_and_the_first_counts(tmp_path, loop):
    run_folder(tmp_path / "1", loop, tasks("a"), outcome("a", text="first", digest="d", usage=Usage(1)))
    run_folder(tmp_path / "2", loop, tasks("a"), outcome("a", text="second", digest="d", usage=Usage(2)))
    assert merged(tmp_path, "1", "2") == Merged(tasks=1, done=1, attempts=2, contradicting=0)
    assert finals(tmp_path / "all") == {"a": (OK, 1, "first")}
    state = read_journal(tmp_path / "all" / "journal.jsonl").state
    assert (state.usage, state.history("a").attempts) == (Usage(3), 2)


@pytest.mark.parametrize(("prefer", "text", "attempt"), [("first", "bad", 1), ("last", "worse", 3), ("ok", "good", 2)])
def test_a_contradiction_is_refused_or_decided(tmp_path, loop, prefer, text, attempt):
    for name, status, said in (("1", ERROR, "bad"), ("2", OK, "good"), ("3", ERROR, "worse")):
        folder = run_folder(tmp_path / name, loop, tasks("a", "b"), outcome("a", status=status, text=said))
        folder.run("a").mkdir(parents=True)
        folder.events("a", 1).write_text(said)
    with pytest.raises(
        MergeError, match=r"1 tasks contradict each other.*: a \(error in .*/1, ok in .*/2, error"
    ) as raised:
        merged(tmp_path, "1", "2", "3")
    assert raised.value.tasks == ("a",)
    assert not (tmp_path / "all").exists()
    assert merged(tmp_path, "1", "2", "3", prefer=prefer) == Merged(tasks=2, done=1, attempts=3, contradicting=1)
    status = OK if prefer == "ok" else ERROR
    assert finals(tmp_path / "all") == {"a": (status, attempt, text)}
    whole = RunFolder(tmp_path / "all")
    assert [whole.events("a", number).read_text() for number in (1, 2, 3)] == ["bad", "good", "worse"]
    assert read_journal(whole.journal).state.history("a").attempts == 3


def test_other_tasks_with_the_same_ids_are_a_contradiction(tmp_path, loop):
    """As when two tasks files without ids were run: the ids are numbers of lines."""
    run_folder(tmp_path / "1", loop, [Task(id="1", prompt="one")])
    run_folder(tmp_path / "2", loop, [Task(id="1", prompt="another")], outcome("1"))
    with pytest.raises(MergeError, match=r"1 \(not the same task in all of them\)"):
        merged(tmp_path, "1", "2")
    merged(tmp_path, "1", "2", prefer="first")
    assert [task.prompt for task in RunFolder(tmp_path / "all").read_tasks()] == ["another"]


def test_a_task_that_was_reopened_may_be_retried_as_if_new(tmp_path, loop):
    folder = run_folder(tmp_path / "1", loop, tasks("a"), outcome("a", status=TaskStatus.CRASHED))
    journal = open_journal(folder.path, loop)
    journal.reopened("a")
    journal.started("a", 2)
    journal.close()
    merged(tmp_path, "1")
    history = read_journal(tmp_path / "all" / "journal.jsonl").state.history("a")
    assert (history.is_done, history.failed, history.attempts) == (False, 0, 2)


def test_a_merge_of_a_crashed_batch_keeps_its_interrupted_attempt(tmp_path, loop):
    folder = run_folder(tmp_path / "1", loop, tasks("a"))
    journal = open_journal(folder.path, loop)
    journal.started("a", 1)
    journal.close()
    with open(folder.journal, "ab") as file:
        file.write(b'{"state":"fin')
    merged(tmp_path, "1")
    assert read_journal(tmp_path / "all" / "journal.jsonl").state.history("a").is_interrupted
    assert folder.journal.read_bytes().endswith(b'{"state":"fin')


def test_what_cannot_be_merged_is_said(tmp_path, loop):
    folder = run_folder(tmp_path / "1", loop, tasks("a"), outcome("a"))
    with pytest.raises(FolderError, match="the same folder is named twice"):
        merged(tmp_path, "1", "1")
    with pytest.raises(FolderError, match="there is no such folder"):
        merged(tmp_path, "1", "2")
    journal = open_journal(folder.path, loop)
    with pytest.raises(BusyError, match="runs this batch; merge it when that has ended"):
        merged(tmp_path, "1")
    journal.close()
    (tmp_path / "all").mkdir()
    with pytest.raises(FolderError, match="is there already; name a new folder"):
        merged(tmp_path, "1")
