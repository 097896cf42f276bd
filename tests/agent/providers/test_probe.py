"""The verdict on a key, from the answer of a provider."""

from __future__ import annotations

import pytest

from agent.providers.probe import Outcome, judge


def error(status, message="as the script says"):
    return {"type": "error", "kind": "x", "status": status, "message": message}


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ({"type": "final"}, Outcome.ACCEPTED),
        (error(401), Outcome.REFUSED),
        (error(403), Outcome.REFUSED),
        (error(404, "model: no-such"), Outcome.ACCEPTED),
        (error(404, "not found"), Outcome.UNKNOWN),
        (error(400, "Invalid model name passed in model=x"), Outcome.ACCEPTED),
        (error(400, "No connected db."), Outcome.UNKNOWN),
        (error(400, "Your credit balance is too low"), Outcome.ACCEPTED),
        (error(402), Outcome.ACCEPTED),
        (error(429), Outcome.UNKNOWN),
        (error(529), Outcome.UNKNOWN),
        (error(None, "connection refused"), Outcome.UNKNOWN),
    ],
)
def test_only_what_the_server_cannot_say_without_knowing_the_key_is_a_yes(line, outcome):
    probe = judge(line, "m", "https://h")
    assert probe.outcome is outcome
    if line["type"] == "error":
        assert line["message"] in probe.said
