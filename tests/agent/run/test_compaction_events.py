"""Observers of compactions: each attempt is told with its start and its outcome."""

from __future__ import annotations

import pytest

from tests.support.compacting_bench import (
    FAILED,
    LONG,
    SUMMARY,
    SUMMED_UP,
    TOO_LONG,
    call,
    reply,
    said,
)
from tests.support.scripted_model import says
from wire.exit_codes import Status


def observed(trial):
    """The names and outcomes of the events about compactions; each end has the id of its start and fitting counts."""
    told = [event for event in trial.observed if event.event.endswith("_compact")]
    for before, after in zip(told[::2], told[1::2], strict=True):
        assert (before.event, before.status, before.error, after.event) == ("pre_compact", None, None, "post_compact")
        assert before.compaction_id == after.compaction_id
    assert len({event.compaction_id for event in told}) == len(told) // 2
    return [(event.status, event.error) for event in told[1::2]]


def test_observers_hear_of_each_attempt_by_itself(bench):
    script = [reply("", call(1), tokens=4_000), reply("", call(2), tokens=8_499), SUMMARY]
    with bench(*script, reply("Done.", tokens=900)) as trial:
        trial.run.prompt(LONG)
        assert observed(trial) == [("completed", None)]
        before, after = (event for event in trial.observed if event.event.endswith("_compact"))
        assert (before.message_count, after.message_count) == (5, 5)
        texts = [LONG, "nope{}", 'unknown tool "nope"', "nope{}", 'unknown tool "nope"']
        assert before.token_estimate == len("".join(texts)) // 4
        assert after.token_estimate == len("".join([SUMMED_UP, *texts[1:]])) // 4


@pytest.mark.parametrize(
    ("script", "before", "outcomes"),
    [
        ([FAILED, says("Done.")], said(4_400, 4_400, 10, 10), [("failed", "broken")]),
        ([TOO_LONG, SUMMARY, says("Done.")], said(*[100] * 6), [("completed", None)]),
        (
            [TOO_LONG], [],
            [("failed", "nothing to compact: the last 4 messages are kept, and there are no others")],
        ),
        ([says("Done.")], said(10, 10), []),
    ],
)  # fmt: skip
def test_observers_hear_how_each_attempt_has_ended(bench, script, before, outcomes):
    with bench(*script, before=before) as trial:
        trial.run.prompt("go")
        assert observed(trial) == outcomes


def test_observers_hear_of_an_attempt_that_an_abort_ended(bench):
    with bench(says("never"), before=said(4_500, 4_500, 10, 10)) as trial:
        trial.model.may_reply = lambda _number: trial.abort.request(Status.INTERRUPTED, "enough")
        assert trial.run.prompt("go").status is Status.INTERRUPTED
        assert observed(trial) == [("cancelled", "enough")]
