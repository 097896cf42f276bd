"""`on_event`: programs of the user are told by runs, hosts and batches, also at their very end."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.template.protocol import is_available
from supervisor.traces.trace_reader import run_ids
from tests.support.batch_command import BatchCommand
from tests.support.couriers import program, told, wait_for_couriers
from tests.support.faulty_run import program as extension
from tests.support.replay_script import Script
from tests.support.zot_process import wait_until
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.zot_process import Zot

CRASHES = 'sys.stderr.write("a private word\\n"); sys.exit(3)'
QUICKLY = {"restart": {"max": 2, "backoff_s": [0.01, 0.02]}}


@pytest.fixture(autouse=True)
def deliveries() -> Iterator[None]:
    yield
    wait_for_couriers()


def waits_for_the_fall(zot: Zot) -> Script:
    """A run of one step that goes on until an extension has been given up: a program was told, or the trace tells."""
    command = f"until [ -s {zot.folder}/got ] || grep -qs given_up {zot.home}/runs/*.jsonl; do sleep 0.02; done"
    return Script(zot.cwd, "go").call(("bash", {"command": command}))


def rules(zot: Zot, *given: dict[str, Any]) -> None:
    zot.home.mkdir(exist_ok=True)
    (zot.home / "config.json").write_text(json.dumps({"on_event": given}))


def test_a_run_tells_of_an_extension_that_is_given_up(zot: Zot) -> None:
    rules(zot, {"events": ["given_up"], "run": program(zot.folder)})
    bad = extension(zot.folder, "bad", CRASHES, **QUICKLY)
    script = waits_for_the_fall(zot)
    zot.replay(script, "-e", bad, "--max-steps", "1").check(Status.MAX_STEPS)
    wait_for_couriers()
    (event,) = told(zot.folder)
    assert (event["event"], event["extension"], event["host"], event["cwd"]) == ("given_up", "bad", "run", str(zot.cwd))
    assert [event["run"]] == run_ids(zot.home)
    assert "private" not in json.dumps(event)


def test_a_rule_that_fails_is_one_line_and_the_run_goes_on(zot: Zot) -> None:
    rules(zot, {"events": ["given_up"], "run": ["/no/such/program"]})
    bad = extension(zot.folder, "bad", CRASHES, **QUICKLY)
    script = waits_for_the_fall(zot)
    outcome = zot.replay(script, "-e", bad, "--max-steps", "1").check(Status.MAX_STEPS)
    assert outcome.stderr.count("on_event") <= 1


def test_a_faulty_rule_is_refused_before_anything_starts(zot: Zot) -> None:
    rules(zot, {"events": ["given_up"], "run": ["x"], "post": "http://localhost/"})
    outcome = zot.run("-p", "go")
    assert outcome.status == Status.USAGE.exit_code
    assert "config.json: on_event[0]: needs either run or post" in outcome.stderr


def test_a_project_has_no_rules(zot: Zot) -> None:
    bad = extension(zot.folder, "bad", CRASHES, **QUICKLY)
    (zot.cwd / ".zot").mkdir()
    text = json.dumps({"on_event": [{"events": ["given_up"], "run": program(zot.folder)}]})
    for path in (zot.cwd / ".zot" / "config.json", zot.cwd / "config.json"):
        path.write_text(text)
    script = waits_for_the_fall(zot)
    zot.replay(script, "-e", bad, "--max-steps", "1").check(Status.MAX_STEPS)
    assert told(zot.folder) == []


def test_a_host_that_is_killed_has_told_what_it_knew(zot: Zot) -> None:
    rules(zot, {"events": ["given_up"], "run": program(zot.folder)})
    bad = extension(zot.folder, "bad", CRASHES, **QUICKLY)
    with zot.start("host", "-e", bad, "--no-ext") as running:
        wait_until(lambda: told(zot.folder))
        running.signal(signal.SIGKILL)
        running.finish()
    (event,) = told(zot.folder)
    assert (event["event"], event["host"]) == ("given_up", "host")


@pytest.mark.slow
@pytest.mark.skipif(not is_available(), reason="this system has no templates")
@pytest.mark.parametrize("trace", [True, False])
def test_a_batch_tells_of_its_runs_and_of_its_end(zot: Zot, *, trace: bool) -> None:
    rules(zot, {"events": ["given_up", "batch_end"], "run": program(zot.folder)})
    batch = BatchCommand(zot)
    bad = extension(zot.folder, "bad", CRASHES, **QUICKLY)
    script = waits_for_the_fall(zot)
    batch.extensions = ["--no-ext", "-e", str(bad)]
    batch.tasks({"a": "go"})
    flags = [
        "--replay",
        str(script.write(zot.folder / "cassette.jsonl")),
        "-q",
        "--max-steps",
        "1",
        *([] if trace else ["--no-trace"]),
    ]
    assert batch.run(*flags).status == Status.PARTIAL_BATCH.exit_code
    wait_for_couriers()
    *falls, end = told(zot.folder)
    assert [(each["event"], each["extension"], each["host"]) for each in falls] == [("given_up", "bad", "run")]
    assert (end["event"], end["folder"], end["statuses"]) == ("batch_end", str(batch.rundir), {"max_steps": 1})
    assert (end["exit_code"], end["cause"]) == (Status.PARTIAL_BATCH.exit_code, "done")
    assert [each.get("run", "") for each in (*falls, end)] == (run_ids(zot.home) if trace else [""]) * 2
    assert not _pipes(zot.home / "run")


def _pipes(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".alerts")]
