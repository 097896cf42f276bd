"""Each format can be read by a reader of that format, whatever a model has written."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
import xml.etree.ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent.batch.journal.errors import FolderError
from agent.batch.journal.formats.choice import FORMATS
from agent.batch.journal.formats.csv_table import COLUMNS
from agent.batch.journal.formats.junit import FAILURES, attribute, content
from agent.batch.journal.formats.markdown import escaped, shortened
from agent.batch.journal.formats.sqlite_export import write_sqlite
from agent.batch.journal.results import BatchResults
from tests.support.batch_journal import open_journal, outcome, run_folder, tasks
from wire.batch.outcome import CommandEnd, Outcome, TaskStatus, Usage
from wire.events import Cost

NASTY = 'a|b\nc\r\n`d` <e> & "f" ]]> \x00\x1b[31m \ufffe *g* | \\| é€😀'
COST = Cost("ready", 10, 20, *[0] * 5, 3, *[0] * 6, p50_ms=None, p99_ms=None, exits=0, exit_status=None, restarts=1)
DONE = 3 + len(TaskStatus)
"""Tasks with a final outcome; one more has none."""


@pytest.fixture
def results(tmp_path, loop):
    ids = ["plain", "=1+1", "na|me", "left", *(status.value for status in TaskStatus)]
    ends = [
        outcome("plain", text="done", usage=Usage(1, 2, 3, 4), meta={"k": [1]}, answer=msgspec.Raw(b'{"a": 1}')),
        outcome("=1+1", text="=HYPERLINK(1)", exit_status=-9, cost_usd=None),
        outcome("na|me", status=TaskStatus.CHECK_FAILED, reason=NASTY, text=NASTY, check=CommandEnd(1, 5, NASTY)),
        *(outcome(status.value, status=status, extensions={"ext": COST}) for status in TaskStatus),
    ]
    folder = run_folder(tmp_path / "run", loop, tasks(*ids), *ends)
    journal = open_journal(folder.path, loop)
    journal.finished(outcome("left", status=TaskStatus.CRASHED, usage=Usage(5)), final=False)
    journal.close()
    return BatchResults(folder)


def text_of(results, name):
    return b"".join(FORMATS[name](results)).decode()


def test_jsonl_has_the_outcomes(results):
    read = [msgspec.json.decode(line, type=Outcome) for line in text_of(results, "jsonl").split("\n")[:-1]]
    assert read == list(results.outcomes())
    assert {"id", "status", "attempt", "text", "usage", "cost_usd", "duration_ms", "started", "ended"} <= set(
        msgspec.json.decode(next(results.outcome_texts()))
    )


def test_csv_is_read_back_and_has_no_formula(results):
    rows = list(csv.DictReader(io.StringIO(text_of(results, "csv"), newline="")))
    assert len(rows) == len(results.done)
    assert tuple(rows[0]) == COLUMNS
    assert (rows[0]["text"], rows[0]["answer"], rows[0]["meta"]) == ("done", '{"a": 1}', '{"k":[1]}')
    assert (rows[1]["id"], rows[1]["text"], rows[1]["exit_status"]) == ("'=1+1", "'=HYPERLINK(1)", "-9")
    assert (rows[1]["cost_usd"], rows[0]["cost_usd"], rows[0]["is_cut"]) == ("", "0.5", "false")
    assert rows[2]["text"] == 'a|b\nc\n`d` <e> & "f" ]]>  \ufffe *g* | \\| é€😀'
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "@"))]


def test_markdown_is_one_table_with_a_row_for_each_task(results):
    tokens = MarkdownIt("commonmark").enable("table").parse(text_of(results, "markdown"))
    assert sum(token.type == "tr_open" for token in tokens) == 1 + len(results.done) + len(results.not_run)
    cells = [token for token in tokens if token.type == "inline" and token.level == 4]
    assert len(cells) == 7 * (1 + len(results.done) + len(results.not_run))
    assert {child.type for cell in cells for child in cell.children} <= {"text", "text_special"}
    row = [cells[3 * 7 + place] for place in range(7)]
    assert "".join(child.content for child in row[6].children) == shortened(NASTY)
    assert tokens[1].children[0].content.startswith(f"{DONE} of {DONE + 1} tasks are done: ")


@given(st.text())
def test_no_text_gets_out_of_its_cell(text):
    table = f"| a | b |\n|---|---|\n| {escaped(text)} | end |\n"
    tokens = MarkdownIt("commonmark").enable("table").parse(table)
    cells = [token for token in tokens if token.type == "inline" and token.level == 4]
    assert len(cells) == 4
    assert cells[3].content == "end"
    assert {child.type for child in cells[2].children} <= {"text", "text_special"}


def test_junit_says_what_passed_failed_broke_and_was_not_run(results):
    root = ET.fromstring(text_of(results, "junit"))
    suite = root.find("testsuite")
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert len(cases) == DONE + 1
    counted = {tag: len(suite.findall(f"testcase/{tag}")) for tag in ("failure", "error", "skipped")}
    assert {"failure": int(suite.get("failures")), "error": int(suite.get("errors")), "skipped": 1} == counted
    assert (suite.get("tests"), suite.get("skipped"), suite.get("timestamp")) == (
        str(DONE + 1),
        "1",
        "2026-11-22T20:00:00.000Z",
    )
    for status in TaskStatus:
        child = cases[status.value].find("failure" if status in FAILURES else "error")
        assert (child is None) == (status is TaskStatus.OK)
    assert cases["left"].find("skipped").get("message") == "not run"
    assert cases["plain"].find("system-out").text == "done"
    nasty = cases["na|me"].find("failure")
    visible = re.sub("[\x00\x1b\ufffe]", "\ufffd", NASTY)
    assert (nasty.get("message"), nasty.text, nasty.get("type")) == (visible, visible, "check_failed")
    assert cases["na|me"].find("system-err").text == visible


@given(st.text(st.characters(codec=None)))
def test_any_text_fits_into_xml(text):
    root = ET.fromstring(f'<a b="{attribute(text)}">{content(text)}</a>'.encode())
    assert len(root.text or "") == len(text)
    assert root.get("b") == (root.text or "")


def test_results_of_some_statuses_are_counted_by_themselves(results):
    some = results.only({TaskStatus.TIMEOUT, TaskStatus.CRASHED})
    suite = ET.fromstring(text_of(some, "junit")).find("testsuite")
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "2", "failures": "1", "errors": "1", "skipped": "0"}
    assert text_of(some, "markdown").startswith("2 of 2 tasks are done: 1 crashed, 1 timeout.")
    assert results.only((), not_run=True).not_run == results.not_run


def test_an_empty_batch_has_a_header_in_each_format(tmp_path, loop):
    results = BatchResults(run_folder(tmp_path / "run", loop, []))
    assert text_of(results, "jsonl") == ""
    assert text_of(results, "csv").count("\n") == 1
    assert text_of(results, "markdown").startswith("0 of 0 tasks are done.\n")
    assert ET.fromstring(text_of(results, "junit")).get("tests") == "0"


def test_sqlite_has_results_attempts_usage_and_costs_of_extensions(results, tmp_path):
    path = tmp_path / "out.db"
    path.write_text("something older")
    write_sqlite(results, path)
    connection = sqlite3.connect(path)
    ask = lambda query: connection.execute(query).fetchall()  # noqa: E731
    assert [row[0] for row in ask("SELECT task FROM results")] == results.done
    assert ask("SELECT count(*), sum(is_final) FROM attempts") == [(DONE + 1, DONE)]
    assert ask("SELECT status, attempt FROM attempts WHERE NOT is_final") == [("crashed", 1)]
    assert ask("SELECT cost_usd, exit_status FROM results WHERE task = '=1+1'") == [(None, -9)]
    assert ask("SELECT text FROM results WHERE status = 'check_failed'")[0] == (NASTY.replace("\0", "\ufffd"),)
    assert ask("SELECT kind, tokens FROM usage WHERE task = 'plain'") == [
        *(("input", 1), ("output", 2), ("cache_read", 3), ("cache_write", 4))
    ]
    assert ask("SELECT sum(cpu_ms), count(*) FROM extension_costs WHERE extension = 'ext'") == [
        (10 * len(TaskStatus), len(TaskStatus))
    ]
    assert ask("SELECT prompt FROM tasks WHERE position = 1") == [("do plain",)]
    assert ask("SELECT value FROM batch WHERE name = 'kind'") == [('"zot batch"',)]
    assert ask("SELECT answer, meta FROM results LIMIT 1") == [('{"a": 1}', '{"k":[1]}')]
    connection.close()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out.db", "run"]


def test_a_database_that_cannot_be_written_is_said(results, tmp_path):
    with pytest.raises(FolderError, match=r"none/out.db: cannot be written: unable to open"):
        write_sqlite(results, tmp_path / "none" / "out.db")
