"""Input and output of extensions with the real SDK: the guide's promises that the SDK alone does not keep."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.copilot_host import SESSION, TIMESTAMP, VERSIONS, RefusedError

EACH_SDK = pytest.mark.parametrize("version", [pytest.param("oldest", marks=pytest.mark.slow), "newest"])
BOTH = pytest.mark.parametrize("version", VERSIONS)
HOOKS = {"userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure", "sessionStart", "sessionEnd"}


@EACH_SDK
def test_the_join_says_which_hooks_there_are_and_which_variables_are_missing(running, version):
    host = running("workbench", version)
    joined = host.joined()
    zot = joined["extensionInfo"]["zot"]
    assert (set(zot["hooks"]), zot["missing"]) == (HOOKS | {"errorOccurred"}, ["WORKBENCH_TOKEN"])
    assert (joined["hooks"], joined["requestPermission"], joined["requestUserInput"]) == (True, True, True)
    assert [command["name"] for command in joined["commands"]] == ["bench", "bench_fails"]
    free = next(tool for tool in joined["tools"] if tool["name"] == "bench_free")
    assert free["skipPermission"] is True
    # A hook's input has what the guide says, and what the SDK says.
    assert host.hook("preToolUse", toolName="bash", toolArgs={"output": {"permissionDecision": "deny"}}) == {
        "permissionDecision": "deny"
    }
    (seen,) = json.loads(host.call("bench_seen")["result"])
    assert seen["hook"] == "onPreToolUse"
    assert seen["invocation"] == {"sessionId": SESSION}
    assert seen["input"]["cwd"] == seen["input"]["workingDirectory"] == str(host.cwd)
    assert seen["input"]["timestamp"] == TIMESTAMP
    # A hook that throws is no hook without an opinion.
    assert host.hook("preToolUse", toolName="bash", toolArgs={"throw": "out of words"}) == {
        "zotHookError": "out of words"
    }
    assert "onPreToolUse threw: Error: out of words\n    at " in host.stderr
    assert (host.noise, host.end()) == (b"", 0)


@pytest.mark.slow
@BOTH
def test_a_variable_that_is_there_is_not_missing(running, version):
    host = running("workbench", version, env={"WORKBENCH_TOKEN": "secret"})
    assert host.joined()["extensionInfo"]["zot"]["missing"] == []
    assert host.call("bench_variable", {"name": "WORKBENCH_TOKEN"})["result"] == "secret"


@pytest.mark.slow
@BOTH
def test_prompts_logs_events_and_the_workspace(joined, version):
    host = joined("workbench", version)
    host.begin_call("bench_send_and_wait", {"prompt": "What is 2+2?"})
    assert host.awaited("session.send")["prompt"] == "What is 2+2?"
    host.tell("assistant.message", {"messageId": "m", "content": "4"})
    host.tell("session.idle", {})
    assert host.awaited("session.tools.handlePendingToolCall")["result"] == "4"
    assert host.awaited("session.log")["ephemeral"] is True
    assert "session.sendAndWait() inside the handler of tool bench_send_and_wait" in host.stderr
    host.begin_call("bench_send_later", {"prompt": "later"}, "later")
    host.awaited("session.send", prompt="later")
    host.tell("session.error", {"errorType": "model", "message": "it broke"})
    assert host.awaited("session.log", level="error")["message"] == "no answer: it broke"
    assert host.stderr.count("sendAndWait() inside") == 1, "that one waited after its call had ended"
    files = [{"type": "file", "path": "./a.py"}]
    assert host.call("bench_send", {"prompt": "review", "attachments": files}, "send")["result"] == "sent as message-1"
    assert host.awaited("session.send", prompt="review")["attachments"] == files
    inside = {"send": "from inside a hook", "output": {"additionalContext": "sent"}}
    assert host.hook("preToolUse", toolName="bash", toolArgs=inside) == {"additionalContext": "sent"}
    assert host.asked("session.send", prompt="from inside a hook")
    place = json.loads(host.call("bench_place", call_id="place")["result"])
    assert place == {"cwd": str(host.cwd), "workspace": "/workspace", "session": SESSION}
    assert json.loads(host.call("bench_heard", call_id="heard")["result"]).count("session.idle") == 1
    host.answers["session.model.getCurrent"] = lambda _: {"modelId": "a-model"}
    model = host.call("bench_rpc", {"method": "model.getCurrent"}, "rpc")["result"]
    assert json.loads(model)["modelId"] == "a-model"


@EACH_SDK
def test_handlers_that_fail(joined, version):
    host = joined("rejects", version)
    assert host.hook("preToolUse", toolName="edit", toolArgs={}) == {"zotHookError": "input.toolArgs.path is undefined"}
    assert host.hook("postToolUse") == {"zotHookError": "a text"}
    assert host.hook("userPromptSubmitted") == {"zotHookError": "undefined"}
    assert host.hook("sessionStart") == {"zotHookError": "onSessionStart is not a function"}
    assert host.hook("sessionEnd") is None, "there is none"
    assert host.call("throws", call_id="1")["error"] == "thrown"
    assert host.call("rejects", call_id="2")["error"] == "rejected"


@pytest.mark.slow
@BOTH
def test_an_output_that_json_cannot_hold_is_answered(joined, version):
    host = joined("wrong-outputs", version)
    answer = host.hook("preToolUse", toolName="bash", toolArgs={"wrong": "no JSON"})
    assert "BigInt" in answer["zotHookError"]
    assert host.hook("preToolUse", toolName="bash", toolArgs={"wrong": "a text"}) == "deny", "the host's to refuse"


@pytest.mark.slow
@BOTH
def test_the_guides_examples(joined, version):
    host = joined("guide-hooks", version)
    prompt = {"prompt": "loud words"}
    assert host.hook("userPromptSubmitted", **prompt) == {"modifiedPrompt": "WORDS"}
    assert host.hook("userPromptSubmitted", prompt="urgent!")["additionalContext"] == "Answer in bullet points."
    assert host.awaited("session.send")["prompt"] == "Please do this first."
    assert host.hook("preToolUse", toolName="bash", toolArgs={"command": "rm -rf /"})["permissionDecision"] == "deny"
    assert host.hook("preToolUse", toolName="bash", toolArgs={"command": "ls"}) == {
        "modifiedArgs": {"command": "ls 2>&1"}
    }
    shown = {"textResultForLlm": "the password is x", "resultType": "success"}
    hidden = host.hook("postToolUse", toolName="view", toolArgs={}, toolResult=shown)
    assert hidden == {"modifiedResult": {"textResultForLlm": "(withheld)", "resultType": "success"}}
    start = host.hook("sessionStart", source="startup")
    assert start == {"additionalContext": "Session startup, just now."}, "arithmetic with the timestamp"
    assert host.hook("sessionEnd", reason="complete")["sessionSummary"] == "ended: complete"
    error = {"error": "overloaded", "errorContext": "model_call", "recoverable": True}
    assert host.hook("errorOccurred", **error) == {"errorHandling": "retry", "retryCount": 2}

    tools = joined("guide-tools", version)
    assert tools.awaited("session.log")["message"] == "Extension ready"
    assert tools.call("guide_greet", {"who": "you"}, "1")["result"] == "Hello, you"
    assert tools.call("guide_run", {"command": "echo out; exit 3"}, "2")["result"].startswith("Error: ")
    assert tools.call("guide_throw", call_id="3")["error"] == "as the guide says"

    session = joined("guide-session", version)
    session.tell("tool.execution_complete", {"toolCallId": "1", "toolName": "bash", "success": True, "result": "ok"})
    assert session.awaited("session.log", level="warning")["message"].startswith('first tool: {"toolName":"bash"')
    session.tell("user.message", {"content": "review"})
    assert session.awaited("session.send")["attachments"] == [{"type": "file", "path": "./src/index.ts"}]


@pytest.mark.slow
@BOTH
def test_a_hook_that_is_asked_before_the_join_is_over(running, version):
    host = running("early-hook", version)
    question = {"sessionId": SESSION, "hookType": "preToolUse"}
    input_ = {"sessionId": SESSION, "timestamp": TIMESTAMP, "cwd": "/", "toolName": "bash", "toolArgs": {}}

    def resume(_params):
        host.write({"id": 77, "method": "hooks.invoke", "params": {**question, "input": input_}})
        return {"sessionId": SESSION, "capabilities": {}}

    host.answers["session.resume"] = resume
    host.joined()
    early = host.run_until(lambda: host.results.get(77))
    assert early["result"]["output"] == {"additionalContext": "before"}
    assert host.hook("preToolUse", toolName="bash", toolArgs={}) == {"additionalContext": "after"}


@pytest.mark.slow
@BOTH
def test_a_join_that_the_host_refuses_ends_the_process_with_the_reason(running, version):
    host = running("clash-second", version)

    def refuse(_params):
        raise RefusedError("tool 'the_same' is already that of clash-first")

    host.answers["session.resume"] = refuse
    assert host.exited() == 1
    assert "tool 'the_same' is already that of clash-first" in host.stderr


@pytest.mark.slow
@BOTH
def test_a_join_after_one_that_the_host_has_refused_says_why_there_is_none(running, version):
    host = running(
        version=version,
        text='import { joinSession } from "@github/copilot-sdk/extension";\n'
        "try { await joinSession({}); } catch { await joinSession({ tools: [] }); }\n",
    )

    def refuse(_params):
        raise RefusedError("the name is taken")

    host.answers["session.resume"] = refuse
    assert host.exited() == 1
    assert re.search("joinSession.. has failed before, and a process joins once: .*the name is taken", host.stderr)


# Work that handlers have begun

WORKS = """
import { promisify } from "node:util";
import { joinSession } from "@github/copilot-sdk/extension";
let end;
const session = await joinSession({ onEvent: () => undefined });
session.on("user.message", () => new Promise((done) => (end = done)));
session.on("assistant.message", () => end());
session.on("assistant.turn_start", () => {
  clearTimeout(setTimeout(() => session.log("cleared"), 20));
  setTimeout(() => session.log("long"), 60_000).unref();
  setTimeout(() => setTimeout((word) => session.log(word), 1001, "timers go on"), 5);
});
session.on("assistant.turn_end", () => promisify(setTimeout)(1).then(() => session.log("promisified")));
session.on("session.error", async () => { throw new Error("nobody takes it"); });
"""


@pytest.mark.slow
@BOTH
def test_the_host_is_told_of_work_that_handlers_of_events_have_begun(joined, version):
    host = joined(version=version, text=WORKS)

    def working():
        return [each["handlers"] for each in host.asked("zot.working")]

    host.tell("user.message", {"content": "go"})
    host.request("zot.ping", {})
    assert working() == [1]
    host.tell("user.message", {"content": "go"})
    host.tell("assistant.message", {"content": "done"})
    host.request("zot.ping", {})
    assert working() == [1], "one of two is not over"
    host.tell("assistant.turn_start", {"turnId": "0"})
    host.awaited("session.log", message="timers go on")
    assert host.asked("session.log", message="cleared") == []
    host.tell("assistant.turn_end", {"turnId": "0"})
    host.awaited("session.log", message="promisified")
    # As without zot, an unhandled rejection ends the process.
    host.tell("session.error", {"errorType": "query", "message": "x"})
    assert host.exited() == 1
    assert "Error: nobody takes it" in host.stderr


@pytest.mark.slow
@BOTH
def test_a_timer_that_is_cleared_is_told_as_over(joined, version):
    host = joined(version=version, text=WORKS)
    host.tell("assistant.turn_start", {"turnId": "0"})
    host.run_until(lambda: len(host.asked("zot.working")) == 2)
    assert [each["handlers"] for each in host.asked("zot.working")] == [1, 0]
    host.awaited("session.log", message="timers go on")
    assert (host.end(), host.stderr) == (0, "")
