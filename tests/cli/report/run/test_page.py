"""The page as text: complete, well-formed, self-contained, small, and safe with text of extensions."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.report.input.recorded_run import ExtensionFigures
from cli.report.input.source import read_recording
from cli.report.run.page import FINEST_MS, PER_DOUBLING, ROWS, bars, latency_data, render
from tests.support.any_message import any_of
from tests.support.html_page import Page
from tests.support.recorded_stats import extension_stats, hostile_lines, latency, mark, recorded, sample, write
from wire import stats
from wire.events import HostedShare

SAMPLES = 260
"""More than a page draws."""


def page_of(path, lines):
    recording = read_recording(str(write(path, lines)))
    return Page(render(recording, source_name=path.name, version="0.1.0"))


def test_the_page_has_the_figures(file):
    page = page_of(file, recorded(4, 60, seconds=0.5))
    tiles = dict(zip((text for _, text in page.of("dt")), (text for _, text in page.of("dd")), strict=True))
    assert tiles["Duration"] == "30 s"
    assert tiles["Extensions"] == "4"
    last = read_recording(str(file))
    assert tiles["Calls"] == f"{sum(one.calls for one in last.figures):,}"
    assert [len(rows) for rows in page.tables("Costs", "Processor and memory over time")] == [4, 20]
    assert len(page.data["latency"]) == 4
    use = page.data["use"]
    assert len(use["times"]) == 60
    assert use["named"] == len(use["lines"]) == 4


def test_what_an_extension_in_the_client_program_uses_is_not_known(file):
    inside = extension_stats(in_client=True, pids=(), processes=0, rss_bytes=0, rss_peak_bytes=0, calls=3)
    page = page_of(file, [sample(at, {"policy": inside}) for at in (1, 2, 3)])
    tiles = dict(zip((text for _, text in page.of("dt")), (text for _, text in page.of("dd")), strict=True))
    assert (tiles["CPU time"], tiles["Peak RSS"], tiles["Calls"]) == ("-", "-", "3")
    (costs,) = page.tables("Costs")
    assert costs[0][:4] == ["policy", "ready in the client program", "-", "-"]
    assert "use" not in page.data
    both = page_of(file, [sample(at, {"policy": inside, "noop": extension_stats(cpu_s=0.1)}) for at in (1, 2, 3)])
    tiles = dict(zip((text for _, text in both.of("dt")), (text for _, text in both.of("dd")), strict=True))
    assert (tiles["CPU time"], tiles["Peak RSS, all"]) == ("0.1 s", "12 MiB")
    assert both.data["use"]["names"] == ["noop"]


@pytest.mark.slow
def test_with_many_extensions_eight_have_lines_and_all_are_embedded(file):
    page = page_of(file, recorded(100, 300))
    use = page.data["use"]
    assert (use["named"], len(use["lines"])) == (8, 100)
    assert len(use["times"]) <= 240


def test_the_page_loads_nothing_from_outside(file):
    page = page_of(file, recorded(4, 10))
    assert not {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "embed", "base", "form"}
    addresses = [
        value for _, attributes in page.elements for key, value in attributes.items() if key in {"src", "href"}
    ]
    assert all(value.startswith("#") for value in addresses)
    assert "url(" not in page.text
    assert "@import" not in page.text
    ((policy, _),) = page.of("meta", **{"http-equiv": "Content-Security-Policy"})
    assert "default-src 'none'" in policy["content"]
    assert "unsafe" not in policy["content"]


def test_text_of_extensions_stays_text(file):
    page = page_of(file, hostile_lines())
    assert len(page.of("script")) == 2
    assert not page.of("img")
    assert not [key for _, attributes in page.elements for key in attributes if key.startswith("on")]
    assert not [key for _, attributes in page.elements for key in attributes if "=" in key or "<" in key]
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f]", page.text)
    names = {text for _, text in page.of("bdi")}
    assert any(name.startswith("</script><script>alert(1)</script>") for name in names)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert "__proto__" in page.data["use"]["names"]


@given(held=st.lists(any_of(stats.Stats) | any_of(stats.Mark), min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_every_valid_file_gives_a_page(file, held):
    page = page_of(file, held)
    assert len(page.of("script")) == 2
    json.dumps(page.data, allow_nan=False)
    assert not [
        value for attributes, _ in page.of("td") if re.search("nan|inf", value := attributes.get("data-v") or "")
    ]


@pytest.mark.parametrize(
    "lines",
    [
        [sample(0, {})],
        [sample(1, {"a": extension_stats()})],
        [mark(1, "started", "a")],
        [sample(1, {"a": extension_stats(rss_bytes=0)}), sample(2, {"a": extension_stats(rss_bytes=0)})],
    ],
    ids=["no extensions", "one sample", "one mark", "no use at all"],
)
def test_very_short_recordings_give_a_page(file, lines):
    page = page_of(file, lines)
    assert page.of("h1")
    json.dumps(page.data, allow_nan=False)


@pytest.mark.slow
def test_three_hundred_extensions_with_trouble_stay_below_3_mb(file):
    import random

    chance = random.Random(7)
    names = [f"an-extension-with-a-long-name-{index}" for index in range(300)]
    held = {
        name: extension_stats(calls=9, p50_ms=1.0, p99_ms=9.0, latency_ms=latency(1.0, 200, chance)) for name in names
    }
    slim = {name: msgspec.structs.replace(figures, latency_ms=()) for name, figures in held.items()}

    def lines():
        for at in range(SAMPLES):
            for name in slim:
                slim[name] = msgspec.structs.replace(
                    slim[name], cpu_percent=100 * chance.random(), rss_bytes=chance.randrange(2**30)
                )
            yield sample(float(at), slim)
            for _ in range(40):
                kind = chance.choice(["exited", "restarted", "limit", "tool_call", "intercept"])
                yield mark(at + chance.random(), kind, chance.choice(names), "a detail of some length " * 9, ms=300)
        yield sample(float(SAMPLES), held)

    page = page_of(file, lines())
    assert len(page.text.encode()) < 3_000_000
    assert len(page.data["use"]["lines"]) == len(page.data["latency"]) == 300


@given(st.floats(0, 1e9))
def test_a_bar_ends_at_the_latency_that_it_holds_or_later(upper):
    (bar,) = bars([(upper, 3)])
    assert FINEST_MS * 2 ** (bar / PER_DOUBLING) >= upper * 0.999


@given(st.lists(st.tuples(st.floats(min_value=0), st.integers(1, 9)), min_size=1, max_size=4), st.floats(min_value=0))
def test_latencies_of_a_damaged_recording_are_within_bounds(latency_ms, p50):
    (data,) = latency_data([ExtensionFigures("x", latency_ms=tuple(latency_ms), p50_ms=p50, p99_ms=p50)], {"x": "x"})
    assert len(json.dumps(data, allow_nan=False)) < 1000


def test_without_its_script_the_page_tells_in_tables_what_it_draws(file):
    marks = [mark(2, "tool_call", "", "no such file", "bash", ms=500), mark(5, "exited", "b", "</td>exit 3")]
    held = {"b": extension_stats(cpu_s=0.1, p99_ms=2.0)}
    page = page_of(file, [*marks, *(sample(float(at), held) for at in range(1, 100))])
    happened, used = page.tables("Events", "Processor and memory over time")
    assert [row[:2] + row[3:] for row in happened] == [
        ["tool call bash, failed", "", "no such file"],
        ["ended by itself", "b", "</td>exit 3"],
    ]
    assert used[-1][:3] == ["1m39s", "0 %", "12 MiB"]
    assert len(used) <= ROWS
    assert not page.of("svg")
    assert "hidden" in page.of("section", id="latency")[0][0]


def test_a_table_of_a_long_timeline_keeps_what_failed(file):
    marks = [mark(float(at), "tool_call", name="read", ms=5) for at in range(400)]
    page = page_of(file, [*marks, mark(400.0, "tool_call", "", "no such file", "bash", ms=5)])
    (happened,) = page.tables("Events")
    assert happened[-1][0] == "tool call bash, failed"
    assert len(happened) == 300
    assert "101 more are in the chart only." in page.text


def test_an_extension_of_a_host_is_marked_and_has_a_share(file):
    share = HostedShare(4711, "shared", 800.0, 250.0, 40 << 20)
    taken = extension_stats(hosted=share, pids=(), processes=0, rss_bytes=0, rss_peak_bytes=0, calls=3)
    page = page_of(file, [sample(at, {"web": taken}) for at in (1, 2, 3)])
    tiles = dict(zip((text for _, text in page.of("dt")), (text for _, text in page.of("dd")), strict=True))
    assert (tiles["CPU time"], tiles["Peak RSS"], tiles["Calls"]) == ("~0.25 s", "-", "3")
    (costs,) = page.tables("Costs")
    assert costs[0][:6] == ["web", "ready shared, in host 4711", "-", "-", "~0.25 s", "40 MiB"]
    assert "its memory is there once for all runs" in page.text
    assert "use" not in page.data
    both = page_of(file, [sample(at, {"web": taken, "own": extension_stats(cpu_s=0.1)}) for at in (1, 2, 3)])
    said = [text for _, text in both.of("small")]
    assert any(text.endswith("and ~0.25 s of a host's") for text in said), said


def test_the_starts_that_requests_waited_for_are_facts_of_the_run(file):
    files = extension_stats(start_waits=2, start_wait_s=1.2)
    extensions = {"filesystem": files, "git": extension_stats(start_waits=1, start_wait_s=3.4), "on": extension_stats()}
    page = page_of(file, [sample(1, extensions)])
    facts = dict(zip((text for _, text in page.of("dt")), (text for _, text in page.of("dd")), strict=True))
    assert facts["waited"] == "3.4 s for git, 1.2 s for filesystem"
    many = {f"lazy-{number}": files for number in range(7)}
    assert ", and for 2 more" in page_of(file, [sample(1, many)]).text
    without = page_of(file, [sample(1, {"on": extension_stats()})])
    assert "waited" not in [text for _, text in without.of("dt")]
