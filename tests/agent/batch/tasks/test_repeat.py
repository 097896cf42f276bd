"""Repetitions: their ids, their seeds, and the tasks that cannot be repeated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.run.begin import set_environment
from agent.batch.tasks.repeat import SEEDS, base_id, repeated, seed
from agent.batch.tasks.select import Selection, SelectionError
from wire.batch.task import ID_LENGTH, Task, TaskError, decode_task, encode_task

IDS = st.lists(st.sampled_from(["fix", "fix#1", "fix#2", "a", "a#11", "#1"]), unique=True, min_size=1)


@given(IDS, st.integers(1, 12))
def test_each_repetition_has_an_id_of_its_own_by_which_its_task_is_found(ids: list[str], times: int) -> None:
    made = repeated([Task(id=each, prompt="p") for each in ids], times)
    assert len({task.id for task in made}) == len(ids) * times
    assert [base_id(task.id, task.repeat) for task in made] == ids * times
    assert [decode_task(encode_task(task)) for task in made] == made


@given(IDS, st.integers(1, 6), st.integers(1, 6))
def test_more_repetitions_later_are_the_same_and_new_ones(ids: list[str], few: int, more: int) -> None:
    tasks = [Task(id=each, prompt="p") for each in ids]
    before, after = repeated(tasks, few), repeated(tasks, few + more)
    assert after[: len(before)] == before


@given(IDS, st.integers(1, 4), st.integers(1, 5), st.integers(1, 3))
def test_the_shards_together_are_all_repetitions(ids: list[str], times: int, shards: int, limit: int) -> None:
    tasks = [Task(id=each, prompt="p") for each in ids]
    parts = [Selection(repeat=times, limit=limit, shard=(index, shards)).apply(tasks) for index in range(1, shards + 1)]
    whole = Selection(repeat=times, limit=limit).apply(tasks)
    assert whole == repeated(tasks[:limit], times)
    assert sorted(task.id for part in parts for task in part) == sorted(task.id for task in whole)


def test_a_seed_is_the_same_on_every_machine_and_differs_in_each_repetition() -> None:
    assert [seed("fix", k) for k in (1, 2, 3)] == [554091820, 1722845184, 370620907]
    found = {seed(f"t{number}", k) for number in range(200) for k in range(1, 6)}
    assert len(found) == 1000
    assert all(0 <= each < SEEDS for each in found)


def test_what_cannot_be_repeated_is_refused() -> None:
    with pytest.raises(SelectionError, match="'fix#2' is a repetition already; leave --repeat out"):
        Selection(repeat=3).apply([Task(id="fix#2", prompt="p", repeat=2)])
    assert len(Selection(repeat=9).apply([Task(id="x" * (ID_LENGTH - 2), prompt="p")])) == 9
    with pytest.raises(SelectionError, match="too long"):
        Selection(repeat=10).apply([Task(id="x" * (ID_LENGTH - 2), prompt="p")])


@pytest.mark.parametrize("given_id", ["fix", "fix#1", "#2", "fix#02", ""])
def test_a_repetition_has_its_number_in_its_id(given_id: str) -> None:
    with pytest.raises(TaskError, match="repeat: the id of repetition 2 is ID#2"):
        decode_task(encode_task(Task(id=given_id, prompt="p", repeat=2)))


def test_a_repetition_is_told_in_its_environment() -> None:
    environ: dict[str, str] = {}
    set_environment(environ, Task(id="fix#2", prompt="p"))
    assert environ == {}
    (task,) = repeated([Task(id="fix#1", prompt="p", env={"ZOT_TASK": "other", "A": "b"})], 1)
    set_environment(environ, task)
    assert environ == {"A": "b", "ZOT_TASK": "fix#1", "ZOT_REPEAT": "1", "ZOT_SEED": str(seed("fix#1", 1))}
    set_environment(environ, Task(id="fix#2", prompt="p", repeat=2, env={"ZOT_SEED": "7"}))
    assert (environ["ZOT_SEED"], environ["ZOT_REPEAT"]) == ("7", "2")
