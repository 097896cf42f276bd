"""`zot ext torture`: which extension it takes, the exit status, and the output for people and for programs."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

from supervisor.torture.faults.table import FAULTS
from tests.support.copilot_host import VERSIONS, sdk
from tests.support.extension_folder import extension, folder
from tests.support.host import PRELUDE
from tests.support.mcp_files import write_servers
from tests.support.mcp_servers import server_argv
from tests.support.zot_process import wait_until
from tests.vectors.record import lacks

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot

PATIENT = {"hello": 60.0, "ready": 60.0}
CRASHES = f"""{PRELUDE}
hello("count")
send(type="ready")
for frame in frames():
    result(frame, str(len(frame["args"])))
"""
"""Answers calls, and crashes of lines that are no frames."""


def test_an_extension_that_does_not_work_is_told_and_fails(zot: Zot, tmp_path: Path):
    child = extension(tmp_path, "exits_before_hello", timeouts=PATIENT)
    said = zot.run("ext", "torture", child)
    assert said.status == 1
    assert said.leftovers == []
    assert "did not work without any fault: it exited before its hello (exit 3)" in said.stdout.decode()
    told = zot.run("ext", "torture", child, "--json", "--seed", "7")
    assert told.status == 1
    (record,) = told.json_lines
    assert (record["name"], record["score"], record["seed"], record["asked"]) == ("exits_before_hello", 0.0, 7, None)
    assert "cannot find my configuration" in record["failure"]


def test_extensions_that_cannot_be_chosen(zot: Zot, tmp_path: Path):
    write_servers(zot.cwd / ".mcp.json", shut={"command": server_argv("reference.py")[0]})
    for name, reason in (
        ("nowhere", "no such extension: 'nowhere'"),
        ("./nowhere", "no such folder"),
        ("shut", "not trusted"),
        (folder(tmp_path, "bare", ["x"], dialect="nix"), "dialect"),
    ):
        said = zot.run("ext", "torture", name)
        assert said.status == 2, said
        assert reason in said.stderr


@pytest.mark.slow
def test_the_faults_that_did_not_hold_are_named_and_count(zot: Zot, tmp_path: Path):
    source = tmp_path / "crashes.py"
    source.write_text(CRASHES)
    child = folder(tmp_path, "crashes", [sys.executable, "-I", "-S", str(source)], timeouts=PATIENT)
    told = zot.run("ext", "torture", child, "--json", "--seed", "1")
    assert told.status == 1
    assert told.leftovers == []
    *rows, last = told.json_lines
    assert [row["fault"] for row in rows] == [fault.name for fault in FAULTS]
    outcomes = {row["fault"]: row["outcome"] for row in rows}
    assert {name for name, outcome in outcomes.items() if outcome == "did not hold"} >= {
        "cut-line", "empty-lines", "lines-that-are-no-frames", "arguments-that-are-no-object",
    }  # fmt: skip
    assert outcomes["no-fault"] == outcomes["storm-of-calls"] == outcomes["SIGTERM"] == "held"
    held = sum(outcome == "held" for outcome in outcomes.values())
    applicable = held + sum(outcome == "did not hold" for outcome in outcomes.values())
    assert (last["held"], last["applicable"], last["faults"]) == (held, applicable, len(FAULTS))
    assert last["score"] == held * 1000 // applicable / 10
    assert last["asked"] == "tool count"
    boxes = {row["fault"]: row["box"] for row in rows if row["box"] is not None}
    assert boxes.keys() == {name for name, outcome in outcomes.items() if outcome == "did not hold"}
    assert zot.run("ext", "replay", boxes["arguments-that-are-no-object"], child).status == 1
    shown = zot.run("ext", "torture", child, "--min", f"{last['score'] - 5}")
    assert shown.status == 0
    assert "it ended after empty lines (exit 1" in shown.stdout.decode()
    assert "a good extension: It skips them, and answers the next call." in shown.stdout.decode()


@pytest.mark.slow
def test_faults_are_repeated_until_the_time_is_over_or_it_is_interrupted(zot: Zot, tmp_path: Path):
    child = extension(tmp_path, "echo.sh", timeouts=PATIENT)
    with zot.start("ext", "torture", child, "--minutes", "600", "--json") as running:
        running.child("echo.sh")
        running.signal(signal.SIGINT)
        assert running.finish().status == 130
    repeated = zot.run("ext", "torture", child, "--minutes", "0.4", "--json", "--min", "0")
    assert repeated.status == 0
    assert max(row["trials"] for row in repeated.json_lines[:-1]) > 1


@pytest.mark.slow
def test_a_daemon_that_is_left_is_one_process_of_its_own_trial(zot: Zot, tmp_path: Path):
    source = tmp_path / "daemon.py"
    source.write_text(f"""{PRELUDE}
import subprocess
null = subprocess.DEVNULL
left = subprocess.Popen(["sleep", "300"], stdin=null, stdout=null, stderr=null, start_new_session=True)
hello("count")
send(type="ready")
for frame in frames(): result(frame, "one")
os._exit(0)
""")
    child = folder(tmp_path, "daemon", [sys.executable, "-I", "-S", str(source)], timeouts=PATIENT)
    told = zot.run("ext", "torture", child, "--json", "--seed", "4")
    assert told.leftovers == []
    reasons = {row["fault"]: row["reason"] for row in told.json_lines[:-1]}
    for name in ("no-fault", "eof-after-ready", "eof-in-call", "host-gone", "SIGTERM", "SIGHUP"):
        assert reasons[name] == "it ended and left 1 process"
    assert not any("processes" in reason for reason in reasons.values() if reason)


@pytest.mark.parametrize("as_json", [False, True])
def test_what_was_tried_is_printed_after_an_interruption(as_json, zot: Zot, tmp_path: Path):
    source = tmp_path / "fails.py"
    code = "hello('count')\nsend(type='ready')\nfor frame in frames(): result(frame, 'one')\nexit(3)\n"
    source.write_text(PRELUDE + code)
    child = folder(tmp_path, "fails", [sys.executable, "-I", "-S", str(source)], timeouts=PATIENT)
    with zot.start("ext", "torture", child, "--minutes", "600", *["--json"] * as_json) as running:
        wait_until(lambda: list(zot.home.glob("runs/*.box.jsonl")))
        running.signal(signal.SIGINT)
        said = running.finish()
    assert said.status == 130
    assert said.leftovers == []
    assert said.stderr == "zot ext torture: interrupted\n"
    if as_json:
        *rows, last = said.json_lines
        assert 0 < len(rows) < len(FAULTS)
        assert any(row["box"] for row in rows)
        assert (last["failure"], last["faults"]) == ("interrupted", len(FAULTS))
    else:
        assert "black box: " in said.stdout.decode()
        assert " not tried" in said.stdout.decode()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "typescript", "sh"])
def test_a_new_extension_stands_all_faults(language, zot: Zot):
    assert zot.run("ext", "new", "fresh", "--lang", language).status == 0
    if missing := lacks(zot.cwd / "fresh"):
        pytest.skip(f"{missing} here, which runs it")
    said = zot.run("ext", "torture", "./fresh", "--seed", "20")
    assert said.status == 0, said.stdout


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_copilot_extension_stands_all_faults(version, zot: Zot):
    package = sdk(version)
    assert zot.run("ext", "new", "fresh", "--lang", "copilot").status == 0
    (zot.home / "copilot-sdk").mkdir(parents=True)
    (zot.home / "copilot-sdk" / "node_modules").symlink_to(package.parents[1])
    said = zot.run("ext", "torture", "./fresh", "--seed", "20")
    assert said.status == 0, said.stdout
