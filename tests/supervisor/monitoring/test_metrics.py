"""The metrics are valid in both formats, by the parsers of prometheus_client, and say what the stats say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus

from supervisor.monitoring.metric_families import EXTENSION, HOST, LADDER_S, OF_EACH
from supervisor.monitoring.metrics import PIECE, AskedHost, Scrape, pieces, render, render_scrape
from tests.support.recorded_stats import extension_stats, sample
from wire.events import HostedShare
from wire.stats import Alarm, SessionStats

if TYPE_CHECKING:
    from prometheus_client import Metric

    from wire.stats import Stats

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
"""Whatever UTF-8 can hold, with quotes, backslashes and line feeds."""
COUNTS = st.integers(0, 2**53)
SECONDS = st.floats(0, 1e12, allow_subnormal=False)
BUCKETS_MS = st.dictionaries(st.floats(1e-3, 1e6), st.integers(1, 1000), max_size=20).map(lambda it: sorted(it.items()))
EXTENSIONS = st.builds(
    extension_stats,
    state=st.sampled_from(["ready", "greeted", "reloading", "failed", "backoff"]),
    cpu_s=SECONDS,
    rss_bytes=COUNTS,
    open_files=st.none() | COUNTS,
    calls=COUNTS,
    unexpected_exits=st.none() | COUNTS,
    latency_ms=BUCKETS_MS.map(tuple),
    latency_sum_ms=SECONDS,
)
FORMATS = pytest.mark.parametrize("openmetrics", [False, True], ids=["prometheus", "openmetrics"])


def parsed(stats: Stats, *, openmetrics: bool = False) -> dict[str, Metric]:
    """The families as the parser of this format reads them, by name. A counter has no `_total` in its name."""
    text = render(stats, openmetrics=openmetrics).decode()
    found = list((parse_openmetrics if openmetrics else parse_prometheus)(text))
    families = {family.name.removesuffix("_total"): family for family in found}
    assert len(families) == len(found), "each family once"
    return families


def values(family: Metric, suffix: str = "") -> dict[tuple[str, ...], float]:
    """The values of one series by the values of its labels, sorted by the names of the labels."""
    return {
        tuple(value for _, value in sorted(row.labels.items())): row.value
        for row in family.samples
        if row.name == family.name.removesuffix("_total") + suffix
    }


@FORMATS
@given(st.dictionaries(TEXTS, EXTENSIONS, max_size=4), st.integers(1, 2**22))
def test_any_stats_are_read_back_by_a_strict_reader(openmetrics: bool, extensions: dict[str, Any], pid: int):
    stats = sample(12.5, extensions, pid=pid)
    families = parsed(stats, openmetrics=openmetrics)
    for of_host in HOST:
        family = families[of_host.family.name]
        suffix = "_total" if of_host.family.kind == "counter" else ""
        assert family.type == of_host.family.kind
        assert values(family, suffix) == {("run", str(pid)): of_host.value(stats.host)}
    for of in EXTENSION:
        family = families[of.family.name]
        known = {(name, str(pid)): of.value(extension) for name, extension in extensions.items()}
        assert family.documentation == of.family.help
        assert values(family, "_total" if of.family.kind == "counter" else "") == {
            labels: value for labels, value in known.items() if value is not None
        }
    states = {(name, str(pid), extension.state): 1.0 for name, extension in extensions.items()}
    assert values(families["zot_extension_state"]) == states


@FORMATS
@given(st.dictionaries(TEXTS, EXTENSIONS, min_size=1, max_size=3))
def test_buckets_count_all_answers_up_to_their_end(openmetrics: bool, extensions: dict[str, Any]):
    family = parsed(sample(1.0, extensions), openmetrics=openmetrics)["zot_extension_answer_seconds"]
    assert family.type == "histogram"
    sums, counts = values(family, "_sum"), values(family, "_count")
    for name, extension in extensions.items():
        total = sum(number for _, number in extension.latency_ms)
        rows = [row for row in family.samples if row.name.endswith("_bucket") and row.labels["extension"] == name]
        assert [float(row.labels["le"]) for row in rows] == [*LADDER_S, float("inf")]
        for row, upper in zip(rows, LADDER_S, strict=False):
            assert row.value == sum(number for ms, number in extension.latency_ms if ms <= upper * 1000)
        assert rows[-1].value == counts[(name, "900")] == total
        assert sums[(name, "900")] == pytest.approx(extension.latency_sum_ms / 1000)


def test_the_text_is_what_the_textfile_collector_accepts():
    """node_exporter refuses timestamps, series that are there twice, and families that are said twice."""
    text = render(
        sample(1.0, {'a"b\\c\nd': extension_stats(latency_ms=((1.0, 2),)), "git": extension_stats()})
    ).decode()
    assert text.endswith("\n")
    assert "# EOF" not in text
    lines = text.removesuffix("\n").split("\n")
    heads = [line for line in lines if line.startswith("# ")]
    assert len(heads) == len(set(heads))
    assert {head.split(" ")[1] for head in heads} == {"HELP", "TYPE"}
    series = [line.rpartition(" ")[0] for line in lines if not line.startswith("# ")]
    assert len(series) == len(set(series))
    assert all(row.timestamp is None for family in parse_prometheus(text) for row in family.samples)


def test_a_counter_ends_in_total_and_a_gauge_does_not():
    text = render(sample(1.0, {"git": extension_stats(calls=3, unexpected_exits=2)})).decode()
    assert 'zot_extension_calls_total{extension="git",pid="900"} 3.0\n' in text
    assert 'zot_extension_unexpected_exits_total{extension="git",pid="900"} 2.0\n' in text
    assert 'zot_extension_processes{extension="git",pid="900"} 1.0\n' in text


@pytest.mark.parametrize(
    ("state", "is_up"), [("ready", 1), ("greeted", 1), ("reloading", 1), ("backoff", 0), ("failed", 0), ("spawned", 0)]
)
def test_an_extension_is_up_if_it_can_be_asked(state: str, is_up: int):
    families = parsed(sample(1.0, {"git": extension_stats(state=state)}))
    assert values(families["zot_extension_up"]) == {("git", "900"): is_up}


def test_a_figure_that_was_not_read_is_left_out():
    stats = sample(1.0, {"git": extension_stats(open_files=None)})
    stats = msgspec.structs.replace(stats, host=msgspec.structs.replace(stats.host, open_files=None))
    families = parsed(stats)
    assert families["zot_extension_open_files"].samples == families["zot_host_open_files"].samples == []


def test_two_hosts_have_no_series_in_common():
    """A collector that reads the files of two hosts must not see one series twice."""

    def series(stats: Stats) -> set[str]:
        return {line.rpartition(" ")[0] for line in render(stats).decode().split("\n") if "{" in line}

    extensions = {"git": extension_stats(latency_ms=((1.0, 1),))}
    assert not series(sample(1.0, extensions, pid=1)) & series(sample(1.0, extensions, pid=2))


@FORMATS
def test_without_extensions_the_families_are_there_all_the_same(openmetrics: bool):
    families = parsed(sample(1.0, {}), openmetrics=openmetrics)
    assert families["zot_extension_up"].samples == []
    assert len(families) == len(HOST) + len(EXTENSION) + len(OF_EACH) + 1


@pytest.mark.slow
@FORMATS
def test_many_extensions_come_in_pieces_that_make_one_valid_text(openmetrics: bool):
    stats = sample(1.0, {f"ext-{index}": extension_stats(latency_ms=((1.0, 1),)) for index in range(2 * PIECE + 1)})
    made = list(pieces([stats], openmetrics=openmetrics))
    assert b"".join(made) == render(stats, openmetrics=openmetrics)
    assert max(piece.count(b"\n") for piece in made) <= PIECE + 5
    families = parsed(stats, openmetrics=openmetrics)
    assert len(values(families["zot_extension_up"])) == len(stats.extensions)
    assert len(values(families["zot_extension_answer_seconds"], "_sum")) == len(stats.extensions)


def test_nothing_of_the_librarys_own_is_in_it():
    assert {name.partition("_")[0] for name in parsed(sample(1.0, {}))} == {"zot"}


def test_sessions_are_counted_and_never_named():
    one = SessionStats(1, 0, 0, 0, 1, 1, 1.0, 1.0, "secret-session", 7, "/somewhere")
    shared = extension_stats(mode="shared", attached=2, sessions=(one, one), answers_dropped=3)
    taken = extension_stats(hosted=HostedShare(4711, "shared", 5.0, 1500.0, 9))
    unknown = extension_stats(hosted=HostedShare(4711, "shared", None, None, None))
    stats = sample(1.0, {"shared": shared, "taken": taken, "unknown": unknown, "plain": extension_stats()})
    stats = msgspec.structs.replace(stats, host=msgspec.structs.replace(stats.host, attached_runs=2))
    families = parsed(stats)
    assert values(families["zot_extension_attached_sessions"]) == {("shared", "900"): 2}
    assert values(families["zot_extension_dropped_answers"], "_total")["shared", "900"] == 3
    assert values(families["zot_extension_share_cpu_seconds"], "_total") == {("taken", "900"): 1.5}
    assert list(values(families["zot_host_attached_runs"]).values()) == [2]
    assert b"secret-session" not in render(stats)


# --- several hosts ---


def asked(stats: Stats) -> AskedHost:
    return AskedHost(stats.host.pid, stats.host.kind, stats)


@FORMATS
@given(st.lists(st.dictionaries(TEXTS, EXTENSIONS, max_size=3), max_size=4), st.floats(0, 10))
def test_any_hosts_are_one_text_with_each_family_once(
    openmetrics: bool, hosts: list[dict[str, Any]], seconds: float
) -> None:
    every = [asked(sample(1.0, extensions, pid=pid)) for pid, extensions in enumerate(hosts, 1)]
    scrape = Scrape((*every, AskedHost(99, "run", None)), seconds)
    text = render_scrape(scrape, openmetrics=openmetrics).decode()
    found = list((parse_openmetrics if openmetrics else parse_prometheus)(text))
    families = {family.name.removesuffix("_total"): family for family in found}
    assert len(families) == len(found)
    assert len(families) == len(HOST) + len(EXTENSION) + len(OF_EACH) + 4
    assert values(families["zot_host_up"]) == {("run", str(pid)): 1 for pid in range(1, len(hosts) + 1)} | {
        ("run", "99"): 0
    }
    assert len(values(families["zot_extension_up"])) == sum(map(len, hosts))
    assert families["zot_scrape_duration_seconds"].samples[0].value == seconds


def test_alarms_and_limits_are_series_of_their_own():
    alarms = (Alarm("failed", "worker 1: x", None), Alarm("failed", "worker 2: x", None), Alarm("near_limit", "y", 1.0))
    stats = sample(1.0, {"git": extension_stats(alarms=alarms, limits={"rss_mb": 300.0, "cpu_percent": 50.0})})
    families = parsed(stats)
    assert values(families["zot_extension_alarm"]) == {("git", "failed", "900"): 1, ("git", "near_limit", "900"): 1}
    assert values(families["zot_extension_limit"]) == {("git", "rss_mb", "900"): 300, ("git", "cpu_percent", "900"): 50}
