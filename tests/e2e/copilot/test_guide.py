"""The examples of the guide for authors, as they are, in runs of a model, with the oldest and the newest SDK."""

from __future__ import annotations

import pytest

from tests.support.copilot_place import results_of, said
from tests.support.messages_server import http_error
from wire.events import Error, Extension, ExtNotify, TurnStart
from wire.exit_codes import Status


def notes(outcome, extension: str) -> list[str]:
    return [record.message for record in outcome.of(ExtNotify) if record.extension == extension]


def test_tools_and_hooks_and_the_session_of_one_run(each_sdk):
    """The short one of all: the three extensions of the guide beside each other."""
    place = each_sdk
    for name in ("guide-tools", "guide-hooks", "guide-session"):
        place.add(name)
    outcome = place.results(
        ("guide_greet", {"who": "Ada"}),
        [("bash", {"command": "echo out; echo err >&2"}), ("bash", {"command": "rm -rf src"})],
    ).check(Status.OK)
    assert (outcome.result.text, place.server.unused) == ("Done.", 0)
    assert said(place.asked()) == ["go", "Session startup, just now.", "Answer in bullet points."]
    greeted, ran, refused = results_of(place.asked())
    assert greeted == "Hello, Ada"
    assert ran.startswith("$ echo out; echo err >&2 2>&1\n")
    assert refused == (
        "Destructive commands are not allowed.Try another way than: Destructive commands are not allowed."
    )
    (blocked,) = [record for record in outcome.of(Extension) if record.event == "blocked"]
    assert (blocked.extension, blocked.message) == (
        "guide-hooks", "refused bash: Destructive commands are not allowed."
    )  # fmt: skip
    assert notes(outcome, "guide-hooks") == [
        "Running: echo out; echo err >&2", "Running: rm -rf src", "cleanup: closed the log",
        "cleanup: removed temporary files",
    ]  # fmt: skip
    seen = notes(outcome, "guide-session")
    assert seen[0] == f"workspace: {place.zot.home}/workspaces/{outcome.result.session}"
    assert 'first tool: {"toolName":"guide_greet","success":true,"result":{"content":"Hello, Ada"}}' in seen
    assert any(line.endswith(": Done.") for line in seen), "the answer that it heard of"
    assert seen[-1].startswith('events: {"session.start":1,"user.message":1,')
    summaries = [record.message for record in outcome.of(Extension) if record.event == "summary"]
    assert summaries == ["sums up the session: ended: complete"]
    assert {name: cost.exit_status for name, cost in outcome.result.extensions.items()} == {
        "guide-hooks": "exit 0", "guide-session": "exit 0", "guide-tools": "exit 0",
    }  # fmt: skip
    assert not (place.zot.home / "workspaces" / outcome.result.session).exists(), "it was empty"


@pytest.mark.slow
def test_what_it_asks_about_may_be_allowed(place):
    place.add("guide-hooks")
    outcome = place.results(("bash", {"command": "echo git push"}), flags=("--allow-asked",)).check(Status.OK)
    assert results_of(place.asked())[0].startswith("$ echo git push\n")
    (asked,) = [record.message for record in outcome.of(Extension) if record.event == "asked"]
    assert "A push is for all to see." in asked


@pytest.mark.slow
def test_an_error_of_the_model(each_sdk):
    """The model is asked again, twice; then the run fails, and the handler of the event is told."""
    place = each_sdk
    place.add("guide-hooks")
    place.add("guide-session")
    errors = [http_error(500, "out of order", retry_after_ms=1) for _ in range(40)]
    outcome = place.run(*errors).check(Status.ERROR)
    assert outcome.of(Error)
    assert "out of order" in outcome.result.reason
    handled = [record.message for record in outcome.of(Extension) if record.event == "error_handling"]
    assert len(handled) == len(outcome.of(TurnStart)) == 3
    assert handled[0].startswith("says retry (at most 2) after an error: anthropic: HTTP 500: out of order")
    assert [line for line in notes(outcome, "guide-session") if line.startswith("query: ")]
    (summary,) = [record.message for record in outcome.of(Extension) if record.event == "summary"]
    assert summary == "sums up the session: ended: error"
