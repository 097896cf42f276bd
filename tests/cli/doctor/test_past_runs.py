"""The check of `zot doctor` about past runs, with made traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.doctor.past_runs import DAYS, MOST, examine_past_runs
from supervisor.harness.findings import FindingLevel
from tests.support.run_traces import BEGAN, end, fall, header, write_trace

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from cli.doctor.host_checks import Check
    from wire.stats import Mark

NOW = BEGAN + 86400
OK, WARN = FindingLevel.OK, FindingLevel.WARN


def write_run(home: Path, at: float, pid: int, *falls: Mark) -> Path:
    return write_trace(home, header(at, pid), [*falls, end(at + 9)])


def checks(home: Path) -> list[Check]:
    return list(examine_past_runs(home, NOW))


def test_without_runs_all_is_well(tmp_path: Path) -> None:
    (check,) = checks(tmp_path)
    assert (check.level, check.message) == (OK, "none in the last 7 days; no extension fell again and again or leaked")


def test_an_extension_that_fell_three_times_is_named_with_its_runs(tmp_path: Path) -> None:
    write_run(tmp_path, BEGAN, 10, fall(BEGAN, "beat"), fall(BEGAN + 1, "beat", "limit"), fall(BEGAN, "once"))
    write_run(tmp_path, BEGAN + 60, 11, fall(BEGAN + 61, "beat", "hung"), fall(BEGAN, "once", "no_verdict"))
    (check,) = checks(tmp_path)
    assert check.level is WARN
    assert check.extension == "beat"
    assert check.message.startswith("beat: 3 falls in the last 7 days: ")
    assert sorted(check.message.split(": ")[2].split("; ")[0].split(", ")) == [
        "1 crashed",
        "1 hung",
        "1 over its limits",
    ]
    assert "; in 2 runs: " in check.message
    assert "-11-000, " in check.message
    assert check.advice.startswith("zot ext history beat ")
    assert "raise its limits" in check.advice
    assert "zot ext profile beat" in check.advice


def test_ends_without_an_error_and_no_verdicts_are_no_kills(tmp_path: Path) -> None:
    for number in range(5):
        write_run(tmp_path, BEGAN, 10 + number, fall(BEGAN, "a", "ended"), fall(BEGAN, "a", "no_verdict"))
    assert [check.level for check in checks(tmp_path)] == [OK]


def test_a_leak_in_two_runs_is_a_finding(tmp_path: Path) -> None:
    write_run(tmp_path, BEGAN, 10, fall(BEGAN, "a b", "leak"), fall(BEGAN + 9, "a b", "leak"))
    assert [check.level for check in checks(tmp_path)] == [OK]
    for number in range(4):
        write_run(tmp_path, BEGAN, 20 + number, fall(BEGAN, "a b", "leak"))
    (check,) = checks(tmp_path)
    assert (check.level, check.kind, check.extension) == (WARN, "leak", "a b")
    assert check.message.startswith("a b: its memory only grew; in 5 runs: ")
    assert check.message.endswith(" and 2 more")
    assert check.advice.endswith("zot ext profile 'a b'")


def test_older_runs_do_not_count(tmp_path: Path) -> None:
    old = NOW - (DAYS + 1) * 86400
    write_run(tmp_path, old, 10, *(fall(old, "a") for _ in range(5)))
    (check,) = checks(tmp_path)
    assert (check.level, check.message[:4]) == (OK, "none")


def test_damaged_traces_are_skipped_and_named(tmp_path: Path) -> None:
    for number in range(5):
        write_run(tmp_path, BEGAN, 10 + number).write_bytes(b"\0\0\n")
    write_run(tmp_path, BEGAN, 20, *(fall(BEGAN, "a") for _ in range(3)))
    found, damaged = checks(tmp_path)
    assert found.extension == "a"
    assert damaged.level is WARN
    assert damaged.message.count("the trace is skipped") == 3
    assert damaged.message.endswith("; and 2 more")


def test_only_the_newest_runs_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST == 500
    monkeypatch.setattr("cli.doctor.past_runs.MOST", 2)
    for number in range(3):
        write_run(tmp_path, BEGAN + number, 10, fall(BEGAN, "a"))
    assert [check.message[:7] for check in checks(tmp_path)] == ["2 runs "]
