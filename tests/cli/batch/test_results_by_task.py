"""`zot batch results RUNDIR --by task`, and the line of estimates in the state and at the end of a batch."""

from __future__ import annotations

import csv
import json

import pytest

from agent.batch.tasks.repeat import repeated
from cli.batch.evaluation.estimate_text import evaluation_line
from supervisor.loop.loop import Loop
from tests.support.batch_journal import run_folder, tasks
from tests.support.repetitions import evaluated, passes, repetition
from tests.support.replay_script import Script
from tests.support.zot_fork import run
from wire.batch.outcome import Score, TaskStatus, Usage


@pytest.fixture
def repeats(zot):
    """Three tasks, four times each: all of `=a`, half of `b`, one of `c`, which has a fault and was once not run."""
    loop = Loop()
    ends = [*passes("=a", 4, 4), *passes("b", 4, 2), *passes("c", 2, 1)]
    ends.append(repetition("c", 3, TaskStatus.CRASHED, usage=Usage(5)))
    folder = run_folder(zot.cwd / "repeats", loop, repeated(tasks("=a", "b", "c"), 4), *ends)
    loop.close()
    return folder


def test_a_table_for_a_person(zot, repeats):
    found = run(zot, "batch", "results", "repeats", "--by", "task")
    assert (found.status, found.stderr) == (0, "")
    lines = found.text.splitlines()
    assert [line.split() for line in lines[:4]] == [
        ["task", "reps", "passed", "faults", "not", "run", "pass@1", "pass@2", "pass@4", "tokens", "cost", "time"],
        ["=a", "4", "4", "0", "0", "1", "1", "1", "0", "$2", "6", "s"],
        ["b", "4", "2", "0", "0", "0.5", "0.833", "1", "0", "$2", "6", "s"],
        ["c", "2", "1", "1", "1", "0.5", "1", "-", "0", "$1", "3", "s"],
    ]
    assert lines[4:] == [
        "",
        "3 tasks, 10 repetitions that count, 1 fault, 1 not run",
        "0 tokens, $5, 15 s of runs",
        "pass@1  0.667 (0.5 to 1)",
        "pass@2  0.944 (0.833 to 1)",
        "pass@4  1                   1 task left out: fewer than 4 repetitions count",
        "95 % intervals from 1,000 bootstrap samples of the tasks",
    ]


def test_rows_for_programs(zot, repeats):
    *rows, total = run(zot, "batch", "results", "repeats", "--by", "task", "--format", "jsonl").json_lines
    assert [(row["type"], row["task"], row["repetitions"]) for row in rows] == [
        ("task", "=a", 4),
        ("task", "b", 4),
        ("task", "c", 2),
    ]
    assert rows[2]["pass_at"] == {"1": 0.5, "2": 1.0, "4": None}
    assert (total["type"], total["tasks"], total["faults"], total["not_run"]) == ("total", 3, 1, 1)
    assert total["pass_at"]["4"] == {"value": 1.0, "low": None, "high": None, "tasks": 2, "method": ""}
    assert total["score"] == total["pass_at"]["1"]
    run(zot, "batch", "results", "repeats", "--by", "task", "--format", "csv", "-o", "t.csv")
    table = list(csv.DictReader((zot.cwd / "t.csv").read_text().splitlines()))
    assert [row["task"] for row in table] == ["'=a", "b", "c"], "no formula"
    assert [(row["pass@1"], row["pass@4"], row["score"]) for row in table[1:]] == [
        ("0.5", "1.0", "0.5"),
        ("0.5", "", "0.5"),
    ]


