"""The verdict on a key, from the answer of a provider."""

from __future__ import annotations

import pytest

from agent.providers.probe import ProbeOutcome, judge


def error(status, message="as the script says"):
    return {"type": "error", "kind": "x", "status": status, "message": message}


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ({"type": "final"}, ProbeOutcome.ACCEPTED),
        (error(401), ProbeOutcome.REFUSED),
        (error(403), ProbeOutcome.REFUSED),
        (error(404, "model: no-such"), ProbeOutcome.ACCEPTED),
        (error(404, "not found"), ProbeOutcome.UNKNOWN),
        (error(400, "Invalid model name passed in model=x"), ProbeOutcome.ACCEPTED),
        (error(400, "No connected db."), ProbeOutcome.UNKNOWN),
        (error(400, "Your credit balance is too low"), ProbeOutcome.ACCEPTED),
        (error(402), ProbeOutcome.ACCEPTED),
        (error(429), ProbeOutcome.UNKNOWN),
        (error(529), ProbeOutcome.UNKNOWN),
        (error(None, "connection refused"), ProbeOutcome.UNKNOWN),
    ],
)
def test_only_what_the_server_cannot_say_without_knowing_the_key_is_a_yes(line, outcome):
    probe = judge(line, "m", "https://h")
    assert probe.outcome is outcome
    if line["type"] == "error":
        assert line["message"] in probe.said
