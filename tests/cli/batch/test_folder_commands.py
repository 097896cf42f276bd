"""`zot batch status|results|logs RUNDIR`."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import pty
from contextlib import suppress
from xml.etree import ElementTree

import msgspec
import pytest
from msgspec.structs import replace

from supervisor.loop.loop import Loop
from tests.support.batch_journal import outcome, run_folder, tasks
from tests.support.batch_written import WrittenBatch
from tests.support.zot_fork import run
from tests.support.zot_process import wait_until
from wire import events


def ids(found):
    return [record["id"] for record in found.json_lines]


# --- status ----------------------------------------------------------------------------------------------------


def test_status_of_a_batch_that_has_more_to_do(zot, runs):
    found = run(zot, "batch", "status", "runs")
    assert (found.status, found.stderr) == (10, "")
    lines = found.text.splitlines()
    assert lines[0] == str(runs.path)
    assert lines[2:6] == [
        "  tasks       3 of 4 done, 1 ok",
        "  not ok      1 check_failed, 1 timeout",
        "  left        1",
        "  cost        at least $1, as not all costs are known, 1,200 tokens",
    ]
    assert f"zot batch retry {runs.path} --status not_run" in found.text


def test_status_after_a_kill_knows_that_it_does_not_know_all_costs(zot):
    loop = Loop()
    written = WrittenBatch(zot.cwd / "killed", loop, "one", "two")
    written.open()
    written.run("one")
    written.start("two")
    written.kill()
    loop.close()
    path = written.folder.events("two", 1)
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"type":"session","model":"claude-sonnet-4-5"}\n{"type":"turn_start","step":1}\n')
    (record,) = run(zot, "batch", "status", "killed", "--json").json_lines
    assert (record["state"], record["interrupted"], record["cost_usd"], record["known_cost_usd"]) == (
        "killed",
        1,
        None,
        0.5,
    )
    assert record["reserved_usd"] > 0.48, "the next start counts as much"


def test_a_reserve_that_does_not_exist_names_its_file(zot, runs):
    batch = runs.read_batch()
    runs.write_batch(replace(batch, settings={"flags": {"run": {}, "reserve": "much"}}))
    found = run(zot, "batch", "retry", "runs")
    assert (found.status, found.text) == (2, "")
    assert f"{runs.batch_file}: its --reserve: 'much' is not one of none, seen, worst" in found.stderr
    (record,) = run(zot, "batch", "status", "runs", "--json").json_lines
    assert record["reserve"] == "seen"
    found = run(zot, "batch", "retry", "runs", "--reserve", "much")
    assert (found.status, "'much' is not one of" in found.stderr) == (2, True)


def test_status_as_json(zot, runs):
    (record,) = run(zot, "batch", "status", "runs", "--json").json_lines
    assert (record["state"], record["tasks"], record["done"], record["left"]) == ("done", 4, 3, 1)
    assert record["statuses"] == {"ok": 1, "check_failed": 1, "timeout": 1}
    assert (record["cost_usd"], record["known_cost_usd"]) == (None, 1.0)


def test_status_tells_a_batch_that_runs_from_one_that_was_killed(zot, runs):
    text = runs.journal.read_bytes()
    runs.journal.write_bytes(b"".join(text.splitlines(keepends=True)[:-1]))  # without `closed`
    assert "its process was killed, or the machine went down" in run(zot, "batch", "status", "runs").text
    with runs.journal.open("r+b") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        assert "  state       running (pid " in run(zot, "batch", "status", "runs").text


@pytest.mark.parametrize("words", [["status"], ["results"], ["logs", "one"]])
def test_a_folder_without_a_batch_is_refused(zot, words):
    (zot.cwd / "empty").mkdir()
    command, *rest = words
    for name, reason in (("none", "there is no such folder"), ("empty", "it is no folder of a batch")):
        found = run(zot, "batch", command, name, *rest)
        assert found.status == 2
        assert found.stderr.startswith(f"zot batch {command}: {zot.cwd / name}: ")
        assert reason in found.stderr
        assert found.stdout == b""


# --- results ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--failed"], ["two", "three"]),
        (["--status", "timeout"], ["three"]),
        (["--status", "ok", "--status", "check_failed"], ["one", "two"]),
        (["--status", "not_run"], []),
    ],
)
def test_results_of_some_statuses(zot, runs, flags, expected):
    assert ids(run(zot, "batch", "results", "runs", *flags)) == expected


def test_results_in_a_file_and_in_other_forms(zot, runs):
    table = zot.cwd / "table.csv"
    assert run(zot, "batch", "results", "runs", "--format", "csv", "-o", "table.csv").stdout == b""
    assert [row["status"] for row in csv.DictReader(table.read_text().splitlines())] == [
        "ok",
        "check_failed",
        "timeout",
    ]
    (suite,) = ElementTree.fromstring(run(zot, "batch", "results", "runs", "--format", "junit", "--failed").stdout)
    assert (suite.get("tests"), suite.get("skipped")) == ("2", "0")


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--status", "tiemout"], "--status: 'tiemout' is not one of"),
        (["--failed", "--status", "ok"], "--failed and --status exclude each other"),
        (["-o", "."], "-o .: a folder; name the file in it"),
        (["--format", "xml"], "'xml'"),
    ],
)
def test_flags_of_results_that_are_refused(zot, runs, flags, reason):
    found = run(zot, "batch", "results", "runs", *flags)
    assert (found.status, found.stdout) == (2, b"")
    assert reason in found.stderr


HOSTILE = "a\x1b]0;owned\x07\x1b[2J\a\x9b31m\u202eb\nnext"
CONTROLS = ("\x1b", "\a", "\x9b", "\u202e")


@pytest.fixture
def hostile(zot):
    loop = Loop()
    end = outcome("one", text=HOSTILE, meta={"k": HOSTILE}, answer=msgspec.Raw(msgspec.json.encode([HOSTILE])))
    run_folder(zot.cwd / "runs", loop, tasks("one"), end)
    loop.close()


@pytest.mark.parametrize(
    ("form", "flags"),
    [("jsonl", []), ("csv", ["-o", "/dev/stdout"]), ("junit", [])],
    ids=["jsonl", "csv, where the terminal is named as a file", "junit"],
)
def test_no_format_controls_a_terminal(zot, hostile, form, flags):
    ours, theirs = pty.openpty()
    command = ("batch", "results", "runs", "--format", form, *flags)
    with open(ours, "rb", buffering=0) as terminal, zot.start(*command, stdout=theirs) as running:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # EIO at the end
            while part := terminal.read(4096):
                shown += part
        assert running.finish().status == 0
    text = shown.decode().replace("\r\n", "\n")
    assert not [sign for sign in CONTROLS if sign in text], text
    if form == "jsonl":
        assert json.loads(text)["text"] == HOSTILE


def test_csv_is_clean_also_in_a_pipe_and_its_json_keeps_its_values(zot, hostile):
    text = run(zot, "batch", "results", "runs", "--format", "csv").text
    (row,) = csv.DictReader(text.splitlines(keepends=True))
    assert not [sign for sign in CONTROLS if sign in text]
    assert row["text"] == "ab\nnext"
    assert (json.loads(row["answer"]), json.loads(row["meta"])) == ([HOSTILE], {"k": HOSTILE})


# --- logs ------------------------------------------------------------------------------------------------------

CHECK_FAILED = "check_failed: exit 1: 2 tests failed"
TIME = "2026-01-01T12:00:00Z"
RECORDS = (
    events.UserMessage((events.TextContent("count the files"),), time=TIME),
    events.TurnStart(1),
    events.AssistantMessage((events.TextContent("There are three."),), time=TIME),
    events.Done(),
)


def write_events(runs, attempt=1, records=RECORDS, rest=b"", task="one"):
    path = runs.events(task, attempt)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(events.encode, records)) + rest)
    runs.stderr(task, attempt).write_text(f"a warning of attempt {attempt}\n")


def test_logs_show_what_was_said(zot, runs):
    write_events(runs)
    found = run(zot, "batch", "logs", "runs", "one")
    assert (found.status, found.stderr) == (0, "")
    assert [line.split() for line in found.text.splitlines() if line] == [
        ["you", "count", "the", "files"],
        ["turn", "1"],
        ["model", "There", "are", "three."],
    ]


RESULT = events.Result("ok", 0, "", "Done.", 1, events.Totals(1, 1, 0, 0), 0.0, 1500, "s", {})


def test_logs_end_with_the_check_and_the_status_of_the_task(zot, runs):
    """The run is ok, and its task is not; of a check that passes the output says nothing."""
    write_events(runs, task="two", records=[RESULT, events.Done()])
    lines = [" ".join(line.split()) for line in run(zot, "batch", "logs", "runs", "two").text.splitlines() if line]
    assert lines[0].startswith("ok: 1 turn")
    assert lines[1:] == [
        "setup exit 0, 100 ms",
        "check exit 1, 2 s",
        "E assert 1 == 2",
        "2 tests failed",
        CHECK_FAILED,
    ]
    write_events(runs, task="three", records=RECORDS[:2])
    assert run(zot, "batch", "logs", "runs", "three").text.splitlines()[-1] == "timeout: timeout"
    write_events(runs, records=[RESULT, events.Done()])
    assert run(zot, "batch", "logs", "runs", "one").text.splitlines()[-1].startswith("ok: 1 turn")


def test_a_failed_command_shows_its_exit_status(zot, runs):
    said = "$ make\n\nno rule\n\n", "[exit 2]  Took 0.3s"
    for text, shown in (("".join(said), said[1]), (f"{said[0]}timed out after 5s\n[exit -1]  Took 5.0s", "timed out")):
        records = [
            events.ToolCall("t", "bash", msgspec.Raw(b'{"command":"make"}')),
            events.ToolResult("t", is_error=True, content=(events.TextContent(text),)),
        ]
        write_events(runs, records=records)
        assert f"make  ->  {shown}" in run(zot, "batch", "logs", "runs", "one").text


def test_a_followed_log_waits_for_the_check(zot, runs):
    """The run is done before its check is; the journal has the end of it."""
    lines = runs.journal.read_bytes().splitlines(keepends=True)
    write_events(runs, task="two", records=[RESULT, events.Done()])
    at = next(n for n, line in enumerate(lines) if b'"two"' in line and b'"finished"' in line)
    runs.journal.write_bytes(b"".join(lines[:at]))
    shown = zot.folder / "shown"
    with runs.journal.open("r+b") as journal, shown.open("wb") as stdout:
        fcntl.flock(journal, fcntl.LOCK_EX)
        with zot.start("batch", "logs", "runs", "two", "-f", stdout=stdout) as logs:
            wait_until(lambda: "ok: 1 turn" in shown.read_text())
            assert "check" not in shown.read_text()
            journal.seek(0, 2)
            journal.write(b"".join(lines[at:]))
            journal.flush()
            assert logs.finish().status == 0
    assert shown.read_text().splitlines()[-1] == CHECK_FAILED


def test_logs_of_the_last_attempt_or_another_one(zot, runs):
    write_events(runs)
    write_events(runs, 2, [events.UserMessage((events.TextContent("once more"),), time=TIME)], rest=b'{"type":"turn_st')
    found = run(zot, "batch", "logs", "runs", "one")
    assert "once more" in found.text
    assert found.stderr == "zot batch logs: this is attempt 2 of 2; --attempt shows another one\n"
    assert "count the files" in run(zot, "batch", "logs", "runs", "one", "--attempt", "1").text
    assert run(zot, "batch", "logs", "runs", "one", "--stderr").text == "a warning of attempt 2\n"
    raw = run(zot, "batch", "logs", "runs", "one", "--attempt", "1", "--json")
    assert [record["type"] for record in raw.json_lines] == [
        "user_message",
        "turn_start",
        "assistant_message",
        "done",
    ]


def test_a_log_is_followed_until_the_run_is_done(zot, runs):
    write_events(runs)
    with runs.journal.open("r+b") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)  # a batch runs, as far as anybody can see
        assert "There are three." in run(zot, "batch", "logs", "runs", "one", "-f").text


def test_a_log_is_followed_until_no_batch_runs(zot, runs):
    write_events(runs, records=RECORDS[:2])
    assert "count the files" in run(zot, "batch", "logs", "runs", "one", "-f").text


def test_logs_of_all_that_have_failed_begin_with_the_check(zot, runs):
    write_events(runs, task="two", rest=b'{"type":"turn_st')
    found = run(zot, "batch", "logs", "runs", "--failed")
    assert (found.status, found.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in found.text.splitlines() if line]
    assert lines[:6] == [
        "--- two: check_failed, attempt 1",
        "setup exit 0, 100 ms",
        "check exit 1, 2 s",
        "E assert 1 == 2",
        "2 tests failed",
        CHECK_FAILED,
    ]
    assert lines[6:] == [
        "you count the files",
        "turn 1",
        "model There are three.",
        "--- three: timeout, attempt 1",  # without a file of events
        "timeout: timeout",
    ]
    assert run(zot, "batch", "logs", "runs", "--failed", "-n", "1").text.count("---") == 1
    assert "a warning of attempt 1" in run(zot, "batch", "logs", "runs", "--failed", "--stderr").text
    records = run(zot, "batch", "logs", "runs", "--failed", "--json").json_lines
    assert [(record["task"], record["type"]) for record in records] == [
        *(("two", kind) for kind in ("user_message", "turn_start", "assistant_message", "done", "task_end")),
        ("three", "task_end"),
    ]


def test_logs_of_no_failure(zot, runs):
    loop = Loop()
    written = WrittenBatch(zot.cwd / "good", loop, "one")
    written.open()
    written.run("one")
    written.close()
    loop.close()
    found = run(zot, "batch", "logs", "good", "--failed")
    assert (found.status, found.stdout, found.stderr) == (0, b"", "zot batch logs: no task has failed\n")


def test_a_reader_that_has_enough_of_failed_logs_ends_them_quietly(zot, runs):
    many = [events.AssistantMessage((events.TextContent(f"line {n} " * 50),), time=TIME) for n in range(2000)]
    write_events(runs, records=many, task="two")
    with zot.start("batch", "logs", "runs", "--failed") as logs:
        assert logs.process.stdout.readline().startswith(b"--- two")
        logs.process.stdout.close()
        found = logs.finish()
    assert (found.status, found.stderr) == (130, "")


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        ([], 2, "name a task of the batch, or --failed for all that have failed"),
        (["one", "--failed"], 2, "--failed and TASK exclude each other"),
        (["--failed", "-f"], 2, "--failed and -f exclude each other"),
        (["--failed", "--stderr", "--json"], 2, "--stderr and --json exclude each other"),
        (["one", "-n", "3"], 2, "-n is for --failed only"),
        (["oen"], 2, "no such task in this batch: 'oen'; did you mean 'one'?"),
        (["two"], 1, "task two has no run yet; zot batch status runs says what is done"),
        (["one", "--attempt", "7"], 1, "task one has no attempt 7"),
        (["one", "--stderr", "--json"], 2, "--stderr and --json exclude each other"),
    ],
)
def test_logs_that_there_are_not(zot, runs, words, status, reason):
    write_events(runs)
    found = run(zot, "batch", "logs", "runs", *words)
    assert (found.status, found.stdout) == (status, b"")
    assert reason in found.stderr
