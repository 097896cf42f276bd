"""Runs with Copilot extensions and the real SDK: what the extension hears, and what a reader of the stream sees."""

from __future__ import annotations

import json

import pytest

from tests.support.copilot_folders import copilot_extension
from tests.support.copilot_host import sdk
from tests.support.messages_server import MessagesServer, text_reply, tool_reply
from wire.events import ToolCall
from wire.exit_codes import Status

HEAD = """\
import { appendFileSync } from "node:fs";
import { joinSession } from "@github/copilot-sdk/extension";
const tell = (...what) => appendFileSync("heard", JSON.stringify(what) + "\\n");
"""


@pytest.fixture(params=[pytest.param("oldest", marks=pytest.mark.slow), "newest"])
def place(zot, request):
    """A `zot` whose home has the SDK."""
    modules = zot.home / "copilot-sdk" / "node_modules"
    modules.parent.mkdir(parents=True)
    modules.symlink_to(sdk(request.param).parents[1])
    return zot


def run(zot, program, *replies, prompt="go"):
    extension = copilot_extension(zot.folder, "listener", HEAD + program)
    with MessagesServer(*replies) as server:
        flags = ("--json", "--no-session", "--base-url", server.base_url, "--model", "m", "--ext", extension)
        ran = zot.run(*flags, prompt, env={"ANTHROPIC_API_KEY": "k"})
    heard = zot.cwd / "heard"
    return ran, [json.loads(line) for line in heard.read_text().splitlines()] if heard.exists() else []


def test_the_end_of_the_session_is_heard_by_who_was_asked_about_it_before(place):
    program = """\
const session = await joinSession({ hooks: { onSessionEnd: ({ reason }) => tell("asked", reason) } });
session.on("session.shutdown", ({ data }) => tell("told", data.shutdownType));
"""
    ran, heard = run(place, program, text_reply("Hi."))
    ran.check(Status.OK)
    assert heard == [["asked", "complete"], ["told", "routine"]]


def test_a_tool_is_called_with_the_id_that_events_give_the_call(place):
    program = """\
const handler = (_args, { toolCallId }) => tell("called", toolCallId);
const session = await joinSession({ tools: [{ name: "look", description: "Looks.", handler }] });
session.on("tool.execution_start", ({ data }) => tell("start", data.toolCallId));
session.on("tool.execution_complete", ({ data }) => tell("complete", data.toolCallId));
"""
    ran, heard = run(place, program, tool_reply([("look", {})]), text_reply("Seen."))
    (call,) = ran.check(Status.OK).of(ToolCall)
    assert heard == [["start", call.id], ["called", call.id], ["complete", call.id]]
