"""The page of a past run, from its trace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cli.report.command import make_report
from cli.report.input.recorded_run import InputError
from cli.report.input.source import read_recording
from cli.report.run.findings import findings_of
from cli.report.run.page import render
from cli.report.run.tiles import tiles
from supervisor.traces.places import BLACK_BOX, beside
from tests.support.recorded_stats import extension_stats
from tests.support.run_traces import BEGAN, GONE, end, fall, figures, header, kept, started, write_run, write_trace
from wire.stats import Mark

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """$ZOT_HOME; the current folder is another one."""
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "home"


@pytest.mark.parametrize("word", ["last", f"20261128-190000-{GONE}", "20261128", str(GONE)])
def test_the_page_of_a_run_goes_into_the_current_folder(home, word, capsys):
    path = write_run(home)
    assert make_report(word, None) == 0
    page = f"{path.stem}.html"
    assert capsys.readouterr().err == f"{page}: open it in a browser\n"
    assert [*os.listdir(".")] == [page]
    with open(page) as file:
        assert "crashed: exit 3" in file.read()
    assert make_report(word, None) == 0
    with open(page, "w") as file:
        file.write("my own notes")
    assert make_report(word, None) == 2
    assert make_report(word, "other.html") == 0


def test_a_file_is_meant_before_a_run(home, capsys):
    write_run(home)
    with open("2026", "w") as file:
        file.write("{}")
    assert make_report("2026", None) == 2
    assert "2026 holds nothing to show" in capsys.readouterr().err


def test_a_word_for_no_run_is_refused(home, capsys):
    assert make_report("20261128", None) == 2
    assert capsys.readouterr().err == (
        "zot report: there is no run '20261128'; zot runs lists those that left a trace, and there is no such file\n"
    )
    assert make_report("no.stats", None) == 2
    assert "cannot read no.stats: No such file" in capsys.readouterr().err


def test_a_trace_has_facts_falls_and_figures(tmp_path):
    exits = {"crash": extension_stats(exits=2, unexpected_exits=2, exits_by_host=0)}
    box = beside(tmp_path / "runs" / header().id, "crash", 1, BLACK_BOX)
    lines = [
        started(BEGAN + 0.5, "crash", 300.0), started(BEGAN + 0.6), fall(BEGAN + 1, "crash"),
        kept(BEGAN + 1, "crash", box), end(BEGAN + 3), figures(BEGAN + 3, exits),
    ]  # fmt: skip
    found = read_recording(str(write_trace(tmp_path, header(), lines)))
    facts = dict(found.facts)
    assert (found.title, facts["outcome"], facts["folder"]) == ("A run of zot", "ok (exit 0)", "/home/ada/project")
    assert facts["flags"] == "--replay run.jsonl --ext crash --ext guard"
    assert [(each.kind, round(each.begin, 3), each.end, each.name, each.detail) for each in found.happenings] == [
        ("started", 0.5, None, "", "ready after 300 ms"),
        ("started", 0.6, None, "", "the run could begin after 120 ms"),
        ("exited", 1, None, "", "crashed: exit 3"),
        ("warning", 1, None, "", f"kept in {box.name}"),
    ]
    assert [(each.name, each.exits) for each in found.figures] == [("crash", 2)]
    assert (found.duration_s, len(found.times), found.tracks) == (3, 0, {})
    assert "Made from the trace of a run" in found.notes[0]


def test_the_trace_of_a_killed_run_shows_its_falls(tmp_path):
    found = read_recording(str(write_trace(tmp_path, header(), [fall(BEGAN + 1, "crash"), fall(BEGAN + 2, "crash")])))
    assert dict(found.facts)["outcome"] == "killed"
    assert [each.begin for each in found.happenings] == [1, 2]
    assert (found.duration_s, found.goes_beyond) == (2, True)
    assert [(each.name, each.is_counted) for each in found.figures] == [("crash", False)]
    assert "The trace has no end" in found.notes[0]


def troubles(found):
    return {each.trouble.name: [(case.extension, case.said) for case in each.cases] for each in findings_of(found)}


def test_the_page_of_a_killed_host_counts_its_falls_and_shows_nothing_unknown_as_0(tmp_path):
    lines = [started(BEGAN + 0.1, "saw"), started(BEGAN + 0.1, "leak"), started(BEGAN + 0.1, "calm")]
    for at in (1, 2, 3):
        lines.append(fall(BEGAN + at, "saw", "limit", "rss_mb 300 of 200"))
        lines.append(Mark(BEGAN + at + 0.5, "restarted", "", "saw", None, ""))
    lines += [
        fall(BEGAN + 4, "leak", "leak", "29 to 188 MiB"),
        fall(BEGAN + 5, "guard", "no_verdict", "tool_call: late"),
    ]
    lines += [
        fall(BEGAN + 6, "crash"),
        fall(BEGAN + 7, "crash", "hung"),
        fall(BEGAN + 8, "crash", "given_up", "5 exits"),
    ]
    lines += [fall(BEGAN + 9, "odd", "refused", "broken frame")]
    found = read_recording(str(write_trace(tmp_path, header(kind="host"), lines)))
    assert troubles(found) == {
        "GIVEN_UP": [("crash", "given up: 5 exits")],
        "UNWELL": [("odd", "refused: broken frame")],
        "LIMIT": [("saw", "3 times")],
        "ENDED": [("crash", "1 time")],
        "NO_VERDICT": [("guard", "1 time")],
        "GROWTH": [("leak", "29 to 188 MiB")],
    }
    shown = {tile.label: (tile.value, tile.said) for tile in tiles(found, None)}
    assert shown == {
        "Duration": ("at least 9 s", "until its last mark"),
        "Extensions": ("6", "1 given up"),
        "Calls": ("-", ""),
        "Errors": ("-", ""),
        "Restarts": ("3", "1 ended by itself"),
        "Peak RSS": ("-", ""),
        "CPU time": ("-", ""),
        "Slowest p99": ("-", ""),
    }
    page = render(found, source_name="x", version="0")
    table = page[page.index('<section id="costs"') :].partition("</section>")[0]
    assert ">0<" not in table
    assert "0 B" not in table
    assert "0 s<" not in table


def test_the_page_of_a_batch_counts_the_falls_of_its_runs(tmp_path):
    lines = [fall(BEGAN + 1, "crash"), fall(BEGAN + 2, "crash"), end(BEGAN + 60)]
    found = read_recording(str(write_trace(tmp_path, header(kind="batch", folder="/runs"), lines)))
    assert troubles(found) == {"EXITS": [("crash", "2 times")]}
    shown = {tile.label: tile.value for tile in tiles(found, None)}
    assert (shown["Duration"], shown["Calls"], shown["Restarts"], shown["CPU time"]) == ("1m", "-", "-", "-")
    assert "folder of the batch" in found.notes[0]


def test_a_trace_without_an_end_and_without_falls_is_not_called_calm(tmp_path):
    found = read_recording(str(write_trace(tmp_path, header(kind="host"), [started(BEGAN + 1)])))
    page = render(found, source_name="x", version="0")
    assert "Nothing else is known" in page
    assert "Nothing stands out" not in page


def test_a_refusal_after_which_it_was_restarted_was_an_end_by_zot(tmp_path):
    lines = [fall(BEGAN + 1, "odd", "refused", "broken frame"), Mark(BEGAN + 2, "restarted", "", "odd", None, "")]
    found = read_recording(str(write_trace(tmp_path, header(kind="host"), lines)))
    assert troubles(found) == {"ENDED": [("odd", "1 time")]}


def test_a_leak_is_found_beside_counted_figures(tmp_path):
    lines = [fall(BEGAN + 1, "crash", "leak", "1 to 9 MiB"), figures(BEGAN + 3)]
    found = read_recording(str(write_trace(tmp_path, header(kind="host"), lines)))
    assert troubles(found)["GROWTH"] == [("crash", "1 to 9 MiB")]


def test_the_trace_of_a_batch_ends_when_the_batch_ended(tmp_path):
    path = write_trace(tmp_path, header(kind="batch", folder="/runs"), [fall(BEGAN + 1, "crash"), end(BEGAN + 60)])
    found = read_recording(str(path))
    assert (found.title, found.duration_s, dict(found.facts)["batch"]) == ("A batch of zot", 60, "/runs")


def test_a_trace_that_is_cut_in_its_first_line_holds_nothing(tmp_path):
    path = write_trace(tmp_path, header())
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="holds nothing to show"):
        read_recording(str(path))
