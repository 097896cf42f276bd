"""An extension and its session in a run of a model: prompts of its own, the workspace, the model, an end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.copilot_place import results_of, said
from tests.support.messages_server import text_reply, tool_reply
from wire.events import Extension, ExtNotify, Result, ToolResult, UserMessage
from wire.exit_codes import Status

DONE = text_reply("Done.")


@pytest.fixture
def bench(each_sdk):
    each_sdk.add("workbench")
    return each_sdk


def rpc(method: str, **params: Any) -> tuple[str, dict[str, Any]]:
    return "bench_rpc", {"method": method, "params": params}


def prompts(outcome) -> list[tuple[str, object]]:
    """Texts and senders; None for the user's."""
    return [(record.content[0].text, record.extension or None) for record in outcome.of(UserMessage)]


def notes(outcome) -> list[str]:
    return [record.message for record in outcome.of(ExtNotify)]


@pytest.mark.parametrize("where", ["prompt", "tool"])
def test_a_prompt_that_is_sent_from_inside_a_hook(place, where):
    """The prompt is taken at once and carried out later: hook and prompt do not wait for each other."""
    place.add("workbench")
    send = {"send": "and then this"}
    if where == "prompt":
        outcome = place.run(DONE, text_reply("Then."), prompt=json.dumps(send))
    else:
        outcome = place.run(tool_reply([("bench_free", send)]), DONE, text_reply("Then."))
    outcome.check(Status.OK, user_messages=3)
    assert outcome.result.text == "Done."
    sent = [(each.extension, each.status, each.text) for each in outcome.result.sent]
    assert sent[0] == ("workbench", "ok", "Then.")
    assert said(place.asked())[-1] == "and then this"


@pytest.mark.slow
def test_prompts_that_are_sent_come_before_the_result(bench):
    outcome = bench.run(
        tool_reply([("bench_send", {"prompt": "first"}), ("bench_send", {"prompt": "second"})]),
        DONE, text_reply("One."), text_reply("Two."),
    ).check(Status.OK, user_messages=3)  # fmt: skip
    assert prompts(outcome)[1:] == [("first", "workbench"), ("second", "workbench")]
    assert all(text.startswith("sent as ") for text in outcome.tool_texts())
    assert (outcome.result.text, [each.text for each in outcome.result.sent]) == ("Done.", ["One.", "Two."])
    kinds = [type(record) for record in outcome.records]
    assert kinds.index(Result) == len(kinds) - 2
    assert [line for line in outcome.warnings if "sends prompt" in line] == [
        "zot: extension workbench sends prompt 1 of 10: first", "zot: extension workbench sends prompt 2 of 10: second",
    ]  # fmt: skip


@pytest.mark.slow
def test_an_answer_that_an_extension_waits_for(bench):
    """`sendAndWait` outside of any handler; the second prompt is its own."""
    outcome = bench.run(
        tool_reply([("bench_send_later", {"prompt": "what is 2+2?"})]), DONE, text_reply("It is 4.")
    ).check(Status.OK, user_messages=2)
    assert prompts(outcome)[1] == ("what is 2+2?", "workbench")
    assert "answer: It is 4." in notes(outcome)


IDLE = """
import {{ setTimeout as unknownTimeout }} from "node:timers";
const session = await joinSession();
let left = 2;
session.on("session.idle", {handler});
"""
AWAITS = """async () => {
  if (left-- <= 0) return;
  await new Promise((done) => unknownTimeout(done, 1300));
  await session.send({ prompt: `prompt ${left}` });
}"""
SETS_TIMER = "() => { if (left-- > 0) setTimeout(() => session.send({ prompt: `prompt ${left}` }), 300); }"


@pytest.mark.slow
@pytest.mark.parametrize("handler", [AWAITS, SETS_TIMER])
def test_what_a_handler_of_an_event_sends_after_it_has_waited_is_not_lost(each_sdk, handler):
    each_sdk.write("later", IDLE.format(handler=handler))
    outcome = each_sdk.run(DONE, text_reply("One."), text_reply("Two.")).check(Status.OK, user_messages=3)
    assert prompts(outcome)[1:] == [("prompt 1", "later"), ("prompt 0", "later")]


@pytest.mark.slow
def test_what_is_sent_when_the_run_is_over_is_lost_and_both_read_so(each_sdk):
    """Its wait is unknown to the host: here it waits for the end of the run itself."""
    handler = """() => process.stdin.once("close", () => setImmediate(
      () => session.send({ prompt: "lost" }).catch((error) => console.error(`refused: ${error.message}`))))"""
    each_sdk.write("later", IDLE.format(handler=handler))
    outcome = each_sdk.run(DONE).check(Status.OK)
    assert outcome.warnings == ["zot: extension later: a prompt that it sends came after the end, and is lost"]
    log = (each_sdk.zot.home / "logs" / "ext-later.log").read_text()
    assert "refused: session.send: the run has ended: it takes no more prompts" in log


