"""Tasks by the values of their `meta`, and by the task that they repeat."""

from __future__ import annotations

from msgspec.structs import replace

from cli.report.batch.breakdown import MISSING, VALUES, mean_score, pass_rate, values_by_key
from cli.report.batch.figures import AttemptFigures, TaskFigures, evaluate
from wire.batch.outcome import TaskStatus, Usage


def ended(task, status=TaskStatus.OK, score=None, repeat=None, is_unscored=False, **meta):
    attempt = AttemptFigures(
        1, status, "", 0, 1.0, 0.0, 0.5, Usage(), 0, "m", is_final=True, score=score, is_unscored=is_unscored
    )
    return TaskFigures(task, state=status, attempts=[attempt], repeat=repeat, meta=meta)


def test_only_keys_with_few_values_divide_the_tasks():
    tasks = [ended(f"t{n}", lang="de" if n % 2 else "fr", number=str(n), same="x") for n in range(VALUES + 1)]
    tasks.append(ended("bare"))
    found = values_by_key(tasks)
    assert {key: {value: len(held) for value, held in kinds.items()} for key, kinds in found.items()} == {
        "lang": {MISSING: 1, "de": 6, "fr": 7},
        "same": {MISSING: 1, "x": 13},
    }


def test_repetitions_make_no_kind_of_one_task():
    tasks = [ended(f"t{n}#{k}", repeat=k, number=str(n)) for n in range(4) for k in (1, 2, 3)]
    assert values_by_key(tasks) == {}


def test_the_node_of_a_task_is_that_of_the_attempt_that_counts_or_runs():
    task = ended("a")
    task.attempts = [replace(task.attempts[0], node="n1", is_final=False), replace(task.attempts[0], node="n2")]
    task.last_node = "n3"
    assert task.node == "n2"
    task.attempts[1].is_final = False
    assert task.node == "n2", "the last that has ended"
    task.running = 3
    assert task.node == "n3"
    assert ended("b").node == TaskFigures("c").node == ""


def test_faults_and_runs_without_a_score_are_in_no_rate_and_no_mean():
    tasks = [
        ended("a", score=1.0),
        ended("b", score=0.5),
        ended("c", TaskStatus.CHECK_FAILED, score=0.0),
        ended("d", TaskStatus.CRASHED, score=1.0),
        ended("e", is_unscored=True),
        TaskFigures("f"),
    ]
    found = evaluate(tasks)
    assert (round(pass_rate(found), 3), mean_score(found)) == (33.333, 0.5)
    assert (found.faults, found.unscored, found.not_run) == (1, 1, 1)
    fault = evaluate(tasks[3:4])
    assert pass_rate(fault) is mean_score(fault) is None
