"""The metrics file is strict OpenMetrics text, and says of each extension what its stats say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.monitoring.openmetrics import EXTENSION, HOST, LADDER_S, render
from tests.support.recorded_stats import extension_stats, sample

if TYPE_CHECKING:
    from wire.stats import Stats

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
"""Whatever UTF-8 can hold, with quotes, backslashes and line feeds."""
COUNTS = st.integers(0, 2**53)
SECONDS = st.floats(0, 1e12, allow_subnormal=False)
BUCKETS_MS = st.dictionaries(st.floats(1e-3, 1e6), st.integers(1, 1000), max_size=20).map(lambda it: sorted(it.items()))
KINDS = {"gauge": ("",), "counter": ("_total",), "histogram": ("_bucket", "_count")}
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\d+(?:\.\d+)?(?:e[+-]?\d+)?)')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"(?:,|$)')


@dataclass
class Family:
    kind: str
    unit: str = ""
    help: str = ""
    samples: list[tuple[str, dict[str, str], float]] = field(default_factory=list)
    """Suffix of the name, labels and value of each."""


def parse(text: str) -> dict[str, Family]:
    """Reads the text as strictly as the standard allows, with the kinds of metrics that are used here."""
    assert text.endswith("\n# EOF\n")
    families: dict[str, Family] = {}
    name, stage = "", 3
    for line in text.removesuffix("# EOF\n").removesuffix("\n").split("\n"):
        if line.startswith("# "):
            _, word, of, rest = line.split(" ", 3)
            order = ("TYPE", "UNIT", "HELP").index(word)
            if word == "TYPE":
                assert of not in families, "each family once"
                name, families[of] = of, Family(rest)
                assert rest in KINDS
            else:
                assert (of, order > stage) == (name, True), line
            stage = order
            if word == "UNIT":
                assert name.endswith("_" + rest)
                families[name].unit = rest
            elif word == "HELP":
                families[name].help = rest
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            assert stage == 2, "a help before the first sample"
            labels = {key: unescape(value) for key, value in LABEL.findall(found[2])}
            assert ",".join(f'{key}="{escape(value)}"' for key, value in labels.items()) == found[2]
            suffix = found[1].removeprefix(name)
            assert suffix in KINDS[families[name].kind], line
            families[name].samples.append((suffix, labels, float(found[3])))
    for family in families.values():
        series = [(suffix, tuple(labels.items())) for suffix, labels, _ in family.samples]
        assert len(series) == len(set(series)), "each series once"
    return families


def unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), text)


def escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def of_extension(family: Family, name: str) -> list[tuple[str, dict[str, str], float]]:
    return [row for row in family.samples if row[1]["extension"] == name]


EXTENSIONS = st.builds(
    extension_stats,
    state=st.sampled_from(["ready", "greeted", "reloading", "failed", "backoff"]) | TEXTS,
    cpu_s=SECONDS,
    rss_bytes=COUNTS,
    open_files=st.none() | COUNTS,
    calls=COUNTS,
    errors=COUNTS,
    latency_ms=BUCKETS_MS.map(tuple),
)


@given(st.dictionaries(TEXTS, EXTENSIONS, max_size=4), st.integers(1, 2**22))
def test_any_stats_are_text_that_a_strict_reader_reads_back(extensions: dict[str, Any], pid: int):
    stats = sample(12.5, extensions, pid=pid)
    families = parse(render(stats))
    assert {name for name in families if name.startswith("zot_host_")} == {of.family.name for of in HOST}
    for of_host in HOST:
        value = of_host.value(stats.host)
        expected = [] if value is None else [({"pid": str(pid), "kind": stats.host.kind}, value)]
        assert [(labels, got) for _, labels, got in families[of_host.family.name].samples] == expected
    for of in EXTENSION:
        family = families[of.family.name]
        values = {name: of.value(extension) for name, extension in extensions.items()}
        assert [(labels, value) for _, labels, value in family.samples] == [
            ({"extension": name, "pid": str(pid)}, value) for name, value in values.items() if value is not None
        ]
        assert (family.kind, family.unit, family.help) == of.family[1:]
    states = families["zot_extension_state"].samples
    assert [(labels["extension"], labels["state"], value) for _, labels, value in states] == [
        (name, extension.state, 1.0) for name, extension in extensions.items()
    ]


@given(st.dictionaries(TEXTS, EXTENSIONS, min_size=1, max_size=3))
def test_buckets_count_all_answers_up_to_their_end(extensions: dict[str, Any]):
    family = parse(render(sample(1.0, extensions)))["zot_extension_answer_seconds"]
    assert family.kind == "histogram"
    for name, extension in extensions.items():
        rows = of_extension(family, name)
        buckets = [(labels["le"], value) for suffix, labels, value in rows if suffix == "_bucket"]
        assert len(buckets) == len(LADDER_S) + 1
        for (end, count), upper in zip(buckets, LADDER_S, strict=False):
            assert float(end) == upper
            assert count == sum(number for ms, number in extension.latency_ms if ms <= upper * 1000)
        total = sum(number for _, number in extension.latency_ms)
        assert buckets[-1] == ("+Inf", total)
        assert [value for suffix, _, value in rows if suffix == "_count"] == [total]
        counts = [count for _, count in buckets]
        assert counts == sorted(counts)


def test_counters_end_in_total_and_gauges_do_not():
    families = parse(render(sample(1.0, {"git": extension_stats(calls=3, restarts=1)})))
    kinds = {name: family.kind for name, family in families.items()}
    assert kinds["zot_extension_calls"] == kinds["zot_host_cpu_seconds"] == "counter"
    assert kinds["zot_extension_up"] == kinds["zot_host_open_files"] == "gauge"
    text = render(sample(1.0, {"git": extension_stats(calls=3, restarts=1)}))
    assert 'zot_extension_calls_total{extension="git",pid="900"} 3\n' in text
    assert 'zot_extension_processes{extension="git",pid="900"} 1\n' in text


def test_labels_are_escaped():
    text = render(sample(1.0, {'a"b\\c\nd': extension_stats()}))
    assert r'zot_extension_up{extension="a\"b\\c\nd",pid="900"} 1' in text.split("\n")


@pytest.mark.parametrize(
    ("state", "is_up"), [("ready", 1), ("greeted", 1), ("reloading", 1), ("backoff", 0), ("failed", 0), ("spawned", 0)]
)
def test_an_extension_is_up_if_it_can_be_asked(state: str, is_up: int):
    families = parse(render(sample(1.0, {"git": extension_stats(state=state)})))
    assert [value for _, _, value in families["zot_extension_up"].samples] == [is_up]


def test_a_figure_that_was_not_read_is_left_out():
    stats = sample(1.0, {"git": extension_stats(open_files=None)})
    stats = msgspec.structs.replace(stats, host=msgspec.structs.replace(stats.host, open_files=None))
    families = parse(render(stats))
    assert families["zot_extension_open_files"].samples == families["zot_host_open_files"].samples == []


def test_two_hosts_have_no_series_in_common():
    """A collector that reads the files of two hosts must not see one series twice."""

    def series(stats: Stats) -> set[str]:
        return {line.rpartition(" ")[0] for line in render(stats).split("\n") if "{" in line}

    extensions = {"git": extension_stats(latency_ms=((1.0, 1),))}
    assert not series(sample(1.0, extensions, pid=1)) & series(sample(1.0, extensions, pid=2))


def test_without_extensions_the_families_are_there_all_the_same():
    families = parse(render(sample(1.0, {})))
    assert families["zot_extension_up"].samples == []
    assert len(families) == len(HOST) + len(EXTENSION) + 2
