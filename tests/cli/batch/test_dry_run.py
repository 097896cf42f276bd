"""`zot batch TASKS -o RUNDIR --dry-run`: tells what would run, asks no model, and writes nothing in RUNDIR."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from supervisor.loop.loop import Loop
from tests.support.batch_journal import outcome, run_folder
from tests.support.batch_journal import tasks as made
from tests.support.replay_script import Script
from tests.support.zot_fork import run
from wire.batch.task import encode_task

EXTENSION = Path(__file__).resolve().parents[3] / "examples" / "extensions" / "todo"
SERVER = ("--provider", "anthropic", "--base-url", "http://127.0.0.1:9", "--model", "claude-haiku-4-5")


def write(zot, *tasks):
    (zot.cwd / "t.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))


def dry(zot, *flags):
    return run(zot, "batch", "t.jsonl", "-o", "runs", "--dry-run", *flags)


def content(folder):
    return {path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes()) for path in folder.rglob("*")}


def test_a_new_batch_with_an_extension(zot):
    touched = zot.cwd / "touched"
    task = {"prompt": "go", "setup": f"touch {touched}", "check": f"touch {touched}"}
    write(zot, *({**task, "id": name} for name in "abc"))
    found = dry(zot, *SERVER, "--no-ext", "-e", EXTENSION, "--max-steps", "2", "--json")
    assert found.status == 0, found.stderr
    record = found.json_lines[0]
    assert (record["new"], record["done"], record["running_pid"]) == (["a", "b", "c"], 0, None)
    (group,) = record["extension_sets"]
    assert (group["extensions"], group["tasks"], group["folders"]) == (["todo"], 3, 1)
    probe = record["probe"]
    assert probe["reason"] == ""
    assert probe["extensions"]["todo"]["memory_bytes"] > 1 << 20
    assert probe["tools"] > 4, "those of the extension, too"
    cost = record["forecast"]
    assert 0 < cost["first_request_usd_at_most"] < cost["request_usd_at_most"] < cost["run_usd_at_most"]
    assert cost["all_usd_at_most"] == pytest.approx(cost["run_usd_at_most"] * 3 * 2), "two attempts of each"
    assert not (zot.cwd / "runs").exists()
    assert not touched.exists(), "neither setup nor check is run"


@pytest.mark.slow
def test_a_batch_that_would_go_on(zot):
    loop = Loop()
    tasks = made("one", "two", "three")
    folder = run_folder(zot.cwd / "runs", loop, tasks, outcome("one"), outcome("two", cost_usd=0.5)).path
    loop.close()
    (zot.cwd / "t.jsonl").write_bytes(b"".join(map(encode_task, tasks)))
    before = content(folder)
    found = dry(zot, *SERVER, "--no-ext", "--redo", "one")
    assert found.status == 0, found.stderr
    assert "2 of 3 tasks: 1 new (three), 1 again (one)" in found.text
    assert "1 stay" in found.text
    assert "no bound: --task-max-cost or --max-steps gives one" in found.text
    assert "by the average of the tasks that are finished" in found.text
    assert content(folder) == before


@pytest.mark.slow
def test_repetitions(zot):
    write(zot, {"id": "a", "prompt": "go"})
    found = dry(zot, *SERVER, "--no-ext", "--repeat", "2", "--json")
    assert found.status == 0, found.stderr
    record = found.json_lines[0]
    assert (record["new"], record["probe"]["task"], record["probe"]["reason"]) == (["a#1", "a#2"], "a#1", "")
    assert record["forecast"]["first_request_usd_at_most"] > 0


def test_faults_are_those_of_a_start(zot):
    write(zot, {"id": "a", "prompt": "go", "cwd": "missing"})
    found = dry(zot, *SERVER)
    assert (found.status, "cwd" in found.stderr, found.text) == (2, True, "")
    write(zot, {"id": "a", "prompt": "go"})
    found = dry(zot, *SERVER, "--redo", "b")
    assert (found.status, "--redo" in found.stderr) == (2, True)


@pytest.mark.slow
def test_a_cassette_is_not_played(zot):
    cassette = zot.folder / "cassette.jsonl"
    Script(zot.cwd, "go").call(("bash", {"command": "touch played"})).write(cassette)
    write(zot, {"id": "a", "prompt": "go"})
    found = dry(zot, "--no-ext", "--replay", cassette)
    assert found.status == 0, found.stderr
    assert "1 task: a cassette answers, no model" in found.text
    assert not (zot.cwd / "played").exists()
