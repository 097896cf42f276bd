"""A short run of `scale`, and claims that can fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

import pytest

from benchmarks.scale import Row, claims, times
from benchmarks.scale_host import Figures, Hold
from tests.support.marked_processes import MARK, marked
from tests.support.warm_start import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def row(*, sampling_s: float = 0.05, wakeups: int = 0) -> Row:
    hold = Hold(seconds=10.0, cpu_s=0.06, samples=2, sampling_cpu_s=sampling_s, wakeups=wakeups)
    return Row("sh", 300, [Figures(1.0, 0.2, 4096, 1800, hold, hold)], [Figures(0.5, 0.1, 1024, 600)])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes by /proc")
def test_runs_and_cleans_up(tmp_path: Path):
    figures, mark = tmp_path / "figures.json", uuid.uuid4().hex
    argv = [sys.executable, "-m", "benchmarks.scale", "--quick", "--json", str(figures)]
    done = subprocess.run(argv, cwd=ROOT, env={**os.environ, MARK: mark}, capture_output=True, text=True)
    tables = {table["title"]: table for table in json.loads(figures.read_text())["tables"]}
    assert [line[0].split() for line in tables["the host, all young and silent"]["rows"]] == [
        ["sh", "1"],
        ["sh", "10"],
        ["Python", "1"],
        ["Python", "10"],
    ]
    assert done.stdout.count("not judged") == 1
    assert marked(mark) == []


def test_figures_within_their_limits_pass():
    assert claims([row()]).exit_code == 0


@pytest.mark.parametrize("wrong", [row(sampling_s=0.2), row(wakeups=1)])
def test_figures_above_their_limits_fail(wrong: Row):
    claimed = claims([row(), wrong])
    assert claimed.exit_code == 1
    assert "FAIL" in str(claimed.table)


def test_a_ratio_compares_figures_of_the_same_round():
    measured = row()
    assert times([measured]).rows == [("sh     300", 1000.0, 500.0, 2.0, 200.0, 100.0, 2.0)]
