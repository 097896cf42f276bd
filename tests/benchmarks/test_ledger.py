"""The ledger of calls finds each fault of a call."""

from __future__ import annotations

import pytest

from benchmarks.ledger import CallOutcome, Ledger


def test_a_call_that_ends_once_in_time_is_no_fault():
    ledger = Ledger(2, slack_s=0.5)
    first, second = ledger.begin(0.0, 1.0), ledger.begin(0.5, 1.0)
    ledger.end(first, CallOutcome.ANSWERED, "", 0.5)
    assert not ledger.all_ended
    ledger.end(second, CallOutcome.TIMED_OUT, "no answer within 1 s", 1.6)
    ledger.timed_out_after(second, 1.0, 1.6)
    assert ledger.faults() == []
    assert ledger.all_ended
    assert ledger.is_full
    assert ledger.outcomes[CallOutcome.TIMED_OUT] == 1
    assert ledger.worst_overrun_s == pytest.approx(0.1)


def test_each_fault_of_a_call_is_found():
    ledger = Ledger(5, slack_s=0.5)
    twice, late, mute, early, _never = (ledger.begin(0.0, 1.0) for _ in range(5))
    ledger.end(twice, CallOutcome.ANSWERED, "", 0.1)
    ledger.end(twice, CallOutcome.FAILED, "it died", 0.2)
    ledger.end(late, CallOutcome.ANSWERED, "", 1.6)
    ledger.end(mute, CallOutcome.FAILED, "", 0.1)
    ledger.end(early, CallOutcome.TIMED_OUT, "no answer within 1 s", 0.5)
    ledger.timed_out_after(early, 1.0, 0.5)
    assert [line.split(":")[0] for line in ledger.faults()] == [
        "1 ended twice",
        "1 ended late",
        "1 ended without a reason",
        "1 timed out early",
        "1 never ended",
    ]