def test_a_batch_without_repetitions_has_one_of_each_task(zot, runs):
    *rows, total = run(zot, "batch", "results", "runs", "--by", "task", "--format", "jsonl").json_lines
    assert [(row["task"], row["repetitions"], row["passed"]) for row in rows] == [
        ("one", 1, 1),
        ("two", 1, 0),
        ("three", 1, 0),
        ("four", 0, 0),
    ]
    assert (rows[2]["cost_usd"], rows[2]["known_cost_usd"]) == (None, 0.0)
    assert list(total["pass_at"]) == ["1"]
    assert "≥ $1, " in run(zot, "batch", "results", "runs", "--by", "task").text


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--failed"], "--by task needs all results: leave --failed and --status out"),
        (["--status", "ok"], "--by task needs all results"),
        (["--format", "junit"], "--by task has no form for JUnit"),
        (["--by", "meta"], "'meta'"),
    ],
)
def test_flags_that_are_refused(zot, repeats, flags, reason):
    found = run(zot, "batch", "results", "repeats", "--by", "task", *flags)
    assert (found.status, found.stdout) == (2, b"")
    assert reason in found.stderr


def test_the_csv_of_results_has_new_columns_at_its_end(zot):
    loop = Loop()
    ends = [repetition("a", 2, score=0.25), repetition("b", 0, score=Score(None, reason="no number"))]
    run_folder(zot.cwd / "runs", loop, tasks("a#2", "b"), *ends)
    loop.close()
    rows = list(csv.reader(run(zot, "batch", "results", "runs", "--format", "csv").text.splitlines()))
    assert [row[-3:] for row in rows] == [["reserved_usd", "repeat", "score"], ["0.0", "2", "0.25"], ["0.0", "", ""]]


def test_the_state_has_a_line_of_estimates(zot, repeats, runs):
    found = run(zot, "batch", "status", "repeats")
    assert "  estimates   pass@1 0.667 (0.5 to 1), pass@4 1 (2 of 3 tasks), 1 fault" in found.text.splitlines()
    assert "--by task" in found.text
    (record,) = run(zot, "batch", "status", "repeats", "--json").json_lines
    assert record["evaluation"]["pass_at"]["1"]["tasks"] == 3
    (record,) = run(zot, "batch", "status", "runs", "--json").json_lines
    assert record["evaluation"] is None
    assert "estimates" not in run(zot, "batch", "status", "runs").text


@pytest.mark.parametrize(
    ("outcomes", "line"),
    [
        ([], "no repetition counts yet"),
        ([repetition("a", 1, TaskStatus.ERROR)], "1 fault"),
        (passes("a", 3, 3), "pass@1 1, pass@3 1"),
        ([repetition("a", 1, score=0.5)], "pass@1 0, mean score 0.5"),
        ([repetition("a", 1, score=Score(None)), *passes("a", 1, 1)], "pass@1 1, 1 without a score"),
        ([*passes("a", 2, 2), *passes("b", 1, 0)], "pass@1 0.5 (0 to 1), pass@2 1 (1 of 2 tasks)"),
    ],
)
def test_the_line(outcomes, line):
    assert evaluation_line(evaluated(outcomes)) == line


def test_the_end_of_a_batch_has_the_line_of_all_its_starts(zot):
    """Real runs: in the first start one task and one repetition of it, in the second all of three repetitions."""
    Script(zot.cwd, "go").answer("Done.").write(zot.folder / "cassette.jsonl")
    (zot.cwd / "t.jsonl").write_text("".join(json.dumps({"id": name, "prompt": "go"}) + "\n" for name in ("a", "b")))
    score = 'echo "0.$ZOT_REPEAT"'
    flags = ("--no-ext", "-j", "2", "--replay", zot.folder / "cassette.jsonl", "--score", score)
    first = zot.run("batch", "t.jsonl", "-o", "runs", *flags, "--repeat", "1", "--limit", "1")
    assert "pass@1 0, mean score 0.1" in first.stderr.splitlines()
    second = zot.run("batch", "t.jsonl", "-o", "runs", *flags, "--repeat", "3")
    assert "pass@1 0, pass@3 0, mean score 0.2" in second.stderr.splitlines()
    assert "zot batch results runs --by task" in second.stderr
    *_, total = run(zot, "batch", "results", "runs", "--by", "task", "--format", "jsonl").json_lines
    assert (total["repetitions"], total["passed"], total["score"]["value"]) == (6, 0, pytest.approx(0.2))
