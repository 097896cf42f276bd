"""Which tasks are the same in two batches."""

from __future__ import annotations

import pytest

from agent.batch.evaluation.task_versions import task_versions
from wire.batch.task import Task


@pytest.mark.parametrize(
    ("fields", "is_the_same"),
    [
        ({"model": "m", "ext": ("e",), "max_steps": 3, "cwd": "elsewhere", "meta": {"a": 1}}, True),
        ({"prompt": "another one"}, False),
        ({"check": "false"}, False),
        ({"score": "false"}, False),
        ({"files": ("a.txt",)}, False),
    ],
)
def test_a_task_is_what_it_asks_and_how_it_is_judged(fields, is_the_same):
    one = task_versions([Task(id="a", prompt="do")])
    other = task_versions([Task(**{"id": "a#2", "repeat": 2, "prompt": "do"} | fields)])
    assert list(one) == list(other) == ["a"]
    assert (one == other) == is_the_same


def test_the_score_of_the_batch_counts_for_tasks_without_one():
    bare, own = Task(id="a", prompt="do"), Task(id="a", prompt="do", score="s")
    assert task_versions([bare], "s") == task_versions([own]) == task_versions([own], "t")
    assert task_versions([bare]) != task_versions([bare], "s")
