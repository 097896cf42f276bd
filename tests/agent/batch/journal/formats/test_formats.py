"""Each format can be read by a reader of that format, whatever a model has written."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.journal.formats import COLUMNS, FAILURES, FORMATS, NODE, attribute, content
from agent.batch.journal.shards import BatchResults, read_shard
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
    return BatchResults([read_shard(folder)])


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


def test_only_a_batch_on_several_machines_has_nodes(tmp_path, loop, results):
    assert NODE not in text_of(results, "csv").splitlines()[0].split(",")
    assert "<properties>" not in text_of(results, "junit")
    assert '"node"' not in text_of(results, "jsonl")
    ends = [outcome("a", node=NASTY), outcome("b"), outcome("c", status=TaskStatus.CRASHED, node="=n-2")]
    found = BatchResults([read_shard(run_folder(tmp_path / "nodes", loop, tasks("a", "b", "c"), *ends))])
    rows = list(csv.DictReader(io.StringIO(text_of(found, "csv"), newline="")))
    assert tuple(rows[0]) == (*COLUMNS, NODE), "readers know the other columns by their places"
    assert [row[NODE] for row in rows] == ['a|b\nc\n`d` <e> & "f" ]]>  \ufffe *g* | \\| é€😀', "", "'=n-2"]
    cases = ET.fromstring(text_of(found, "junit")).findall("testsuite/testcase")
    assert [case.find("properties/property[@name='node']") is not None for case in cases] == [True, False, True]
    assert [child.tag for child in cases[2]] == ["properties", "error"]
    assert cases[0].find("properties/property").get("value") == re.sub("[\x00\x1b\ufffe]", "\ufffd", NASTY)
    assert [msgspec.json.decode(line).get("node") for line in FORMATS["jsonl"](found)] == [NASTY, None, "=n-2"]


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
    assert results.only((), not_run=True).not_run == results.not_run


def test_an_empty_batch_has_a_header_in_each_format(tmp_path, loop):
    results = BatchResults([read_shard(run_folder(tmp_path / "run", loop, []))])
    assert text_of(results, "jsonl") == ""
    assert text_of(results, "csv").count("\n") == 1
    assert ET.fromstring(text_of(results, "junit")).get("tests") == "0"