@pytest.mark.slow
def test_what_is_sent_as_the_run_ends_is_refused_and_the_user_reads_so(each_sdk):
    each_sdk.write(
        "late",
        """
        const session = await joinSession({ hooks: { onSessionEnd: () => new Promise((done) => {
          session.send({ prompt: "too late" }).catch((error) => {
            console.error(`refused: ${error.message}`);
            done();
          });
        }) } });
        """,
    )
    outcome = each_sdk.run(DONE).check(Status.OK)
    why = "the run is ending: it takes no more prompts"
    assert [each.message for each in outcome.of(Extension) if each.event == "warning"] == [
        f"a prompt that it sends is refused: {why}"
    ]
    assert f"refused: session.send: {why}" in (each_sdk.zot.home / "logs" / "ext-late.log").read_text()


@pytest.mark.slow
def test_waiting_for_the_agent_inside_a_call_runs_out_of_time(bench):
    """The agent waits for the tool, and the tool for the agent: the SDK's own time ends that, or the host's."""
    outcome = bench.run(
        tool_reply([("bench_send_and_wait", {"prompt": "never", "timeout": 700})]), DONE, text_reply("After all.")
    ).check(Status.OK, user_messages=2)
    (told,) = outcome.tool_texts()
    assert "700ms" in told
    assert [each.text for each in outcome.result.sent] == ["After all."]
    log = (bench.zot.home / "logs" / "ext-workbench.log").read_text()
    assert "session.sendAndWait() inside the handler of tool bench_send_and_wait" in log


@pytest.mark.slow
def test_files_that_go_with_a_prompt(bench):
    """Each is read as the tool `read` does it, and judged by guards; what is not read says why."""
    (bench.zot.cwd / "fine.txt").write_text("it is fine\n")
    (bench.zot.cwd / "forbidden.txt").write_text("nobody reads this\n")
    files = ["fine.txt", "forbidden.txt", "missing.txt"]
    given = {"prompt": "look", "attachments": [{"type": "file", "path": path} for path in files]}
    outcome = bench.run(tool_reply([("bench_send", given)]), DONE, text_reply("Seen.")).check(
        Status.OK, user_messages=2
    )
    told = "\n".join(said(bench.asked()))
    assert "it is fine" in told
    assert "nobody reads this" not in told
    assert "the bench forbids it" in told
    assert "missing.txt" in told
    assert outcome.result.sent[0].text == "Seen."


@pytest.mark.slow
def test_rpc(bench):
    workspace = lambda outcome: bench.zot.home / "workspaces" / outcome.result.session  # noqa: E731
    calls = [
        rpc("model.getCurrent"), rpc("model.list"), rpc("name.get"), rpc("name.set", name="a name"), rpc("name.get"),
        rpc("plan.read"), rpc("plan.update", content="1. begin"), rpc("plan.read"),
        rpc("workspaces.createFile", path="a/b.txt", content="b"), rpc("workspaces.listFiles"),
        rpc("workspaces.readFile", path="a/b.txt"), rpc("workspaces.readFile", path="../plan.md"),
        rpc("workspaces.getWorkspace"), rpc("usage.getMetrics"), rpc("tools.getCurrentMetadata"),
        rpc("extensions.list"), rpc("extensions.reload"), rpc("mode.get"), rpc("plan.delete"), rpc("plan.read"),
    ]  # fmt: skip
    outcome = bench.results(*calls).check(Status.OK)
    told = [json.loads(text) if text.startswith(("{", "[", '"')) else text for text in outcome.tool_texts()]
    (current, models, unnamed, renamed, named, no_plan, updated, plan, created, files, read, outside, place, usage,
     tools, extensions, reload, mode, deleted, gone) = told  # fmt: skip
    assert current["modelId"] == outcome.records[0].model
    assert current["modelId"] in {model["id"] for model in models["list"]}
    assert (unnamed["name"], named["name"]) == (None, "a name")
    assert (no_plan["exists"], no_plan["content"]) == (False, None)
    assert plan == {"exists": True, "content": "1. begin", "path": str(workspace(outcome) / "plan.md")}
    assert files == {"files": ["a/b.txt"]}
    assert read == {"content": "b"}
    assert outside.startswith("refused: ")
    assert "must lead to a file" in outside
    assert (place["path"], place["workspace"]["cwd"]) == (str(workspace(outcome)), str(bench.zot.cwd))
    assert place["workspace"]["git_root"] == str(bench.zot.cwd)
    assert usage["totalUserRequests"] == 1
    assert usage["modelMetrics"][current["modelId"]]["requests"]["count"] == 14
    names = {tool["name"] for tool in tools["tools"]}
    assert {"bash", "view", "create", "edit", "bench_rpc", "ask_user"} <= names
    (bench_itself,) = extensions["extensions"]
    assert (bench_itself["name"], bench_itself["source"], bench_itself["status"]) == ("workbench", "project", "running")
    assert "--copilot" in reload
    assert "session.mode.get" in mode or "this SDK has no" in mode
    assert gone["exists"] is False
    assert (workspace(outcome) / "files" / "a" / "b.txt").read_text() == "b"
    del renamed, updated, created, deleted


