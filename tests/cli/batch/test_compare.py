"""`zot batch compare RUNDIR RUNDIR...`."""

from __future__ import annotations

import csv
import fcntl
import os
from unittest.mock import ANY

import pytest
from msgspec.structs import replace

from agent.batch.evaluation.comparison import BatchToCompare, compare_batches
from agent.batch.tasks.repeat import repeated
from cli.batch.evaluation.comparison_page import render_comparison
from cli.batch.evaluation.comparison_text import MOST_TASKS, comparison_lines
from supervisor.loop.loop import Loop
from tests.support.batch_journal import run_folder, tasks
from tests.support.html_page import Page
from tests.support.repetitions import evaluated, passes, repetition
from tests.support.zot_fork import run
from wire.batch.outcome import Score, TaskStatus, Usage

HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[2J\u202e=1+1"


def folder(zot, name, listed, *outcomes, settings=None):
    loop = Loop()
    made = run_folder(zot.cwd / name, loop, listed, *outcomes)
    if settings:
        made.write_batch(replace(made.read_batch(), settings=settings))
    loop.close()
    return made


@pytest.fixture
def two(zot):
    """Of the base `a` and the other batch `b`; the last task of `b` was not run, and one of `a` is missing there."""
    listed = repeated(tasks("won", "lost", "same", "gone"), 2)
    fields = {"usage": Usage(1000), "cost_usd": 0.01, "duration_ms": 2000}
    ends = [*passes("won", 2, 0), *passes("lost", 2, 2), *passes("same", 2, 1), *passes("gone", 2, 1)]
    folder(zot, "a", listed, *(replace(one, **fields) for one in ends))
    listed = [replace(one, model="other") for one in repeated(tasks("won", "lost", "same", "new"), 2)]
    listed = [replace(one, prompt="another thing") if one.id.startswith("lost") else one for one in listed]
    fields = {"usage": Usage(500), "cost_usd": 0.02, "duration_ms": 2000}
    ends = [
        *passes("won", 2, 2),
        *passes("lost", 2, 1),
        *passes("same", 2, 1),
        repetition("new", 1, TaskStatus.CRASHED),
    ]
    return folder(zot, "b", listed, *(replace(one, **fields) for one in ends))


def test_the_text_names_figures_and_the_tasks_that_differ(zot, two):
    found = run(zot, "batch", "compare", "a", "b")
    assert (found.status, found.stderr) == (0, "")
    assert [" ".join(line.split()) for line in found.text.splitlines()] == [
        "batch tasks reps faults not run pass@1",
        "a 4 8 0 0 0.5 (0 to 1)",
        "b 4 6 1 1 0.667 (0.5 to 1)",
        "",
        "b against a, 3 tasks in both: 1 won, 1 lost, 1 same; 2 missing",
        "a b difference",
        "pass@1 0.5 0.667 +0.167 (-0.5 to +1)",
        "tokens 1,000 500 0.5 times",
        "cost $0.01 $0.02 2 times",
        "time 2 s 2 s 1 times",
        "",
        "1 task asks or checks something else in a and b: lost",
        "",
        "95 % intervals from 1,000 bootstrap samples of the tasks",
        "",
        "task a b",
        "won 0 of 2 2 of 2 won",
        "lost 2 of 2 1 of 2 lost",
        "gone 1 of 2 not in it missing",
        "new not in it 1 fault missing",
    ]
    assert "\x1b" not in found.text


def test_one_object_for_programs(zot, two):
    (record,) = run(zot, "batch", "compare", "a", "b", "--format", "json").json_lines
    assert (record["base"], [one["folder"] for one in record["batches"]]) == ("a", ["a", "b"])
    (one,) = record["comparisons"]
    assert [one[word] for word in ("folder", "won", "lost", "same", "missing")] == ["b", 1, 1, 1, 2]
    assert (one["changed"], one["score"], one["tokens"]) == (["lost"], None, {"base": 1000, "other": 500, "ratio": 0.5})
    assert one["pass_at_1"] == {
        "value": pytest.approx(1 / 6), "low": -0.5, "high": 1.0, "tasks": 3, "method": "bootstrap",
    }  # fmt: skip
    gone = next(task for task in record["tasks"] if task["task"] == "gone")
    assert (gone["verdicts"], gone["batches"][0]["repetitions"], gone["batches"][1]) == (["missing"], 2, None)


def test_a_row_of_csv_for_each_task_and_batch(zot, two):
    found = run(zot, "batch", "compare", "a", "b", "--format", "csv", "-o", "c.csv")
    assert (found.status, found.stdout) == (0, b"")
    rows = list(csv.DictReader((zot.cwd / "c.csv").read_text().splitlines()))
    assert len(rows) == 5 * 2
    assert [
        (row["batch"], row["verdict"], row["difference"], row["score"], row["is_changed"]) for row in rows[2:4]
    ] == [
        ("a", "", "", "1.0", ""),
        ("b", "lost", "-0.5", "0.5", "true"),
    ]
    assert [(row["task"], row["repetitions"]) for row in rows[6:8]] == [("gone", "2"), ("gone", "")]


def test_a_page_for_a_browser(zot, two):
    assert run(zot, "batch", "compare", "a", "b", "--format", "html", "-o", "c.html").stdout == b""
    page = Page((zot.cwd / "c.html").read_text())
    assert page.of("h1")[0][1] == "b against a"
    tiles = dict(zip((text for _, text in page.of("dt")), (text for _, text in page.of("dd")), strict=True))
    assert tiles == {"Won": "1", "Lost": "1", "Same": "1", "Missing": "2", "Difference of pass@1": "+0.167"}
    (shown,) = page.tables("All tasks")
    assert [[row[0].split()[0], *row[1:]] for row in shown] == [
        ["won", "won", "0 of 2", "2 of 2", "+1"],
        ["lost", "lost", "2 of 2", "1 of 2", "-0.5"],
        ["gone", "missing", "1 of 2", "not in it", "-"],
        ["new", "missing", "not in it", "1 fault", "-"],
        ["same", "same", "1 of 2", "1 of 2", ANY],
    ]
    assert "asks something else" in page.text
    assert "http" not in page.text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def compared(*batches):
    given = [BatchToCompare(name, evaluated(ends), {}) for name, ends in batches]
    return given, compare_batches(given)


def text_of(given, found):
    return ["".join(text for text, _ in parts) for parts in comparison_lines(given, found, None)]


def test_three_batches_of_which_one_has_scores():
    scored = [repetition("t", k, score=0.5) for k in (1, 2)]
    given, found = compared(("x", passes("t", 2, 1)), ("y", passes("t", 2, 2)), ("z", scored))
    lines = text_of(given, found)
    assert "z has scores and x has none: they are compared by what has passed" in lines
    assert sum("against x, 1 task in both" in line for line in lines) == 2
    assert lines[-1].split() == [
        "t",
        "0.5",
        "(1",
        "of",
        "2)",
        "1",
        "(2",
        "of",
        "2)",
        "won",
        "0.5",
        "(0",
        "of",
        "2)",
        "lost",
    ]
    page = Page(render_comparison(given, found, version="1"))
    assert page.of("h1")[0][1] == "2 batches against x"
    assert page.of("dd") == []


def test_unknown_costs_are_no_zero_and_long_lists_are_cut():
    ends = [repetition(f"t{at}", 1, cost_usd=None, known_cost_usd=0.5) for at in range(MOST_TASKS + 7)]
    failed = [replace(one, status=TaskStatus.TIMEOUT) for one in ends]
    lines = text_of(*compared(("x", ends), ("y", failed)))
    assert any(line.split() == ["cost", "≥", "$0.5", "≥", "$0.5", "1", "times"] for line in lines)
    assert lines[-1] == "and 7 tasks more that differ; --format csv has all"


def test_runs_without_a_score_are_told_and_left_out():
    no_score = [repetition(task, 1, score=Score(None, reason="it timed out")) for task in ("t", "u")]
    given, found = compared(("x", [*passes("t", 1, 1), *passes("u", 1, 1)]), ("y", [*no_score, *passes("u", 1, 1)]))
    lines = text_of(given, found)
    assert "y: 2 without a score are left out; zot batch score --missing scores them" in lines
    assert lines[-1].split() == ["t", "1", "of", "1", "no", "score", "missing"]


def test_names_of_others_control_nothing():
    given, found = compared((HOSTILE, passes(HOSTILE, 1, 1)), ("y", passes(HOSTILE, 1, 0)))
    text = "\n".join(text_of(given, found))
    assert not {"\x1b", "\u202e"} & {*text}
    page = render_comparison(given, found, version="1")
    assert "<img" not in page
    assert not {"\x1b", "\u202e"} & {*page}
    assert page.count("</script>") == 2


def test_batches_that_have_not_ended_are_compared_as_far_as_they_are(zot, two):
    lines = two.journal.read_bytes().splitlines(keepends=True)
    two.journal.write_bytes(b"".join(lines[:-4]) + lines[-4][:40])  # killed while it wrote the last outcome but one
    with two.journal.open("r+b") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        found = run(zot, "batch", "compare", "a", "b")
    assert found.status == 0
    assert "3 tasks in both" in found.text
    assert found.text.splitlines()[2].split()[:5] == ["b", "4", "5", "0", "3"]


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        (["a"], 2, "it takes two RUNDIRs at least"),
        (["a", "b", "./a/../a"], 2, "a and ./a/../a are the same folder; name each batch once"),
        (["a", "link"], 2, "a and link are the same folder"),
        (["a", "none"], 2, "there is no such folder"),
        (["a", "c"], 2, "a and c have no task in common: tasks are compared by their ids"),
        (["a", "broken"], 1, "broken/journal.jsonl, line 3 is damaged"),
        (["a", "b", "--format", "xml"], 2, "'xml'"),
        (["a", "b", "--format", "html", "-o", "."], 2, "-o .: a folder; name the file in it"),
        (["a", "b", "--format", "csv", "-o", "none/c.csv"], 1, "none"),
    ],
)
def test_input_that_is_refused(zot, two, words, status, reason):
    folder(zot, "c", tasks("c"), repetition("c", 0))
    broken = folder(zot, "broken", tasks("won"), repetition("won", 0))
    broken.journal.write_bytes(broken.journal.read_bytes().replace(b'"final":true', b'"final":tru3', 1))
    os.symlink("a", zot.cwd / "link")
    found = run(zot, "batch", "compare", *words)
    assert (found.status, found.stdout) == (status, b"")
    assert reason in found.stderr
    assert len(found.stderr.splitlines()) == 1 or status == 2


def test_the_score_command_of_a_whole_batch_counts_as_that_of_its_tasks(zot):
    folder(zot, "x", tasks("t"), repetition("t", 0), settings={"flags": {"score": "true"}})
    folder(zot, "y", tasks("t"), repetition("t", 0), settings={"flags": {"score": "false"}})
    assert "1 task asks or checks something else in x and y: t" in run(zot, "batch", "compare", "x", "y").text
