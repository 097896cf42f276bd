"""A fault holds only if it held each time, and only applicable faults count."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from supervisor.torture.faults.table import FAMILIES, FAULTS
from supervisor.torture.score import Outcome, Row, score_of

OUTCOMES = st.lists(st.lists(st.sampled_from(Outcome), max_size=4), max_size=8)


@given(OUTCOMES)
def test_the_score_is_the_share_of_applicable_rows_that_held_each_time(trials):
    rows = [Row(FAULTS[number]) for number in range(len(trials))]
    for row, outcomes in zip(rows, trials, strict=True):
        firsts = [row.add(outcome, f"{outcome}", 1.0) for outcome in outcomes]
        assert sum(firsts) == (Outcome.NOT_HELD in outcomes)
        assert row.failed == outcomes.count(Outcome.NOT_HELD)
        if Outcome.NOT_HELD in outcomes:
            assert (row.outcome, row.reason) == (Outcome.NOT_HELD, f"{Outcome.NOT_HELD}")
    score = score_of(rows)
    applicable = [row for row in rows if row.outcome is not Outcome.NOT_APPLICABLE]
    assert score.applicable == len(applicable) <= score.rows
    assert (score.percent == 100.0) == (bool(applicable) and all(row.outcome is Outcome.HELD for row in applicable))


def test_a_score_below_the_whole_is_never_shown_as_the_whole():
    rows = [Row(FAULTS[0]) for _ in range(2000)]
    for number, row in enumerate(rows):
        row.add(Outcome.NOT_HELD if number == 0 else Outcome.HELD, "", 0.0)
    assert score_of(rows).percent == 99.9


def test_each_fault_has_a_name_of_its_own_and_says_what_a_good_extension_does():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 42
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    for fault in FAULTS:
        assert fault.provoked
        assert fault.good.endswith(".")