@pytest.mark.slow
def test_the_model_is_switched(bench):
    outcome = bench.results(rpc("model.switchTo", modelId="claude-haiku-4-5"), rpc("model.getCurrent")).check(Status.OK)
    assert json.loads(outcome.tool_texts()[1])["modelId"] == "claude-haiku-4-5"
    models = [request.body["model"] for request in bench.server.requests]
    assert models[0] != models[1]
    assert models[1:] == ["claude-haiku-4-5"] * 2
    assert [each for each in outcome.of(Extension) if "it has switched the model from" in each.message]


@pytest.mark.slow
def test_an_extension_ends_the_prompt(bench):
    outcome = bench.results(("bench_abort", {}), ("bench_free", {}))
    assert outcome.result.status == Status.INTERRUPTED.value
    assert "extension workbench has aborted it" in outcome.result.reason
    assert (outcome.leftovers, len(bench.server.requests)) == ([], 1)


@pytest.mark.slow
def test_commands(bench):
    outcome = bench.run(prompt="/bench all of it")
    assert (outcome.status, outcome.leftovers) == (0, [])
    assert "bench: all of it" in notes(outcome)
    assert bench.server.requests == []
    failed = bench.run(prompt="/bench_fails")
    assert failed.status == Status.ERROR.exit_code
    assert "the command has failed" in failed.stderr


LEAVES = """const session = await joinSession({ tools: [
  { name: "leave", description: "Leaves", handler: () => {
    setTimeout(() => session.disconnect(), 0);
    return "left";
  } },
] });"""


@pytest.mark.slow
def test_one_that_leaves_the_session_has_no_tools_any_more(each_sdk):
    each_sdk.write("leaves", LEAVES)
    outcome = each_sdk.results(("leave", {}), ("bash", {"command": "sleep 0.5"}), ("leave", {})).check(Status.OK)
    assert outcome.tool_texts()[0] == "left"
    assert outcome.of(ToolResult)[2].is_error, "at once"
    assert "leave" in each_sdk.offered[0]
    assert "leave" not in each_sdk.offered[2]


SAYS = """const session = await joinSession({ tools: [{
  name: "say", description: "Says", parameters: { type: "object", properties: { text: { type: "string" } } },
  handler: async ({ text }) => {
    await session.log(`${text} \\u001b[31mred\\u001b[0m`);
    const kept = await session.getEvents();
    const refused = [];
    for (const wrong of [{ prompt: "" }, { prompt: "x".repeat(3 << 20) },
                         { prompt: "x", attachments: [{ type: "directory", path: "." }] }]) {
      await session.send(wrong).catch((error) => refused.push(error.message));
    }
    await session.setModel("claude-haiku-4-5");
    return JSON.stringify({ text, refused, kept: kept.map((event) => event.type), ui: session.capabilities.ui });
  },
}] });"""


@pytest.mark.slow
def test_other_methods_of_the_session(each_sdk):
    each_sdk.write("says", SAYS)
    outcome = each_sdk.results(("say", {"text": "ü🎉\u2028"})).check(Status.OK)
    told = json.loads(outcome.tool_texts()[0])
    assert told["text"] == "ü🎉\u2028"
    assert told["ui"] == {"elicitation": False}
    assert told["kept"][:3] == ["session.start", "user.message", "assistant.turn_start"]
    empty, huge, folder = told["refused"]
    assert "prompt: it is empty" in empty
    assert "is over the limit of 1048576 bytes" in huge
    assert "attachments[0].type: 'directory' is not supported here, only 'file' is" in folder
    assert notes(outcome) == ["ü🎉\u2028 \x1b[31mred\x1b[0m"]
    assert "\x1b" not in outcome.stderr
    assert each_sdk.server.requests[-1].body["model"] == "claude-haiku-4-5"


@pytest.mark.slow
def test_a_hook_that_waits_for_the_agent(place):
    """The guide warns of this: the agent waits for the hook until its deadline, and then goes on."""
    place.write(
        "waits",
        """const session = await joinSession({ hooks: {
          onPreToolUse: async () => { await session.sendAndWait({ prompt: "meanwhile" }, 60_000); } } });""",
        timeouts={"intercept": 1.0},
    )
    outcome = place.run(tool_reply([("bash", {"command": "echo ran"})]), DONE, text_reply("Meanwhile.")).check(
        Status.OK, user_messages=2
    )
    assert outcome.tool_texts()[0].startswith("$ echo ran")
    assert [each.text for each in outcome.result.sent] == ["Meanwhile."]
    log = (place.zot.home / "logs" / "ext-waits.log").read_text()
    assert "session.sendAndWait() inside the handler onPreToolUse" in log


@pytest.mark.slow
def test_a_kept_workspace(bench):
    """Of a session that is kept it stays, and the session that goes on has it."""
    first = bench.results(rpc("plan.update", content="go on")).check(Status.OK)
    second = bench.results(rpc("plan.read"), ("bench_seen", {}), flags=("--continue",)).check(Status.OK)
    assert second.result.session == first.result.session
    assert json.loads(second.tool_texts()[0])["content"] == "go on"
    starts = [each["input"] for each in json.loads(second.tool_texts()[1]) if each["hook"] == "onSessionStart"]
    assert [each["source"] for each in starts] == ["resume"]
    assert results_of(bench.asked())
