"""Tasks that would write into one folder at the same time."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from agent.batch.opening.resume import writers_of_one_folder
from agent.options import RunRequest
from wire.batch.task import Task


def warning(tasks, **flags):
    return writers_of_one_folder(tasks, RunRequest(**flags))


@pytest.fixture
def tasks(tmp_path):
    (tmp_path / "same").symlink_to(tmp_path)
    here = [Task(id=name, prompt="x", cwd=str(tmp_path)) for name in "abcd"]
    return [*here, Task(id="e", prompt="x", cwd=f"{tmp_path}/same"), Task(id="f", prompt="x", cwd="/")]


def test_the_folder_with_most_writers_is_named(tasks):
    ways = "--workspace copy gives each its own copy, --tools read lets none write, --jobs 1 runs one after another"
    tasks = [task if task.cwd == "/" else replace(task, cwd="/usr/..//usr") for task in tasks]
    assert warning(tasks) == f"5 tasks may change /usr at the same time (a, b, c and 2 more): {ways}"
    tasks.append(Task(id="g", prompt="x", cwd="/"))
    assert warning(tasks).startswith("5 tasks may change /usr at the same time and 1 other folder likewise (a, b, ")
    long = [Task(id=name * 60, prompt="x", cwd="/") for name in "abc"]
    assert warning(long) == f"{f'3 tasks may change / at the same time ({long[0].id}, {long[1].id}'[:158]} …: {ways}"


def test_a_link_to_a_folder_is_that_folder(tasks):
    assert warning(tasks[3:5]).startswith("2 tasks may change ")


def test_tasks_that_cannot_write_or_have_their_own_folder_are_no_matter(tasks):
    assert warning(tasks, tools=frozenset({"read"})) == warning(tasks, tools=frozenset()) == warning(tasks[4:]) == ""


def test_the_tools_of_a_task_count_more_than_the_flags(tasks):
    readers = [Task(id=str(n), prompt="x", tools=("read",)) for n in range(3)]
    assert warning(readers) == ""
    writers = [Task(id=str(n), prompt="x", tools=("edit",)) for n in range(2)]
    assert warning(writers, tools=frozenset()).startswith("2 tasks may change ")
    assert f" {os.getcwd()}"[:40] in warning(writers)
