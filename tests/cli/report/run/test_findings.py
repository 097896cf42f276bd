"""Which extensions the report calls troubled."""

from __future__ import annotations

from array import array

import pytest

from cli.report.input.recorded_run import ExtensionFigures, Happening, RecordedRun, SourceKind, Track
from cli.report.run.findings import Trouble, exits_of, findings_of
from supervisor.accounting.account import growth

MIB = 2**20


def recording(*figures, happenings=(), tracks=None):
    return RecordedRun(SourceKind.STATS, "", (), None, 1.0, 1.0, figures, tuple(happenings), tracks=tracks or {})


def test_nothing_stands_out_where_all_is_well():
    assert (
        findings_of(
            recording(ExtensionFigures("a", state="ready", cpu_s=2, calls=9, p99_ms=3.0), ExtensionFigures("b"))
        )
        == ()
    )


def test_each_trouble_names_its_extensions_the_worst_first():
    exits = [Happening(1.0, None, "exited", extension=name) for name in ("b", "a", "a")]
    recorded = recording(
        ExtensionFigures("a", state="ready", restarts=2, errors=1, calls=10),
        ExtensionFigures("b", state="failed", failure="5 exits in 41 s"),
        ExtensionFigures("c", state="ready", errors=5, calls=5, timeouts=4),
        happenings=exits,
    )
    found = findings_of(recorded)
    told = {finding.trouble: [(case.extension, case.said) for case in finding.cases] for finding in found}
    assert list(told) == [Trouble.GIVEN_UP, Trouble.EXITS, Trouble.TIMEOUTS, Trouble.ERRORS]
    assert told[Trouble.GIVEN_UP] == [("b", "5 exits in 41 s")]
    assert told[Trouble.EXITS] == [("a", "2 times, 2 restarted")]
    assert told[Trouble.ERRORS] == [("c", "5 of 5"), ("a", "1 of 10")]
    assert exits_of(recorded) == {"a": 2, "b": 1}


def test_the_count_of_the_host_is_more_than_what_the_timeline_tells():
    """The last of five exits is told as `failed`, and one over a limit as `limit`."""
    exited = [Happening(1.0, None, "exited", extension="a")]
    assert exits_of(recording(ExtensionFigures("a", exits=6, unexpected_exits=5), happenings=exited)) == {"a": 5}


def test_an_extension_that_zot_ended_has_not_ended_by_itself():
    over = ExtensionFigures("over", state="ready", restarts=3, unexpected_exits=3, exits_by_host=3, limit_breaches=3)
    hung = ExtensionFigures("hung", state="ready", restarts=2, unexpected_exits=3, exits_by_host=2, limit_breaches=0)
    asked = ExtensionFigures("asked", state="ready", restarts=1, unexpected_exits=0, exits_by_host=0)
    older = ExtensionFigures("older", state="ready", restarts=2, unexpected_exits=2, limit_breaches=2)
    recorded = recording(over, hung, asked, older)
    told = {
        finding.trouble: [(case.extension, case.said) for case in finding.cases] for finding in findings_of(recorded)
    }
    assert told == {
        Trouble.LIMIT: [("over", "3 times"), ("older", "2 times")],
        Trouble.EXITS: [("hung", "1 time, 2 restarted")],
        Trouble.ENDED: [("hung", "2 times")],
    }


def test_a_hog_uses_a_multiple_of_the_others():
    quiet = [ExtensionFigures(f"quiet-{index}", cpu_s=1.0) for index in range(9)]
    (found,) = findings_of(recording(*quiet, ExtensionFigures("hog", cpu_s=91.0)))
    assert found.trouble is Trouble.HOG
    assert [(case.extension, case.said) for case in found.cases] == [("hog", "91 %")]
    assert findings_of(recording(*quiet, ExtensionFigures("busy", cpu_s=3.0))) == ()


def test_slow_is_slower_than_the_others_are():
    usual = [ExtensionFigures(f"usual-{index}", p99_ms=600.0) for index in range(5)]
    assert findings_of(recording(*usual)) == ()
    (found,) = findings_of(recording(*usual, ExtensionFigures("slow", p99_ms=9000.0)))
    assert [(found.trouble, case.extension, case.said) for case in found.cases] == [(Trouble.SLOW, "slow", "p99 9 s")]


@pytest.mark.parametrize(
    ("mib", "grown"),
    [
        ([10 + 5 * at for at in range(40)], True),
        ([10] * 40, False),
        ([10 + at / 10 for at in range(40)], False),
        ([10 + 5 * (at % 10) for at in range(40)], False),
        ([float("nan"), 0, *(10 + 5 * at for at in range(40))], True),
        ([10, 300], False),
        ([*range(10, 110, 10), *[100] * 30], False),
    ],
    ids=["leak", "flat", "little", "restarts", "absent at first", "too few", "loaded"],
)
def test_growth_is_steady_and_large(mib, grown):
    values = array("d", [value * MIB for value in mib])
    assert (growth(values) is not None) is grown
    found = findings_of(recording(ExtensionFigures("a"), tracks={"a": Track(values, values)}))
    assert [finding.trouble for finding in found] == ([Trouble.GROWTH] if grown else [])
