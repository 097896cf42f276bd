"""Every hook with every field of its input and output, as a run of a model sees them."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.support.copilot_place import results_of, said
from tests.support.messages_server import text_reply
from wire.events import Extension, ExtNotify, ToolResult
from wire.exit_codes import Status

pytestmark = pytest.mark.slow
SEEN = ("bench_seen", {})


@pytest.fixture
def bench(each_sdk):
    each_sdk.add("workbench")
    return each_sdk


def output(**fields: Any) -> dict[str, Any]:
    """The output that the hook is to return."""
    return {"output": fields}


def bash(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "bash", {"command": command, **more}


def seen_in(text: str, hook: str) -> list[dict[str, Any]]:
    """The inputs of a hook, of the result of `bench_seen`."""
    return [each["input"] for each in json.loads(text) if each["hook"] == hook]


def messages(outcome, event: str) -> list[str]:
    return [record.message for record in outcome.of(Extension) if record.event == event]


def test_what_hooks_are_told(bench):
    place = bench
    turns = [bash("echo out"), bash("exit 3"), ("bench_throw", {"text": "broken"}), bash("echo forbidden"), SEEN]
    outcome = place.results(*turns).check(Status.OK)
    seen = json.loads(outcome.tool_texts()[-1])
    session = outcome.result.session
    for each in seen:
        if each["hook"] != "onPermissionRequest":
            given = each["input"]
            assert each["invocation"] == {"sessionId": session}
            assert (given.pop("sessionId"), given.pop("cwd")) == (session, str(place.zot.cwd))
            assert given.pop("workingDirectory") == str(place.zot.cwd)
            assert abs(given.pop("timestamp") / 1000 - time.time()) < 600
    told = {hook: [each["input"] for each in seen if each["hook"] == hook] for hook in {each["hook"] for each in seen}}
    assert told["onUserPromptSubmitted"] == [{"prompt": "go"}]
    assert told["onSessionStart"] == [{"source": "startup", "initialPrompt": "go"}]
    calls = [
        {"toolName": "bash", "toolArgs": {"command": "echo out"}},
        {"toolName": "bash", "toolArgs": {"command": "exit 3"}},
        {"toolName": "bench_throw", "toolArgs": {"text": "broken"}},
        {"toolName": "bash", "toolArgs": {"command": "echo forbidden"}},
    ]
    assert told["onPreToolUse"] == [*calls, {"toolName": "bench_seen", "toolArgs": {}}]
    ran, failed, threw, denied = outcome.tool_texts()[:4]
    assert told["onPostToolUse"] == [calls[0] | {"toolResult": {"textResultForLlm": ran, "resultType": "success"}}]
    errors = zip(calls[1:], (failed, threw, denied), strict=True)
    assert told["onPostToolUseFailure"] == [call | {"error": error} for call, error in errors]
    assert denied == "the bench forbids it"
    assert told["onErrorOccurred"] == [
        {"error": "broken", "errorContext": "tool_execution", "recoverable": True},
    ]


def test_the_prompt_and_the_start_of_the_session(bench):
    asked = output(modifiedPrompt="changed", additionalContext="hidden")
    bench.run(text_reply("Done."), prompt=json.dumps(asked)).check(Status.OK)
    assert said(bench.asked()) == ["changed", "hidden"]


def test_what_is_said_before_a_tool_is_used(bench):
    outcome = bench.results(
        bash("echo first", **output(permissionDecision="deny", permissionDecisionReason="not that")),
        bash("echo second", **output(permissionDecision="deny")),
        bash("echo forbidden", **output(permissionDecision="allow", permissionDecisionReason="known")),
        bash("echo forbidden"),
        bash("echo fifth", **output(permissionDecision="ask", permissionDecisionReason="is it right?")),
        bash("echo sixth", **output(modifiedArgs={"command": "echo rewritten"}, additionalContext="as it should be")),
        bash("echo seventh", **output(additionalContext="beside it")),
        bash("echo eighth", **output(modifiedArgs={"command": "echo forbidden to all"})),
    ).check(Status.OK)
    told = results_of(bench.asked())
    assert told[0] == "not that"
    assert told[1] == "tool call refused by extension guard"
    assert told[2].startswith("$ echo forbidden\n\nforbidden"), "allowed without its permission handler"
    assert told[3] == "the bench forbids it"
    assert told[4].startswith("$ echo fifth"), "its permission handler was asked, and approved"
    assert told[5].startswith("$ echo rewritten\n\nrewritten\n")
    assert told[5].endswith("as it should be")
    assert told[6].startswith("$ echo seventh")
    assert told[6].endswith("beside it")
    assert told[7] == "the bench forbids it", "it is asked about what will run"
    assert [result.is_error for result in outcome.of(ToolResult)] == [
        True,
        True,
        False,
        True,
        False,
        False,
        False,
        True,
    ]
    assert messages(outcome, "blocked")[0] == "refused bash: not that"


def test_what_is_said_after_a_tool_was_used(bench):
    def after(command: str, **fields: Any) -> tuple[str, dict[str, Any]]:
        """The output is that of the hook after the call: the one before it puts it into the arguments."""
        return bash(command, **output(modifiedArgs={"command": command, **output(**fields)}))

    outcome = bench.results(
        after("echo 1", modifiedResult={"textResultForLlm": "another", "resultType": "success"}),
        after("echo 2", modifiedResult={"textResultForLlm": "it failed", "resultType": "failure"}),
        after("echo 3", modifiedResult="a text"),
        after("echo 4", additionalContext="and that"),
        after("exit 5", additionalContext="after a failure"),
        after("echo 6", modifiedResult={"textResultForLlm": "both"}, additionalContext="of them"),
    ).check(Status.OK)
    told = results_of(bench.asked())
    assert told[:3] == ["another", "it failed", "a text"]
    assert (told[3].startswith("$ echo 4"), told[3].endswith("and that")) == (True, True)
    assert (told[4].startswith("$ exit 5"), told[4].endswith("after a failure")) == (True, True)
    assert told[5] == "bothof them"
    assert [result.is_error for result in outcome.of(ToolResult)] == [False, True, False, False, True, False]


def test_arguments_and_results_have_the_names_of_copilot(bench):
    (bench.zot.cwd / "notes.txt").write_text("one\ntwo\nthree\n")
    rewritten = {"path": "notes.txt", "view_range": [2, 2]}
    edited = {"path": "notes.txt", "old_str": "two", "new_str": "2"}
    outcome = bench.results(
        ("read", {"path": "other.txt", **output(modifiedArgs=rewritten)}),
        ("write", {"path": "new.txt", "content": "x", **output(modifiedArgs={"path": "new.txt", "file_text": "y"})}),
        ("edit", {"path": "a", "edits": [{"oldText": "b", "newText": "c"}], **output(modifiedArgs=edited)}),
        SEEN,
    ).check(Status.OK)
    assert [result.is_error for result in outcome.of(ToolResult)] == [False] * 4
    assert "two" in outcome.tool_texts()[0]
    assert "three" not in outcome.tool_texts()[0]
    assert (bench.zot.cwd / "new.txt").read_text() == "y"
    assert (bench.zot.cwd / "notes.txt").read_text() == "one\n2\nthree\n"
    seen = outcome.tool_texts()[-1]
    asked = [(each["toolName"], sorted(each["toolArgs"])) for each in seen_in(seen, "onPreToolUse")]
    assert asked == [
        ("view", ["output", "path"]), ("create", ["file_text", "output", "path"]),
        ("edit", ["edits", "new_str", "old_str", "output", "path"]), ("bench_seen", []),
    ]  # fmt: skip
    kinds = [each["kind"] for each in seen_in(seen, "onPermissionRequest")]
    assert kinds == ["read", "write", "write", "custom-tool"]


def test_what_is_approved_for_the_session_is_asked_about_each_time(each_sdk):
    each_sdk.write(
        "asker",
        """
        import fs from "node:fs";
        await joinSession({
          onPermissionRequest: (request) => {
            fs.appendFileSync("asked", `${request.fullCommandText ?? request.path}\\n`);
            const approval = request.kind === "shell"
              ? { kind: "commands", commandIdentifiers: request.commands.map((each) => each.identifier) }
              : { kind: "read" };
            return { kind: "approve-for-session", approval };
          },
        });
        """,
    )
    outcome = each_sdk.results(
        bash("echo 1 > a"), bash("echo 1 > a"), ("read", {"path": "a"}), ("read", {"path": "a"})
    ).check(Status.OK)
    assert not any(result.is_error for result in outcome.of(ToolResult))
    asked = ["echo 1 > a", f"{each_sdk.zot.cwd}/a"]
    assert (each_sdk.zot.cwd / "asked").read_text().splitlines() == [each for each in asked for _ in range(2)]


def test_errors_of_tools(bench):
    def fail(**fields: Any) -> tuple[str, dict[str, Any]]:
        return "bench_throw", {"text": json.dumps(output(**fields))}

    outcome = bench.results(
        fail(errorHandling="retry", retryCount=2, userNotification="trying again"),
        fail(errorHandling="skip"),
        SEEN,
        fail(errorHandling="abort", userNotification="giving up"),
    ).check(Status.BLOCKED)
    errors = seen_in(outcome.tool_texts()[2], "onErrorOccurred")
    assert [each["errorContext"] for each in errors] == ["tool_execution"] * 4, "one call and two more, and one"
    assert "guard workbench ends the prompt" in outcome.result.reason
    said_of = [record.message for record in outcome.of(ExtNotify)]
    assert "trying again" in said_of
    assert "giving up" in said_of
    assert bench.server.unused == 1


def test_the_end_of_the_session(bench):
    answer = json.dumps(output(sessionSummary="all is well", cleanupActions=["one", "two"]))
    outcome = bench.run(text_reply(answer)).check(Status.OK)
    assert messages(outcome, "summary") == ["sums up the session: all is well"]
    assert [note.message for note in outcome.of(ExtNotify)] == ["the first idle", "cleanup: one", "cleanup: two"]
    log = (bench.zot.home / "logs" / "ext-workbench.log").read_text()
    assert "cleanup: one" in log


def test_several_extensions(bench):
    """The extensions are asked one after another: each sees the call as the one before it has changed it."""
    bench.write(
        "after-all",
        """await joinSession({ hooks: {
          onPreToolUse: ({ toolArgs }) => ({ modifiedArgs: { ...toolArgs, command: `${toolArgs.command} two` } }),
          onUserPromptSubmitted: ({ prompt }) => ({ modifiedPrompt: `${prompt} two`, additionalContext: "of two" }),
        } });""",
        priority=-1,
    )
    bench.results(
        bash("echo zero", **output(modifiedArgs={"command": "echo one"})),
        prompt=json.dumps(output(modifiedPrompt="one")),
    ).check(Status.OK)
    assert said(bench.asked())[0] == "one two"
    assert results_of(bench.asked())[0].startswith("$ echo one two\n")


@pytest.mark.parametrize("on_failure", ["allow", "deny"])
def test_a_hook_that_throws_is_no_verdict(place, on_failure):
    place.add("workbench", on_failure=on_failure)
    outcome = place.results(bash("echo it ran", throw="no such thing")).check(Status.OK)
    (told,) = results_of(place.asked())
    before, after = messages(outcome, "no_verdict")
    assert before.startswith("gave no verdict on tool_call: its hook onPreToolUse threw: no such thing; ")
    if on_failure == "deny":
        assert told.startswith("guard workbench gave no verdict (its hook onPostToolUseFailure threw: no such thing)")
        assert before.endswith("; denied")
    else:
        assert told.startswith("$ echo it ran")
        assert "on_failure" in before
    assert "tool_result" in after
    log = (place.zot.home / "logs" / "ext-workbench.log").read_text()
    assert "Error: no such thing" in log
    assert "at wanted (" in log, "the stack"


def test_outputs_of_wrong_types(place):
    place.add("wrong-outputs")
    wrong = [
        "a text", "an unknown decision", "args of another type", "a reason of another type", "an empty object",
        "a field that nobody knows",
    ]  # fmt: skip
    outcome = place.results(*[bash("echo it ran", wrong=kind) for kind in wrong]).check(Status.OK)
    told = results_of(place.asked())
    denied = wrong.index("a reason of another type")
    assert [text == kind for text, kind in zip(told, wrong, strict=True)] == [
        number != denied for number in range(len(wrong))
    ], "its other hook puts the kind in place of the result of a call that was made"
    said_of = "\n".join(messages(outcome, "no_verdict"))
    assert "its hook onPreToolUse returned a string, not an object" in said_of
    assert 'permissionDecision is "forbid", not allow, deny or ask' in said_of
    assert "modifiedArgs is a string, not an object" in said_of
    (warned,) = [text for text in messages(outcome, "warning") if "permisionDecision" in text]
    assert "known are additionalContext, modifiedArgs, permissionDecision, permissionDecisionReason" in warned


def test_a_guard_with_a_typo_does_not_fail_open(place):
    place.add("wrong-outputs", on_failure="deny")
    outcome = place.run(text_reply("Done.")).check(Status.BLOCKED)
    assert "modifiedPrompt is a number, not a string" in outcome.result.reason
    assert place.server.requests == []
