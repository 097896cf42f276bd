"""A batch of replayed runs: the run's program, forked from the template and started as a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.batch_place import BatchPlace
from tests.support.callers import argv_of, call
from tests.support.extension_folder import folder
from tests.support.replay_script import Script
from wire.batch.task import Task

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> BatchPlace:
    return BatchPlace(tmp_path)


def replayed(place: BatchPlace, count: int) -> list[Task]:
    project = place.folder / "project"
    project.mkdir()
    cassette = place.folder / "cassette.jsonl"
    script = Script(project, "go", home=place.folder / "home")
    script.answer("well done").write(cassette)
    return [Task(id=f"t{n}", prompt="go", cwd=str(project), replay=str(cassette)) for n in range(count)]


@pytest.mark.parametrize("has_template", [False, True])
def test_replayed_tasks(place: BatchPlace, *, has_template: bool) -> None:
    found = replayed(place, 3)
    end = place.run(found, run_program=None, has_template=has_template)
    assert (end.exit_code, end.statuses) == (0, {"ok": 3})
    outcome = place.ends()["t1"][0]
    assert (outcome.text, outcome.steps, outcome.exit_status) == ("well done", 1, 0)


def test_an_extension_calls_a_tool_of_its_run(place: BatchPlace) -> None:
    project = place.folder / "project"
    project.mkdir()
    caller = folder(place.folder, "caller", argv_of(place.folder, "caller", "ask"))
    script = Script(project, "go", home=place.folder / "home", extra={"ask": ""})
    script.call(("ask", {"say": [call("bash", command="echo made > made")]}))
    cassette = script.write(place.folder / "cassette.jsonl")
    task = Task(id="t", prompt="go", cwd=str(project), replay=str(cassette), ext=(str(caller),), max_steps=1)
    end = place.run([task], run_program=None)
    assert end.statuses == {"max_steps": 1}
    assert (project / "made").read_text() == "made\n"
    (outcome,) = place.ends()["t"]
    assert outcome.extensions["caller"].calls_made == 1
