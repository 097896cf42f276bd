"""`zot runs`: one line for each run, the newest first."""

from __future__ import annotations

import json
import time

import pytest

from cli.runs import list as list_module
from supervisor.traces.places import runs_folder
from supervisor.traces.trace_reader import read_trace
from tests.support.run_traces import BEGAN, end, fall, figures, header, write_run, write_trace
from tests.support.zot_fork import run


@pytest.fixture
def runs(zot):
    """A good one, a failed one, one that was killed and a host."""
    return [
        write_run(zot.home, BEGAN),
        write_run(zot.home, BEGAN + 60, status="timeout"),
        write_trace(zot.home, header(BEGAN + 120), [fall(BEGAN + 121, "guard", "hung", "no answer")]),
        write_trace(zot.home, header(BEGAN + 180, kind="host", cwd="/srv"), [figures(BEGAN + 3780, began=BEGAN + 180)]),
    ]


def rows(text: str) -> list[list[str]]:
    return [line.split("  ") for line in text.splitlines()]


def test_a_table_of_all_runs_the_newest_first(zot, runs):
    outcome = run(zot, "runs")
    assert (outcome.status, outcome.stderr) == (0, "")
    head, *lines = outcome.text.splitlines()
    assert head.split() == ["ID", "STARTED", "TOOK", "KIND", "OUTCOME", "EXTENSIONS", "COST", "FOLDER"]
    assert [line.split()[0] for line in lines] == [path.stem for path in reversed(runs)]
    host, killed, failed, good = (" ".join(line.split()[3:]) for line in lines)
    assert host == "1h host stopped - - /srv"
    assert killed == "- run killed guard - /home/ada/project"
    assert failed == "2 s run timeout crash (2) $0.0123 /home/ada/project"
    assert good == "2 s run ok crash (2) $0.0123 /home/ada/project"


def test_runs_that_failed(zot, runs):
    lines = run(zot, "runs", "--failed").text.splitlines()[1:]
    assert [line.split()[0] for line in lines] == [runs[2].stem, runs[1].stem]


def test_runs_in_which_an_extension_fell(zot, runs):
    lines = run(zot, "runs", "--extension", "guard").text.splitlines()[1:]
    assert [line.split()[0] for line in lines] == [runs[2].stem]


def test_runs_since_a_moment(zot, runs):
    now = time.time()
    new = write_run(zot.home, now - 60)
    lines = run(zot, "runs", "--since", "1d").text.splitlines()[1:]
    assert [line.split()[0] for line in lines if "2026" in line and new.stem in line] == [new.stem]
    outcome = run(zot, "runs", "--since", "nonsense")
    assert outcome.status == 2
    assert "--since: 'nonsense'" in outcome.stderr


def test_a_long_list_says_how_to_see_more(zot, runs):
    outcome = run(zot, "runs", "-n", "2")
    assert len(outcome.text.splitlines()) == 3
    assert outcome.stderr == "zot runs: only the last 2 are shown; -n N shows more, --since 1d those of the last day\n"
    assert run(zot, "runs", "-n", "4").stderr == ""


def test_an_object_for_each_run(zot, runs):
    found = [json.loads(line) for line in run(zot, "runs", "--json").text.splitlines()]
    assert [each["id"] for each in found] == [path.stem for path in reversed(runs)]
    good = found[-1]
    assert (good["outcome"], good["exit_code"], good["failed"], good["took_s"]) == ("ok", 0, False, 2)
    assert good["falls"] == {"crash": 2}
    assert (found[1]["outcome"], found[1]["failed"], found[1]["ended"]) == ("killed", True, None)
    assert "flags" not in good


def test_without_a_run_a_hint_is_on_stderr(zot):
    outcome = run(zot, "runs")
    assert (outcome.status, outcome.stdout) == (0, b"")
    assert outcome.stderr == f"zot runs: no run has left a trace in {runs_folder(zot.home)}\n"
    assert not zot.home.exists()


def test_a_damaged_trace_is_named_and_skipped(zot, runs):
    runs[3].write_bytes(b'{"type":"trace","id":7}\n')
    runs[0].write_bytes(runs[0].read_bytes().replace(b'{"type":"run"', b'{"type"'))
    outcome = run(zot, "runs")
    assert (outcome.status, len(outcome.text.splitlines())) == (0, 4)
    host, good = outcome.stderr.splitlines()
    assert host.startswith(f"zot runs: {runs[3]}:1: not a readable line: ")
    assert host.endswith("; the trace is skipped")
    assert good.startswith(f"zot runs: {runs[0]}:6: not a readable line: ")
    assert good.endswith("; the line is skipped")


def test_texts_of_a_trace_control_no_terminal(zot):
    write_trace(zot.home, header(cwd="/x\x1b[2Jy"), [fall(BEGAN, "a\x1b]0;b\x07"), end(BEGAN + 1, "er\nror", 1)])
    for words in (["runs"], ["runs", "show", "last"], ["ext", "history", "a\x1b]0;b\x07"], ["ps", "-a"]):
        text = run(zot, *words).text
        assert "\x1b" not in text
        assert "\x07" not in text


def test_the_flags_of_the_list_are_none_of_a_run(zot, runs):
    outcome = run(zot, "runs", "--failed", "show", "last")
    assert outcome.status == 2
    assert outcome.stderr.startswith("zot: flags of the list stand without show, or behind it")


def test_ps_lists_the_last_runs_with_their_outcomes(zot, runs):
    for late in range(20):
        write_run(zot.home, BEGAN - 60 * (late + 1))
    assert run(zot, "ps").stdout == b""
    outcome = run(zot, "ps", "-a")
    head, *lines = outcome.text.splitlines()
    assert head.split() == ["PID", "KIND", "UP", "CPU%", "RSS", "EXTENSIONS", "OUTCOME", "FOLDER"]
    assert len(lines) == 20
    assert " ".join(lines[1].split()[1:]) == "run - - - fell: guard killed /home/ada/project"
    found = [json.loads(line) for line in run(zot, "ps", "-a", "--json").text.splitlines()]
    assert [each["outcome"] for each in found[:4]] == ["stopped", "killed", "timeout", "ok"]


def test_on_a_narrow_terminal_columns_give_way_and_names_stay(zot, capsys, monkeypatch):
    far = "/home/ada/projects/of/many/years/and/one/more"
    found = read_trace(write_run(zot.home, cwd=far))
    heads = []
    for width in (120, 80, 60):
        monkeypatch.setattr(list_module, "table_width", lambda width=width: width)
        list_module.print_runs([found])
        head, line = capsys.readouterr().out.splitlines()
        assert len(line) <= width
        assert found.id in line
        assert "crash (2)" in line
        heads.append(head.split())
    assert heads[0][-1] == "FOLDER"
    assert heads[1:] == [
        ["ID", "STARTED", "TOOK", "KIND", "OUTCOME", "EXTENSIONS"], ["ID", "TOOK", "KIND", "OUTCOME", "EXTENSIONS"]
    ]  # fmt: skip
