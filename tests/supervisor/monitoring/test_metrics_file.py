"""The file of metrics: replaced as a whole, readable for a collector, and made without holding up the host."""

from __future__ import annotations

import os
import stat
import threading
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from supervisor.monitoring.metrics_file import MetricsFile
from supervisor.monitoring.rotated_file import StatsFileError
from tests.support.patience import PATIENCE_S
from tests.support.recorded_stats import extension_stats, sample

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.loop.loop import Loop

MANY = {f"ext-{index}": extension_stats(calls=index) for index in range(300)}


def refuse(text: str) -> None:
    raise AssertionError(text)


def metrics(loop: Loop, path: Path) -> MetricsFile:
    return MetricsFile(loop, path, sample(1.0, {}), openmetrics=False, on_error=refuse)


def uptime(path: Path) -> float:
    families = {family.name: family for family in text_string_to_metric_families(path.read_text())}
    return families["zot_host_uptime_seconds"].samples[0].value


def test_another_user_may_read_it_whatever_the_umask(loop: Loop, tmp_path: Path):
    before = os.umask(0o077)
    try:
        file = metrics(loop, tmp_path / "zot.prom")
        file.write(sample(2.0, {}))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "zot.prom").stat().st_mode) == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["zot.prom"]


@pytest.mark.slow
def test_many_extensions_do_not_hold_up_the_host(loop: Loop, tmp_path: Path):
    """The text is made in many turns of the loop, and the old file stays until the new one is whole."""
    path = tmp_path / "zot.prom"
    file = metrics(loop, path)
    before = path.stat().st_ino
    file.begin(sample(2.0, MANY))
    passes = loop.passes
    assert loop.run_until(lambda: loop.passes > passes + 3, loop.clock() + PATIENCE_S)
    assert file.is_busy
    assert (uptime(path), path.stat().st_ino) == (1.0, before)
    file.begin(sample(3.0, MANY))  # one is under way: this does nothing
    assert loop.run_until(lambda: not file.is_busy, loop.clock() + PATIENCE_S)
    assert uptime(path) == 2.0
    assert loop.passes - passes > 100
    assert file.cost_s > 0


@pytest.mark.slow
def test_the_last_figures_replace_those_that_are_under_way(loop: Loop, tmp_path: Path):
    path = tmp_path / "zot.prom"
    file = metrics(loop, path)
    file.begin(sample(2.0, MANY))
    file.write(sample(3.0, MANY))
    assert uptime(path) == 3.0
    assert not file.is_busy
    passes = loop.passes
    loop.call_later(0.05, lambda: None)
    assert loop.run_until(lambda: loop.passes > passes, loop.clock() + PATIENCE_S)
    assert uptime(path) == 3.0


def test_it_starts_no_thread(loop: Loop, tmp_path: Path):
    before = set(threading.enumerate())
    metrics(loop, tmp_path / "zot.prom").write(sample(2.0, MANY))
    assert set(threading.enumerate()) <= before


def test_a_file_that_cannot_be_written_is_an_error_at_the_start_and_a_line_later(loop: Loop, tmp_path: Path):
    with pytest.raises(StatsFileError, match=r"--metrics .*/no/zot.prom: No such file or directory"):
        metrics(loop, tmp_path / "no" / "zot.prom")
    told: list[str] = []
    folder = tmp_path / "there"
    folder.mkdir()
    path = folder / "zot.prom"
    file = MetricsFile(loop, path, sample(1.0, {}), openmetrics=True, on_error=told.append)
    path.unlink()
    folder.rmdir()
    file.begin(sample(2.0, {}))
    assert loop.run_until(lambda: not file.is_busy, loop.clock() + PATIENCE_S)
    assert told == [f"cannot write {path}: No such file or directory"]
