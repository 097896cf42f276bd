"""`zot ext history`: one extension over all runs."""

from __future__ import annotations

import json
import time

from supervisor.traces.places import BLACK_BOX, beside
from tests.support.recorded_stats import extension_stats
from tests.support.run_traces import BEGAN, end, fall, figures, header, kept, started, write_run, write_trace
from tests.support.zot_fork import run
from wire.stats import Mark


def test_the_life_of_an_extension(zot):
    first = write_run(zot.home)
    box = beside(first, "guard", 1, BLACK_BOX)
    last = {"guard": extension_stats(exits=3)}
    lines = [
        started(BEGAN, "guard"), fall(BEGAN + 60, "guard", "no_verdict", "turn_start: timeout"),
        fall(BEGAN + 61, "guard", "hung", "no answer"), kept(BEGAN + 61, "guard", box),
        Mark(BEGAN + 62, "restarted", "", "guard", None, ""), fall(BEGAN + 63, "crash"),
        end(BEGAN + 70), figures(BEGAN + 70, last),
    ]  # fmt: skip
    write_trace(zot.home, header(), lines)
    box.touch()
    other = write_trace(zot.home, header(BEGAN + 600, kind="batch"), [fall(BEGAN + 601, "guard", "hung", "no answer")])
    outcome = run(zot, "ext", "history", "guard")
    assert (outcome.status, outcome.stderr) == (0, "")
    summary, head, *falls = outcome.text.splitlines()
    assert summary == "guard: 2 runs, 2 starts, 1 restart, 3 exits; 3 falls: 2 hung, 1 no verdict"
    assert head.split() == ["WHEN", "RUN", "FALL", "CAUSE", "BLACK", "BOX"]
    assert [" ".join(line.split()[2:]) for line in falls] == [
        f"{other.stem} hung no answer -",
        f"{first.stem} hung no answer 1",
        f"{first.stem} no verdict turn_start: timeout -",
    ]
    found = json.loads(run(zot, "ext", "history", "guard", "--json").text)
    assert found["kinds"] == {"hung": 2, "no_verdict": 1}
    assert found["falls"][0]["run"] == other.stem
    assert found["falls"][1]["files"] == [str(box)]


def test_an_extension_that_never_fell(zot):
    write_run(zot.home)
    assert run(zot, "ext", "history", "guard").text == "guard: 1 run, 1 start, 0 restarts, 0 exits; 0 falls\n"


def test_only_since_a_moment_and_at_most_so_many_falls(zot):
    now = time.time()
    write_run(zot.home, now - 7200)
    new = write_run(zot.home, now - 60)
    outcome = run(zot, "ext", "history", "crash", "--since", "1h", "-n", "1")
    assert outcome.text.startswith("crash: 1 run, ")
    assert [line.split()[2] for line in outcome.text.splitlines()[2:]] == [new.stem]
    assert outcome.stderr == "zot ext history: only the last 1 falls are shown; -n N shows more\n"


def test_a_name_in_no_trace_gets_the_nearest_one(zot):
    write_run(zot.home)
    outcome = run(zot, "ext", "history", "gaurd")
    assert (outcome.status, outcome.stdout) == (2, b"")
    assert "no such extension in the traces of runs: 'gaurd'; did you mean 'guard'?" in outcome.stderr
    none = run(zot, "ext", "history", "guard", "--since", "1s")
    assert "no such extension in the runs since then: 'guard'; there is none" in none.stderr
