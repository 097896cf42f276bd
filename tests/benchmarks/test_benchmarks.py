"""Each benchmark runs, prints its tables, writes its figures and leaves no process behind. Speed is not judged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

import pytest

from benchmarks.compare.calls import COUNTER, counted
from tests.support.marked_processes import MARK, marked
from tests.support.warm_start import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(550)]  # each starts some dozens of programs

if TYPE_CHECKING:
    from pathlib import Path

TABLES = {
    "batch": [
        "live: runs per second",
        "replayed: runs per second",
        "CPU per run",
        "answers after 200 ms",
        "(USS), MiB",
        "the journal, replayed runs",
        "resume: from the start",
        "requests per minute",
        "the provider's cache: 4 tasks",
        "one node of a Ray cluster: time of a run",
    ],
    "copilot": [
        "preToolUse, one core",
        "preToolUse, free",
        "a tool call, one core",
        "a tool call, free",
        "start of 2",
    ],
    "culprit": ["10 cases with one fault among 6 extensions"],
    "intercept": ["back to back, one core", "a call every 2 ms, free", "while others flood", "the layers of a call"],
    "mcp": [
        "a tool call, Python, one core",
        "a tool call, Python, free",
        "start of 2, Python",
        "while another extension says much",
    ],
    "rpc": [
        "ping: round trip",
        "a prompt with",
        "a new conversation",
        "pieces of text",
        "abort in the midst",
        "MiB resident",
        "import pyzot",
    ],
    "scrapes": ["one scrape of a host"],
    "screen": ["from the start", "from a key to its echo", "all at once"],
    "sdk": ["importing", "import zotext", "Python"],
    "sessions": ["reading the session", "a run without a credential", "writing a message of"],
    "sharing": [
        "4 runs as programs of their own",
        "4 runs of one batch",
        "a verdict, all on one core",
        "a tool call, all on one core",
        "memory of the host",
        "a forked run attaches",
        "while another floods, Python, every 2 ms",
        "a kill storm of",
    ],
    "spans": ["3 turns of 100 ms, with --otel", "3 turns of 0 ms, with --otel", "3 turns without --otel"],
    "startup": ["start-up", "zot --version", "first request, one silent"],
    "throughput": ["notify frames of 128 bytes", "processor time of the host"],
    "traces": ["one trace, from its first to its last line"],
}
LONG = (
    "batch",
    "copilot",
    "culprit",
    "intercept",
    "mcp",
    "rpc",
    "scrapes",
    "screen",
    "sharing",
    "spans",
    "startup",
    "throughput",
)


@pytest.mark.skipif(sys.platform != "linux", reason="places processes on processors")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in TABLES])
def test_runs_and_cleans_up(name: str, tmp_path: Path):
    figures, mark = tmp_path / "figures.json", uuid.uuid4().hex
    argv = [sys.executable, "-m", f"benchmarks.{name}", "--quick", "--json", str(figures)]
    done = subprocess.run(argv, cwd=ROOT, env={**os.environ, MARK: mark}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for title in TABLES[name]:
        assert title in done.stdout
    tables = [table for table in json.loads(figures.read_text())["tables"] if table["title"] != "claims"]
    rows = [row for table in tables for row in table["rows"]]
    assert all(isinstance(cell, int | float | None) for row in rows for cell in row[1:])
    assert marked(mark) == []


@pytest.mark.parametrize("name", TABLES)
def test_explains_itself(name: str):
    argv = [sys.executable, "-m", f"benchmarks.{name}", "--help"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "--quick" in done.stdout
    assert "--json FILE" in done.stdout


WITHOUT_COUNTER = "from benchmarks.compare import __main__ as compare; compare.COUNTER = '-'; compare.main()"
"""A count of instructions takes half a minute, and a comparison eight."""


@pytest.mark.skipif(sys.platform != "linux", reason="places processes on processors")
def test_two_checkouts_are_compared_by_turns(tmp_path: Path):
    figures, mark = tmp_path / "figures.json", uuid.uuid4().hex
    argv = [sys.executable, "-c", WITHOUT_COUNTER, str(ROOT), "--quick", "--json", str(figures)]
    done = subprocess.run(argv, cwd=ROOT, env={**os.environ, MARK: mark}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [row for table in json.loads(figures.read_text())["tables"] for row in table["rows"]]
    assert [row[0] for row in rows] == [
        "verdict, of a blocking host",
        "tool call, of a blocking host",
        "verdict, the host's own code, µs",
        "tool call, the host's own code, µs",
        "zot --version, ms",
        "zot --replay, no extensions, ms",
        "first request, no extensions, ms",
        "a run of a batch, ms",
        "a run of a batch, CPU ms",
        *["other", "this", "this / other"] * 2,
    ]
    # Of so few rounds, the difference of processor times may be nothing.
    assert all(cell > 0 for row in rows for cell in row[1:] if "CPU" not in row[0])
    assert "no - here: instructions are not counted" in done.stdout + done.stderr
    assert marked(mark) == []


@pytest.mark.skipif(shutil.which(COUNTER) is None, reason=f"no {COUNTER} here")
def test_instructions_are_counted():
    assert counted(ROOT, "verdict", 5) > 1_000_000


@pytest.mark.slow
def test_journeys_are_counted_in_a_checkout():
    mark = uuid.uuid4().hex
    argv = [sys.executable, "-m", "benchmarks.journeys", str(ROOT), "--files", "--quick"]
    done = subprocess.run(argv, cwd=ROOT, env={**os.environ, MARK: mark}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "a tool call: " in done.stdout
    assert "agent/run/turn/tool_calls.py" in done.stdout
    assert "agent/batch/attempts.py" in done.stdout
    assert marked(mark) == []
