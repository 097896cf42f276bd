"""A whole batch through the command: begun, looked at, and gone on with."""

from __future__ import annotations

import json
import os
import signal

import msgspec
import pytest

from tests.support.replay_script import Script
from tests.support.zot_fork import run
from tests.support.zot_process import wait_until
from wire.batch import records
from wire.batch.records import BatchEnd, BatchStart


def tasks(zot, **prompts):
    lines = [json.dumps({"id": name, "prompt": prompt, "meta": {"n": name}}) for name, prompt in prompts.items()]
    (zot.cwd / "t.jsonl").write_text("".join(line + "\n" for line in lines))


@pytest.fixture
def cassette(zot):
    """Answers the prompt "go"."""
    path = zot.folder / "cassette.jsonl"
    Script(zot.cwd, "go").answer("Done.").write(path)
    return path


def batch(zot, *flags, **popen):
    return zot.run("batch", "t.jsonl", "-o", "runs", "--no-ext", "-j", "2", *flags, **popen)


@pytest.mark.slow
def test_a_batch_from_its_start_over_a_failure_to_its_end(zot, cassette):
    tasks(zot, one="go", two="something else", three="go")
    found = batch(zot, "--replay", cassette, "--retries", "0")
    assert (found.status, found.stdout) == (10, b"")
    warning, *lines = found.stderr.splitlines()
    assert warning.startswith("zot batch: 3 tasks may change ")
    assert sorted(line.split("] ")[1].split()[:2] for line in lines[:3]) == [
        ["error", "two"],
        ["ok", "one"],
        ["ok", "three"],
    ]
    assert lines[3].startswith("2 of 3 tasks ok in ")
    assert lines[-2].startswith("zot batch retry runs ")

    status = run(zot, "batch", "status", "runs", "--json").json_lines[0]
    assert (status["state"], status["statuses"], status["left"]) == ("done", {"ok": 2, "error": 1}, 0)
    results = run(zot, "batch", "results", "runs").json_lines
    assert [(one["id"], one["status"], one["text"]) for one in results] == [
        ("one", "ok", "Done."), ("two", "error", ""), ("three", "ok", "Done."),
    ]  # fmt: skip
    assert "model         Done." in run(zot, "batch", "logs", "runs", "one").text

    again = batch(zot, "--replay", cassette, "--retries", "0")
    assert again.status == 10
    assert "[" not in again.stderr.splitlines()[0], "nothing is run again"

    Script(zot.cwd, "something else").answer("This, too.").write(cassette)
    retried = zot.run("batch", "retry", "runs", "--json", "-q")
    assert retried.status == 0, retried.stderr
    told = retried.json_lines
    assert told[0]["type"] == "batch_start"
    assert (told[0]["tasks"], told[0]["done"]) == (3, 2)
    assert {record["task"] for record in told[1:-1]} == {"two"}
    assert {"task_start", "session", "turn_start", "result", "done", "task_end"} <= {record["type"] for record in told}
    assert (told[-1]["type"], told[-1]["statuses"]) == ("batch_end", {"ok": 3})
    for record in told[0], told[-1]:
        msgspec.convert(record, BatchStart | BatchEnd)
    assert run(zot, "batch", "status", "runs").status == 0
    assert told[0]["schema_version"] == records.SCHEMA_VERSION


def test_ctrl_c_drains_and_twice_stops(zot, cassette):
    tasks(zot, one="go", two="go", three="go")
    script = Script(zot.cwd, "go").call(("bash", {"command": "echo here > reached; read line < fifo"}), results=[])
    os.mkfifo(zot.cwd / "fifo")
    script.write(cassette)
    with zot.start("batch", "t.jsonl", "-o", "runs", "--no-ext", "-j", "1", "--replay", cassette) as running:
        wait_until((zot.cwd / "reached").exists)
        running.signal(signal.SIGINT)
        wait_until(lambda: "no new tasks start" in running.errors())
        assert run(zot, "batch", "status", "runs", "--json").json_lines[0]["state"] == "running"
        running.signal(signal.SIGINT)
        found = running.finish()
    assert found.status == 130
    assert "0 of 3 tasks ok" in found.stderr
    assert "3 not run" in found.stderr
    assert "zot batch retry runs --status not_run" in found.stderr
    status = run(zot, "batch", "status", "runs", "--json").json_lines[0]
    assert (status["state"], status["left"]) == ("stopped", 3)
