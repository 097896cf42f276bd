"""`zot batch status|results RUNDIR...` and `zot report RUNDIR...`: several folders as one batch."""

from __future__ import annotations

import fcntl
from xml.etree import ElementTree

import pytest

from supervisor.loop.loop import Loop
from tests.support.batch_journal import outcome, run_folder, tasks
from tests.support.html_page import Page
from tests.support.zot_fork import run
from wire.batch.outcome import TaskStatus


@pytest.fixture
def more(zot, runs):
    """The fourth task of the other folder."""
    loop = Loop()
    yield run_folder(zot.cwd / "more", loop, tasks("four"), outcome("four", status=TaskStatus.ERROR, reason="broken"))
    loop.close()


def test_several_folders_are_one_batch(zot, runs, more):
    assert [one["id"] for one in run(zot, "batch", "results", "runs", "more").json_lines] == [
        "one",
        "two",
        "three",
        "four",
    ]
    (suite,) = ElementTree.fromstring(run(zot, "batch", "results", "runs", "more", "--format", "junit").stdout)
    assert (suite.get("name"), suite.get("tests"), suite.get("skipped")) == ("runs, more", "4", "0")
    found = run(zot, "batch", "status", "runs", "more")
    assert (found.status, found.stderr) == (10, "")
    assert found.text.splitlines()[:6] == [
        str(runs.path),
        str(more.path),
        "  state       done",
        "  tasks       4 of 4 done, 1 ok",
        "  not ok      1 check_failed, 1 error, 1 timeout",
        "  left        0",
    ]
    assert f"zot report {runs.path} {more.path} -o report.html" in found.text
    assert found.text.endswith(f"\nzot batch retry {runs.path}\nzot batch retry {more.path}\n")  # it takes one folder
    (record,) = run(zot, "batch", "status", "runs", "more", "--json").json_lines
    assert (record["folders"], record["attempts"], record["starts"], record["known_cost_usd"]) == (
        [str(runs.path), str(more.path)],
        4,
        2,
        1.5,
    )


def test_of_several_folders_the_state_is_that_of_the_one_that_has_stopped_or_runs(zot, runs, more):
    lines = runs.journal.read_bytes().splitlines(keepends=True)
    runs.journal.write_bytes(b"".join(lines[:-2]))  # without the end of the third task, and without `closed`
    (record,) = run(zot, "batch", "status", "runs", "more", "--json").json_lines
    assert (record["state"], record["left"], record["interrupted"]) == ("killed", 1, 1)
    with more.journal.open("r+b") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        (record,) = run(zot, "batch", "status", "runs", "more", "--json").json_lines
    assert (record["state"], record["running"]) == ("running", 0)


def test_batches_that_contradict_each_other_need_a_word(zot, runs):
    loop = Loop()
    run_folder(zot.cwd / "other", loop, tasks("two"), outcome("two", text="done"))
    loop.close()
    for words in (["batch", "status"], ["batch", "results"], ["report", "-o", "-"]):
        refused = run(zot, *words, "runs", "other")
        assert (refused.status, refused.stdout) == (2, b"")
        assert "these batches contradict each other in 1 task: two (check_failed in " in refused.stderr
    found = run(zot, "batch", "results", "runs", "other", "--prefer", "ok")
    assert (found.status, found.json_lines[1]["status"]) == (0, "ok")
    (rows,) = Page(run(zot, "report", "runs", "other", "--prefer", "ok", "-o", "-").text).tables("All tasks")
    assert [[*row[:2], row[3], row[-1]] for row in rows if row[0] == "two"] == [["two", "ok", "2", "other"]]


def test_a_damaged_one_of_several_is_named(zot, runs, more):
    more.journal.write_bytes(more.journal.read_bytes().replace(b"error", b"eror", 1))
    for words, status in ((["batch", "status"], 1), (["batch", "results"], 1), (["report", "-o", "-"], 2)):
        found = run(zot, *words, "runs", "more")
        assert (found.status, found.stdout) == (status, b"")
        assert "more/journal.jsonl, line 3 is damaged" in found.stderr
