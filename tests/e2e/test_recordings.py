"""The files of `--stats` and `--metrics`, from the run to its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus

from cli.report.input.source import read_recording
from cli.report.run.findings import exits_of
from tests.support.extension_folder import extension
from tests.support.faulty_run import ECHO, SOON, is_back, observe
from tests.support.host_process import hosting
from tests.support.patience import PATIENCE_S
from tests.support.zot_process import wait_until
from wire import stats

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot


def lines(path: Path) -> list[stats.StatsLine]:
    return [stats.decode(line) for line in path.read_bytes().splitlines()]


def test_a_run_records_its_model_its_outcome_and_every_exit(tmp_path: Path) -> None:
    path = tmp_path / "run.stats"
    lives = extension(tmp_path, "lives", tmp_path / "mark", restart=SOON)
    seen = observe(
        tmp_path,
        lives,
        batches=[[("die", {})], [ECHO]],
        hold={2: is_back("lives")},
        stats=str(path),
        metrics=str(tmp_path / "zot.prom"),
        extension_wait=9.0,
    )
    assert seen.result.status == "ok"
    runs = [line for line in lines(path) if isinstance(line, stats.Run)]
    assert runs[0].model
    assert (runs[0].status, runs[0].exit_code) == ("", None)
    last, usage = runs[-1], seen.result.usage
    assert (last.status, last.exit_code, last.reason) == ("ok", 0, "")
    assert (last.steps, last.input, last.output) == (seen.result.steps, usage.input, usage.output)
    assert last.cost_usd == seen.result.cost_usd
    cost = seen.result.extensions["lives"]
    assert (cost.unexpected_exits, cost.exits) == (1, 2), "the crash, and the stop at the end"
    found = read_recording(str(path))
    facts = dict(found.facts)
    assert facts["outcome"] == "ok (exit 0)"
    assert facts["model"].startswith(last.model)
    assert exits_of(found)["lives"] == 1
    families = {family.name: family for family in parse_prometheus((tmp_path / "zot.prom").read_text())}
    ended = {row.labels["extension"]: row.value for row in families["zot_extension_unexpected_exits"].samples}
    assert (ended["lives"], ended["echo"]) == (1, 0)


def test_a_host_appends_to_its_file_and_writes_openmetrics_if_asked(zot: Zot) -> None:
    path, metrics = zot.folder / "host.stats", zot.folder / "zot.prom"
    flags = ("--stats", str(path), "--stats-interval", "0.5", "--metrics", str(metrics), "--openmetrics")
    echo = extension(zot.folder, "echo")
    for run in (1, 2):
        with hosting(zot, echo, flags=flags) as host:
            for text in ("a", "b"):
                host.call("echo", text)
            wait_until(lambda: b'"type":"change"' in path.read_bytes())
            zot.run("stop", str(host.pid))
            host.running.process.wait(PATIENCE_S)
        begun = [line for line in lines(path) if isinstance(line, stats.Stats) and not line.extensions]
        assert len(begun) == run, "each host begins with the figures before its extensions start"
    found = read_recording(str(path))
    assert [(figure.name, figure.calls) for figure in found.figures] == [("echo", 2)]
    assert "holds 2 runs" in found.notes[0]
    families = {family.name: family for family in parse_openmetrics(metrics.read_text())}
    (count,) = [row.value for row in families["zot_extension_answer_seconds"].samples if row.name.endswith("_count")]
    assert count == 2
