"""`zot runs show`: all that the trace of one run tells."""

from __future__ import annotations

import json

import pytest

from supervisor.traces.places import BLACK_BOX, PROFILE, beside
from tests.support.run_traces import BEGAN, GONE, end, fall, header, kept, started, write_run, write_trace
from tests.support.zot_fork import run


def sections(text: str) -> dict[str, list[str]]:
    """The lines of each section below its title; those before the first title under "", each with single spaces."""
    found: dict[str, list[str]] = {"": []}
    for block in text.split("\n\n"):
        title, *lines = block.splitlines() if found.get("") else ["", *block.splitlines()]
        found[title] = [" ".join(line.split()) for line in lines]
    return found


def test_a_run_with_all_parts(zot):
    path = write_run(zot.home)
    log = zot.home / "logs" / "ext-crash.log"
    log.parent.mkdir()
    log.touch()
    text = run(zot, "runs", "show", "last").text
    told = sections(text)
    assert told[""][0] == f"{path.stem}: ok, run"
    assert told[""][1].endswith(", took 2 s")
    assert f"process pid {GONE}, zot 0.1.0" in told[""]
    assert "flags --replay run.jsonl --ext crash --ext guard" in told[""]
    assert "use 2 turns, 1,200 tokens read, 340 written, $0.0123" in told[""]
    assert f"report zot report {path.stem}" in told[""]
    assert told["Waits at the start"] == ["120 ms until the run could begin", "80 ms guard"]
    assert told["Falls"] == ["+500 ms crash crashed exit 3", "+1 s crash crashed exit 3"]
    assert told["Use"][0] == "extension state restarts exits CPU memory calls errors timeouts 99 %"
    assert told["Use"][1] == "crash ready 0 0 0.00 s 12.0M 0 0 0 -"
    assert told["Files"] == [f"trace {path}", f"log of crash zot ext logs crash -t --run {GONE}"]


def test_a_run_that_was_killed_tells_what_there_was(zot):
    path = write_trace(
        zot.home, header(), [started(BEGAN + 0.1), fall(BEGAN + 1, "guard", "limit", "rss_mb 900 of 512")]
    )
    told = sections(run(zot, "runs", "show", path.stem[:13]).text)
    assert told[""][0] == f"{path.stem}: killed, run"
    assert told["Falls"] == ["+1 s guard limit rss_mb 900 of 512"]
    assert "Use" not in told


def test_files_come_with_the_command_that_uses_each(zot):
    path = write_run(zot.home)
    box, profile = beside(path, "crash", 1, BLACK_BOX), beside(path, "crash", 1, PROFILE)
    lines = [fall(BEGAN + 1, "crash"), kept(BEGAN + 1, "crash", box), end(BEGAN + 2)]
    write_trace(zot.home, header(), lines)
    box.touch()
    profile.touch()
    told = sections(run(zot, "runs", "show", "last").text)
    assert told["Files"][1:] == [f"black box of crash zot ext replay {box}", f"profile of crash {profile}"]
    found = json.loads(run(zot, "runs", "show", "last", "--json").text)
    assert found["files"][0] == {"path": str(box), "extension": "crash", "use": f"zot ext replay {box}"}
    assert found["falls"][0]["files"] == [str(box)]


def test_flags_are_those_of_the_command(zot):
    batch = {"jobs": 2, "replay": "run.jsonl", "no_such_field": "x"}
    write_trace(zot.home, header(BEGAN, kind="batch", flags=batch, folder="/runs"), [end(BEGAN + 1, "done", 10)])
    told = sections(run(zot, "runs", "show", "last").text)[""]
    assert told[0].endswith(": partial_batch, zot batch")
    assert "batch /runs; zot batch status /runs" in told
    assert "flags --jobs 2 --replay run.jsonl no_such_field x" in told
    write_trace(zot.home, header(BEGAN + 1, kind="host", flags={"ext": ["a"], "share": ["b"]}))
    assert "flags --ext a --share b" in sections(run(zot, "runs", "show", "last").text)[""]


def test_many_falls_are_cut_and_all_in_json(zot):
    write_trace(zot.home, header(), [fall(BEGAN + late, "crash") for late in range(60)])
    told = sections(run(zot, "runs", "show", "last").text)["Falls"]
    assert (len(told), told[-1]) == (51, "and 10 more falls, see --json")
    assert len(json.loads(run(zot, "runs", "show", "last", "--json").text)["falls"]) == 60


def test_json_has_the_figures_of_each_extension(zot):
    write_run(zot.home)
    found = json.loads(run(zot, "runs", "show", "last", "--json").text)
    assert found["falls"][0] == {
        "time": BEGAN + 0.5, "extension": "crash", "kind": "crashed", "cause": "exit 3", "files": [],
    }  # fmt: skip
    assert found["waits"] == [{"extension": "", "duration_ms": 120.0}, {"extension": "guard", "duration_ms": 80.0}]
    assert set(found["extensions"]) == {"crash", "guard"}
    assert found["use"]["steps"] == 2


@pytest.mark.parametrize(
    ("word", "said"), [("2027", "there is no run '2027'; zot runs lists"), ("2026", "'2026' may be 20261128-190001-")]
)
def test_a_word_for_no_run_or_several(zot, word, said):
    write_run(zot.home, BEGAN)
    write_run(zot.home, BEGAN + 1)
    outcome = run(zot, "runs", "show", word)
    assert (outcome.status, outcome.stdout) == (2, b"")
    assert outcome.stderr.startswith(f"zot runs show: {said}")


def test_a_damaged_trace_cannot_be_shown(zot):
    path = write_run(zot.home)
    path.write_bytes(b"")
    assert "there is no run 'last'" in run(zot, "runs", "show", "last").stderr
    outcome = run(zot, "runs", "show", path.stem)
    assert outcome.status == 1
    assert outcome.stderr.startswith(f"zot runs show: {path}:1: it is empty")
