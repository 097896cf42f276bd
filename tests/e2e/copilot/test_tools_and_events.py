"""Tools with every kind of result, what the user is asked and told, and every event of the guide's table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.copilot_place import results_of
from tests.support.messages_server import http_error, text_reply, tool_reply
from wire.events import Extension, ExtNotify, ToolResult
from wire.exit_codes import Status

pytestmark = pytest.mark.slow


@pytest.fixture
def bench(each_sdk):
    each_sdk.add("workbench", env=["WORKBENCH_TOKEN"])
    return each_sdk


def result(kind: str) -> tuple[str, dict[str, Any]]:
    return "bench_result", {"kind": kind}


RESULTS = {
    "text": ("plain text", False),
    "empty": ("(extension returned no content)", False),
    "nothing": ("(extension returned no content)", False),
    "object": ('{"a":1,"b":[true,null]}', False),
    "number": ("42", False),
    "success": ("it went well", False),
    "failure": ("it did not", True),
    "rejected": ("the user has rejected it", True),
    "denied": ("not allowed", True),
    "timeout": ("too slow", True),
    "untyped": ("no resultType", False),
    "logged": ("see the log", False),
    "telemetry": ("measured", False),
    "picture": ("a pictureone pixel[image]", False),
}


def test_results_of_every_kind(bench):
    outcome = bench.results([result(kind) for kind in RESULTS]).check(Status.OK)
    told = dict(zip(RESULTS, results_of(bench.asked()), strict=True))
    failed = [each.is_error for each in outcome.of(ToolResult)]
    assert {kind: (text, is_error) for (kind, text), is_error in zip(told.items(), failed, strict=True)} == RESULTS
    (blocks,) = [
        block["content"]
        for message in bench.asked()
        for block in message["content"]
        if block["type"] == "tool_result" and "image" in {each["type"] for each in block["content"]}
    ]
    assert blocks[-1]["source"]["media_type"] == "image/png"
    assert "a line for the timeline" in (bench.zot.home / "logs" / "ext-workbench.log").read_text()


def test_questions_to_the_user_are_answered_by_the_extension(bench):
    outcome = bench.results(
        ("ask_user", {"question": "Which?", "choices": ["this", "that"]}), ("ask_user", {"question": "Why?"})
    ).check(Status.OK)
    assert "ask_user" in bench.offered[0]
    assert results_of(bench.asked()) == ["this", "no idea: Why?"]
    assert [each.extension for each in outcome.of(ToolResult)] == ["workbench", "workbench"]


def test_permissions(bench):
    (bench.zot.cwd / "forbidden.txt").write_text("x")
    outcome = bench.results(
        ("read", {"path": "forbidden.txt"}),
        ("write", {"path": "undecided.txt", "content": "x"}),
        ("bash", {"command": "echo broken"}),
        ("bench_free", {}),
        ("bench_seen", {}),
    ).check(Status.OK)
    read, written, ran, free, seen = outcome.tool_texts()
    assert read == "the bench forbids it"
    assert (bench.zot.cwd / "undecided.txt").read_text() == "x"
    assert written
    assert ran.startswith("$ echo broken"), "no verdict, and a failure means allow"
    assert free == "done"
    asked = [each["input"] for each in json.loads(seen) if each["hook"] == "onPermissionRequest"]
    assert [each["kind"] for each in asked] == ["read", "write", "shell", "custom-tool"], (
        "bench_free is not asked about"
    )
    assert asked[0]["path"] == f"{bench.zot.cwd}/forbidden.txt"
    assert (asked[1]["fileName"], asked[1]["newFileContents"]) == (f"{bench.zot.cwd}/undecided.txt", "x")
    assert asked[2]["fullCommandText"] == "echo broken"
    assert (asked[3]["toolName"], asked[3]["args"]) == ("bench_seen", {})
    (notice,) = [record.message for record in outcome.of(Extension) if record.event == "no_verdict"]
    assert "onPermissionRequest threw: the permission handler is broken" in notice


def test_the_environment(bench):
    """The extension has the variables that it requests and names in its manifest, and no other secret of the user."""
    env = {"WORKBENCH_TOKEN": "t0ken", "GITHUB_TOKEN": "ghp_1", "COLOUR": "red"}
    asked = [("bench_variable", {"name": name}) for name in (*env, "SESSION_ID")]
    outcome = bench.results([*asked, ("bench_place", {})], env=env).check(Status.OK)
    *values, place = outcome.tool_texts()
    session = outcome.result.session
    assert values == ["t0ken", "unset", "red", session]
    workspace = f"{bench.zot.home}/workspaces/{session}"
    assert json.loads(place) == {"cwd": str(bench.zot.cwd), "workspace": workspace, "session": session}
    assert [record for record in outcome.of(Extension) if "asks for environment variables" in record.message] == []


def test_the_timeline(bench):
    levels = [
        ("plain", {}),
        ("mind", {"level": "warning"}),
        ("bad", {"level": "error"}),
        ("passing", {"ephemeral": True}),
    ]
    outcome = bench.results(
        [("bench_log", {"message": message, "options": options}) for message, options in levels]
    ).check(Status.OK)
    assert outcome.tool_texts() == ["logged"] * 4
    notes = [(note.level, note.message) for note in outcome.of(ExtNotify)]
    assert notes[:4] == [("info", "plain"), ("warn", "mind"), ("error", "bad"), ("info", "passing")]
    assert "[workbench] warn: mind" in outcome.warnings
    assert "[workbench] info: passing" in outcome.warnings
    log = (bench.zot.home / "logs" / "ext-workbench.log").read_text()
    assert "mind" in log
    assert "passing" not in log, "it is shown, and not kept"


def events(place) -> dict[str, list[dict[str, Any]]]:
    """The data of the events that were told, by type."""
    told: dict[str, list[dict[str, Any]]] = {}
    for line in (place.zot.cwd / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        assert event["id"]
        assert event["timestamp"].endswith("Z")
        told.setdefault(event["type"], []).append(event["data"])
    return told


def test_every_event_of_the_table(each_sdk):
    place = each_sdk
    place.add("writes-events")
    place.results(("bash", {"command": "echo out"}), ("read", {"path": "missing.txt"})).check(Status.OK)
    told = events(place)
    (start,) = told["session.start"]
    used = [each["model"] for each in told["assistant.usage"]]
    assert used == [start["selectedModel"]] * 3
    assert (start["context"], told["assistant.usage"][0]["outputTokens"] > 0) == ({"cwd": str(place.zot.cwd)}, True)
    (prompt,) = told["user.message"]
    assert (prompt["content"], prompt["attachments"], prompt["source"]) == ("go", [], "user")
    answers = told["assistant.message"]
    assert [answer["content"] for answer in answers] == ["", "", "Done."]
    assert len({answer["messageId"] for answer in answers}) == 3
    calls = told["tool.execution_start"]
    assert [(call["toolName"], call["arguments"]) for call in calls] == [
        ("bash", {"command": "echo out"}), ("view", {"path": f"{place.zot.cwd}/missing.txt"}),
    ]  # fmt: skip
    ran, failed = told["tool.execution_complete"]
    assert [each["toolCallId"] for each in (ran, failed)] == [call["toolCallId"] for call in calls]
    assert (ran["toolName"], ran["success"]) == ("bash", True)
    assert ran["result"]["content"].startswith("$ echo out\n\nout")
    assert (failed["toolName"], failed["success"]) == ("view", False)
    assert "missing.txt" in failed["error"]["message"]
    assert "result" not in failed
    requests = told["permission.requested"]
    assert [each["permissionRequest"]["kind"] for each in requests] == ["shell", "read"]
    assert len({each["requestId"] for each in requests}) == 2
    (idle,) = told["session.idle"]
    assert idle["backgroundTasks"] == {"agents": [], "shells": []}
    (end,) = told["session.shutdown"]
    assert (end["shutdownType"], end["totalPremiumRequests"]) == ("routine", 0)
    assert "session.error" not in told


def test_the_events_of_a_run_that_fails(each_sdk):
    place = each_sdk
    place.add("writes-events")
    place.run(http_error(400, "out of order")).check(Status.ERROR)
    told = events(place)
    (error,) = told["session.error"]
    assert error["errorType"] == "query"
    assert "out of order" in error["message"]
    assert "out of order" in error["stack"]
    (end,) = told["session.shutdown"]
    assert end["shutdownType"] == "error"


def test_a_tool_is_offered_beside_those_of_the_agent(place):
    """`view` of an extension is not the built-in `read`, which extensions know as `view`."""
    place.write(
        "own",
        """await joinSession({ tools: [
      { name: "view", description: "Mine", handler: () => "mine" } ] });""",
    )
    place.server.add(tool_reply([("view", {})]), text_reply("Done."))
    outcome = place.run().check(Status.OK)
    assert outcome.tool_texts() == ["mine"]
