"""A short soak: its claims hold, whatever hostile extensions do. Speed is not judged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

import pytest

from benchmarks.programs.faults import FLOODS
from tests.support.marked_processes import MARK, marked
from tests.support.warm_start import ROOT
from wire.dialects.long_lines import LIMITS, SHORT, decode_long
from wire.frames import Malformed

if TYPE_CHECKING:
    from pathlib import Path

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="finds processes by /proc")


def test_the_floods_are_the_largest_frames_that_a_host_takes():
    for flood in FLOODS:
        frame = flood.frame()
        kind = str(json.loads(frame)["type"])
        assert len(frame) == LIMITS.get(kind, SHORT)
        assert not isinstance(decode_long(frame), Malformed)
        assert isinstance(decode_long(frame[:-1] + b" }"), Malformed) or len(frame) == SHORT
    assert {str(json.loads(flood.frame())["type"]) for flood in FLOODS} > set(LIMITS)


@pytest.mark.slow
@linux_only
def test_every_call_ends_once_and_nothing_is_left(tmp_path: Path):
    figures, mark = tmp_path / "figures.json", uuid.uuid4().hex
    argv = [sys.executable, "-m", "benchmarks.soak", "--quick", "--json", str(figures)]
    done = subprocess.run(argv, cwd=ROOT, env={**os.environ, MARK: mark}, capture_output=True, text=True)
    assert figures.exists(), done.stdout + done.stderr
    tables = {table["title"]: table["rows"] for table in json.loads(figures.read_text())["tables"]}
    claims = {row[0]: row[2] for row in tables["claims"]}
    for claim in (
        "every call ends exactly once, in time, with a reason",
        "those that do well fail only where they die",
        "the accounts have every request",
        "the accounts have every timeout",
        "no process is left",
        "as many descriptors after as before",
        "descriptors do not pile up from one quiet stretch to the next",
        "the host does not grow from the second quarter to the last",
    ):
        assert claims[claim] == "PASS", done.stdout
    happened = dict(tables["what happened"])
    for what in ("calls answered", "calls failed with a reason", "calls timed out", "SIGKILL to friends", "restarts"):
        assert happened[what] > 0
    assert marked(mark) == []
