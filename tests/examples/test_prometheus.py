"""The files of `examples/operations/prometheus`: each alert fires for the fault that it is about, by promtool with the
metrics of a host whose extension really had it, and for no other."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from supervisor.extension.lifecycle import WorkerState
from supervisor.fleet.scraper import Scraper
from supervisor.loop.loop import Loop
from supervisor.monitoring.metric_families import EXTENSION, HOST, HOST_INFO, HOST_UP, LATENCY, OF_EACH, SCRAPE
from supervisor.monitoring.metrics import AskedHost, Scrape, render_scrape
from tests.support.host import SOON, Host
from tests.support.host_process import hosting
from tests.support.patience import PATIENCE_S
from tests.support.recorded_metrics import fired, need_promtool, promtool
from tests.support.systemd import need_systemd_analyze, read, verify
from tests.support.zot_fixtures import zot

if TYPE_CHECKING:
    from tests.support.zot_process import Zot

__all__ = ["zot"]

FOLDER = Path(__file__).parents[2] / "examples" / "operations" / "prometheus"
RULES = FOLDER / "rules.yml"
DASHBOARD = FOLDER / "dashboard.json"
FRAMES = 'send(type="ready")\nfor frame in frames():\n    '


class Recorded(Host):
    """A host on a clock that a test moves ahead, and its metrics at the moments of `take`."""

    def __init__(self, folder: Path) -> None:
        self.ahead = 0.0
        super().__init__(folder, loop=Loop(lambda: time.monotonic() + self.ahead))
        self.texts: list[str] = []

    def take(self) -> None:
        self.supervisor.sample()
        stats = self.supervisor.snapshot("host", "0", "/project")
        self.texts.append(render_scrape(Scrape((AskedHost(stats.host.pid, "host", stats),), 0.01)).decode())

    def advance(self, seconds: float) -> None:
        self.ahead += seconds
        self.supervisor.sample()


@pytest.fixture
def host(tmp_path: Path):
    need_promtool()
    with Recorded(tmp_path) as host:
        yield host


def alerts(host: Recorded) -> set[str]:
    return fired(RULES, host.texts, host.folder)


def test_a_healthy_host_fires_nothing(host: Recorded):
    host.add("echo", limits={"rss_mb": 500, "processes": 1})
    host.write(
        "guard", f'hello(intercept=["tool_call"])\n{FRAMES}send(type="event_intercept_response", id=frame["id"])'
    )
    host.start()
    for _ in range(5):
        host.text("echo", text="x")
        assert not host.ask().reason
        host.take()
    assert alerts(host) == set()


def test_one_that_crashes_until_it_is_given_up_fires_both_alerts_about_that(host: Recorded):
    host.add("exits_before_hello", restart={**SOON, "max": 4})
    host.start()
    for row in range(4):
        host.until(lambda row=row: host.extension("exits_before_hello").slots[0].history.row > row)
        host.take()
    host.until(lambda: host.state("exits_before_hello") is WorkerState.FAILED)
    host.take()
    assert alerts(host) == {"ZotExtensionGivenUp", "ZotExtensionRestartStorm"}


def test_one_that_is_started_again_and_again_fires_the_alert_about_storms(host: Recorded):
    host.add("exits_before_hello", restart=SOON)
    host.start()
    for row in range(4):
        host.until(lambda row=row: host.extension("exits_before_hello").slots[0].history.row > row)
        host.take()
    assert alerts(host) == {"ZotExtensionRestartStorm"}


def test_one_near_its_memory_limit_fires_the_alert_about_limits(host: Recorded):
    host.add("memory_hog", limits={"rss_mb": 100})
    host.start()
    host.take()
    host.text("eat", mb=85)
    host.until(lambda: _has_alarm(host, "memory_hog"))
    host.take()
    assert alerts(host) == {"ZotExtensionNearLimit"}


def test_one_that_was_over_its_limit_fires_the_alert_about_limits(host: Recorded):
    host.add("memory_hog", limits={"rss_mb": 60, "breaches": 1}, restart=SOON)
    host.start()
    host.take()
    host.text("eat", mb=100)
    host.until(lambda: host.is_restarted("memory_hog"))
    host.take()
    assert alerts(host) == {"ZotExtensionNearLimit"}


def _has_alarm(host: Recorded, name: str) -> bool:
    host.supervisor.sample()
    return bool(host.supervisor.stats()[name].alarms)


def test_one_that_leaks_fires_the_alert_about_memory(host: Recorded):
    code = FRAMES + 'held = [*(held if "held" in globals() else []), b"m" * (8 << 20)]\n    result(frame, "yum")'
    host.write("leak", f'hello("eat")\n{code}')
    host.start()
    for _ in range(16):
        host.text("eat")
        host.advance(2.0)
        host.take()
    assert alerts(host) == {"ZotExtensionMemoryGrows"}


def test_a_guard_without_a_verdict_fires_the_alert_about_verdicts(host: Recorded):
    host.write("guard", f'hello(intercept=["tool_call"])\n{FRAMES}pass', timeouts={"intercept": 0.05})
    host.start()
    host.take()
    host.ask()
    host.take()
    assert alerts(host) == {"ZotGuardWithoutVerdict"}


@pytest.mark.slow
def test_a_tool_that_takes_long_fires_the_alert_about_slow_answers(host: Recorded):
    host.write("slow", f'hello("wait")\n{FRAMES}time.sleep(1.1)\n    result(frame, "done")')
    host.start()
    host.take()
    host.text("wait")
    host.take()
    assert alerts(host) == {"ZotExtensionSlow"}


def test_a_host_that_is_stopped_in_its_tracks_fires_the_alert_about_hosts(zot: Zot, tmp_path: Path):
    need_promtool()
    with hosting(zot, flags=("--no-ext",)) as hosted:
        loop = Loop()
        scraper = Scraper(loop, [hosted.socket.parent], within_s=0.2)
        os.kill(hosted.pid, signal.SIGSTOP)
        try:
            scrapes: list[Scrape] = []
            for number in range(2):
                scraper.begin(scrapes.append)
                assert loop.run_until(lambda number=number: len(scrapes) > number, loop.clock() + PATIENCE_S)
        finally:
            os.kill(hosted.pid, signal.SIGCONT)
            scraper.close()
            loop.close()
    texts = [render_scrape(scrape).decode() for scrape in scrapes]
    assert fired(RULES, texts, tmp_path) == {"ZotHostNotAnswering"}


def test_metrics_that_cannot_be_scraped_fire_the_alert_about_that(tmp_path: Path):
    need_promtool()
    down = 'up{job="zot",instance="127.0.0.1:9469"} 0\n'
    assert fired(RULES, [down, down], tmp_path) == {"ZotMetricsGone"}


# --- the files themselves ---


def test_promtool_finds_no_fault_in_rules_and_settings():
    need_promtool()
    for words in (("check", "rules", RULES), ("check", "config", FOLDER / "prometheus.yml")):
        done = promtool(*words)
        assert done.returncode == 0, done.stdout


def test_systemd_reads_the_unit(tmp_path: Path):
    need_systemd_analyze()
    unit = Path(shutil.copy(FOLDER / "zot-metrics.service", tmp_path))
    assert verify(unit, is_of_user=True) == (0, "")
    words, _environment = read(unit, is_of_user=True)
    assert words == ["/usr/bin/env", "zot", "metrics", "--listen", "127.0.0.1:9469", "--kind", "host"]


def test_promtool_finds_no_fault_in_the_metrics(host: Recorded):
    host.add("echo", limits={"rss_mb": 500})
    host.start()
    host.take()
    done = promtool("check", "metrics", text=host.texts[0])
    assert (done.returncode, done.stdout) == (0, "")


def exported() -> set[str]:
    """The names of all series that we export, and `up`, which Prometheus adds."""
    families = [each.family for each in (*HOST, *EXTENSION, *OF_EACH)] + [HOST_UP, HOST_INFO, SCRAPE]
    names = {family.name + ("_total" if family.kind == "counter" else "") for family in families}
    return names | {f"{LATENCY.name}{end}" for end in ("_bucket", "_sum", "_count")} | {"up"}


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\bzot_\w+|\bup\b", expression))


def expressions() -> list[str]:
    """The expressions of the panels and of the variables."""
    dashboard: Any = json.loads(DASHBOARD.read_text())
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    queries = [
        re.sub(r"label_values\((.*), *\w+\)", r"\1", each["query"]["query"])
        for each in dashboard["templating"]["list"]
        if each["type"] == "query"
    ]
    return [*panels, *queries]


def test_rules_and_dashboard_name_metrics_that_exist():
    rules = [rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    for expression in (*rules, *expressions()):
        assert names_in(expression), expression
        assert names_in(expression) <= exported(), expression


def test_promtool_reads_all_expressions_of_the_dashboard(tmp_path: Path):
    need_promtool()
    filled = [each.replace("$__rate_interval", "1m").replace("$__range", "1h") for each in expressions()]
    rules = [{"record": f"panel:{number}", "expr": expression} for number, expression in enumerate(filled)]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = promtool("check", "rules", file)
    assert done.returncode == 0, done.stdout


def test_the_dashboard_asks_for_its_datasource_when_it_is_imported():
    dashboard = json.loads(DASHBOARD.read_text())
    (given,) = dashboard["__inputs"]
    assert (given["type"], given["pluginId"]) == ("datasource", "prometheus")
    used = {panel["datasource"]["uid"] for panel in dashboard["panels"] if "datasource" in panel}
    used |= {each["datasource"]["uid"] for each in dashboard["templating"]["list"] if "datasource" in each}
    assert used == {f"${{{given['name']}}}"}
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
