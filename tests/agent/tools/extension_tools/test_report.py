"""The report on extensions that the model gets."""

from __future__ import annotations

from typing import Any

from agent.tools.extension_tools import report
from agent.tools.extension_tools.report import Row
from agent.tools.extension_tools.rows import LOG_LINES, last_lines
from wire.control import ReloadOutcome


def row(name: str = "lint", **fields: Any) -> Row:
    return Row(**{"name": name, "scope": "project", "state": "running", "folder": "/p/lint", **fields})


def test_without_extensions_the_next_step_is_named():
    assert (
        report.list_report([]) == "there are no Copilot extensions; extensions_manage with operation scaffold makes one"
    )
    assert report.reload_report((), set(), {}, ()).startswith("there are no Copilot extensions to reload")


def test_a_list_is_bounded_and_each_is_one_line():
    rows = [row(f"x{number}", state="failed: a\nb" + "c" * 10_000, tools=("t",)) for number in range(report.LISTED + 2)]
    lines = report.list_report(rows).splitlines()
    assert (lines[0], lines[-1]) == ("102 Copilot extensions:", "- and 2 more")
    assert len(lines) == report.LISTED + 2
    assert max(map(len, lines)) < 700


def test_one_that_has_never_run_has_no_log():
    assert report.inspection_report(row(state="not started")) == "lint (project)\nstate: not started\nfolder: /p/lint"
    ran = report.inspection_report(row(log="/l", last_lines="a\nb", tools=("t",), commands=("c",), restarts=2))
    assert ran.splitlines()[3:] == [
        "tools: t", "guards: none", "commands: /c", "restarts: 2, reloads: 0", "log: /l", "the end of the log:", "a",
        "b",
    ]  # fmt: skip


def test_the_name_of_a_folder_says_nothing_in_lines_of_its_own():
    told = report.inspection_report(row("x\nstate: running", state="failed", folder="/p/x\nstate: running\x1b[31m"))
    assert told.splitlines() == ["x state: running (project)", "state: failed", "folder: /p/x state: running"]


def test_a_reload_tells_each_outcome_with_the_next_step():
    outcomes = (
        ReloadOutcome("a", "reloaded"),
        ReloadOutcome("b", "started"),
        ReloadOutcome("c d", "skipped", "not trusted (never seen)"),
        ReloadOutcome("e", "kept", "it exited before its hello"),
        ReloadOutcome("f", "kept", "not trusted (its files have changed)"),
        ReloadOutcome("g", "stopped", "its folder is gone"),
        ReloadOutcome("h\n\udcff", "skipped", "read manifest: nothing"),
    )
    told = report.reload_report(outcomes, {"a", "b", "f"}, {"b": ["new"]}, {outcomes[2], outcomes[4]})
    trust = "a person has to look at it, and run in a terminal: zot ext trust"
    lines = told.splitlines()
    assert lines[:7] == [
        "2 of 7 Copilot extensions reloaded or started:",
        "- a: reloaded",
        "- b: started; new tools: new",
        f"- c d: not started: not trusted (never seen); {trust} 'c d'",
        "- e: not started: it exited before its hello",
        f"- f: not reloaded: not trusted (its files have changed); {trust} f; the running version stays",
        "- g: stopped: its folder is gone",
    ]
    assert len(lines) == 9
    told.encode()


def test_the_end_of_a_log_is_bounded(tmp_path):
    assert last_lines(tmp_path / "none") == ""
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"%d %s\n" % (number, b"\x1b[31m\xff" * 300) for number in range(100)))
    lines = last_lines(log).splitlines()
    assert (len(lines) <= LOG_LINES, lines[-1][:2]) == (True, "99")
    assert "\x1b" not in "".join(lines)
    log.write_text("one\ntwo")
    assert last_lines(log) == "one\ntwo"
