"""The examples of the guide for authors, as they are, in runs of a model, with the oldest and the newest SDK."""

from __future__ import annotations

import pytest

from tests.support.copilot_place import results_of, said
from tests.support.messages_server import http_error, text_reply
from wire.events import Error, Extension, ExtNotify, ToolCall, ToolResult, TurnStart
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
def test_the_tools(each_sdk):
    place = each_sdk
    place.add("guide-tools")
    hows = ("success", "failure", "rejected", "denied")
    outcome = place.results(
        [("guide_structured", {"how": how}) for how in hows],
        [("guide_run", {"command": "pwd"}), ("guide_run", {"command": "exit 3"})],
        [("guide_who", {}), ("guide_throw", {}), ("guide_structured", {})],
    ).check(Status.OK)
    told = results_of(place.asked())
    assert told[:4] == [f"it went: {how}" for how in hows]
    assert told[4:6] == [f"{place.zot.cwd}\n", "Error: Command failed: sh -c exit 3\n"]
    name, call, session = told[6].split()
    assert (name, session) == ("guide_who", outcome.result.session)
    assert call in [record.id for record in outcome.of(ToolCall) if record.name == "guide_who"]
    assert told[7:] == ["as the guide says", "it went: undefined"]
    assert [result.is_error for result in outcome.of(ToolResult)] == [
        False, True, True, True, False, False, False, True, False,
    ]  # fmt: skip
    assert notes(outcome, "guide-tools") == ["Extension ready"]
    described = {tool["name"]: tool for tool in place.server.requests[0].body["tools"]}
    greet = described["guide_greet"]
    assert greet["description"] == "Greets somebody"
    assert greet["input_schema"]["properties"] == {"who": {"type": "string", "description": "Whom to greet"}}
    assert greet["input_schema"]["required"] == ["who"]
    assert described["guide_who"]["input_schema"]["type"] == "object"


@pytest.mark.slow
def test_prompts_and_results_are_rewritten(each_sdk):
    place = each_sdk
    place.add("guide-hooks")
    (place.zot.cwd / "secret.txt").write_text("the password is swordfish\n")
    outcome = place.results(
        ("read", {"path": "secret.txt"}),
        ("write", {"path": "new.txt", "content": "new\n"}),
        ("edit", {"path": "new.txt", "edits": [{"oldText": "new", "newText": "newer"}]}),
        ("bash", {"command": "git push"}),
        prompt="loud as a whisper",
    ).check(Status.OK)
    assert said(place.asked())[0] == "AS A WHISPER"
    assert "Answer in bullet points." not in said(place.asked())
    told = results_of(place.asked())
    assert told[0] == "(withheld)"
    assert told[1].endswith(f"new.txt was changed in {place.zot.cwd}")
    assert told[2].endswith(f"new.txt was changed in {place.zot.cwd}")
    assert (place.zot.cwd / "new.txt").read_text() == "newer\n"
    assert "A push is for all to see." in told[3], "nobody is there who could be asked"
    (asked,) = [record.message for record in outcome.of(Extension) if record.event == "asked"]
    assert "A push is for all to see." in asked
    assert b"swordfish" not in outcome.stdout


@pytest.mark.slow
def test_what_it_asks_about_may_be_allowed(place):
    place.add("guide-hooks")
    outcome = place.results(("bash", {"command": "echo git push"}), flags=("--allow-asked",)).check(Status.OK)
    assert results_of(place.asked())[0].startswith("$ echo git push\n")
    (asked,) = [record.message for record in outcome.of(Extension) if record.event == "asked"]
    assert "A push is for all to see." in asked


@pytest.mark.slow
def test_an_urgent_prompt_brings_another(each_sdk):
    place = each_sdk
    place.add("guide-hooks")
    outcome = place.run(text_reply("First."), text_reply("Second."), prompt="urgent: look").check(
        Status.OK, user_messages=2
    )
    assert outcome.result.text == "First."
    assert [(sent.extension, sent.status, sent.text) for sent in outcome.result.sent] == [
        ("guide-hooks", "ok", "Second.")
    ]
    assert said(place.asked(), "user")[-2:] == ["Please do this first.", "Answer in bullet points."]
    assert "Session startup, just now." in said(place.asked()), "at the first prompt alone"
    assert said(place.asked()).count("Session startup, just now.") == 1


@pytest.mark.slow
def test_a_file_that_goes_with_a_prompt(each_sdk):
    """`send` with an attachment, from the handler of an event."""
    place = each_sdk
    place.add("guide-session")
    source = place.zot.cwd / "src" / "index.ts"
    source.parent.mkdir()
    source.write_text("export const answer = 42;\n")
    outcome = place.run(text_reply("Soon."), text_reply("It is fine."), prompt="review").check(
        Status.OK, user_messages=2
    )
    first, *behind = said(place.asked())[1:]
    assert first == "Review this file"
    assert any("export const answer = 42;" in text and "src/index.ts" in text for text in behind)
    (sent,) = outcome.result.sent
    assert sent.text == "It is fine."


@pytest.mark.slow
def test_an_error_of_the_model(each_sdk):
    """It is asked to try again, twice; then the run fails, and the handler of the event is told."""
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
