"""`--timeout` ends a run wherever it hangs: complete stream, no process left, whole session file."""

from __future__ import annotations

import pytest

from tests.support.golden import golden
from tests.support.places import PLACES, hanging
from tests.support.zot_process import check_transcript
from wire.exit_codes import Status

SECONDS = {"model": "4"}
"""Long enough for the import of the SDK."""

LAST = {
    "model": "assistant_message 'Hello '\nturn_end aborted: {reason}\n",
    "bash": "tool_result t2 error 'aborted: {reason}'\nturn_end aborted: {reason}\n",
    "guard": "turn_start 1\nturn_end aborted: {reason}\n",
    "extension tool": "tool_result t1 error 'aborted: {reason}'\ntool_result t2 error 'aborted: {reason}'\n"
    "turn_end aborted: {reason}\n",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_run_that_hangs_ends_in_time(zot, place):
    seconds = SECONDS.get(place, "1.2")
    with hanging(zot, place, "--timeout", seconds) as running:
        outcome = running.finish().check(Status.TIMEOUT)
    reason = f"timeout: the run took longer than {seconds} s"
    assert LAST[place].format(reason=reason) + f"error {reason}\nresult timeout 6 " in golden(outcome)
    if place == "bash":
        cut_off = "$ echo up; sleep 600 & sleep 600\n\nup\n\ncancelled, killed by SIGTERM\n[exit -1]"
        assert outcome.tool_texts()[0].startswith(cut_off)
    assert outcome.warnings == [f"zot: {reason}"]
    assert outcome.result.duration_ms < float(seconds) * 1000 + 6000
    check_transcript(zot.session_rows())
