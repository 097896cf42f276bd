"""The page of a past run, from its trace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cli.report.command import make_report
from cli.report.input.recorded_run import InputError
from cli.report.input.source import read_recording
from supervisor.traces.places import BLACK_BOX, beside
from tests.support.recorded_stats import extension_stats
from tests.support.run_traces import BEGAN, GONE, end, fall, figures, header, kept, started, write_run, write_trace

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
    assert found.duration_s is None
    assert [each.name for each in found.figures] == ["crash"]
    assert "The trace has no end" in found.notes[0]


def test_the_trace_of_a_batch_ends_when_the_batch_ended(tmp_path):
    path = write_trace(tmp_path, header(kind="batch", folder="/runs"), [fall(BEGAN + 1, "crash"), end(BEGAN + 60)])
    found = read_recording(str(path))
    assert (found.title, found.duration_s, dict(found.facts)["batch"]) == ("A batch of zot", 60, "/runs")


def test_a_trace_that_is_cut_in_its_first_line_holds_nothing(tmp_path):
    path = write_trace(tmp_path, header())
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="holds nothing to show"):
        read_recording(str(path))
