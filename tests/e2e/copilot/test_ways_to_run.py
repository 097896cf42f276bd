"""Copilot extensions beyond a single run: in the rpc server, a batch, a host, an MCP server, a program."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.batch_command import BatchCommand
from tests.support.copilot_place import results_of, said
from tests.support.host_process import hosting
from tests.support.mcp_served_client import McpClient
from tests.support.messages_server import text_reply, tool_reply
from tests.support.rpc_client import RpcClient
from wire.exit_codes import Status

pytestmark = pytest.mark.slow
PLACE = ("bench_place", {})


def serve(place, *flags):
    return place.zot.start("rpc", *place.flags("--api-key", "k", *flags), stdin=subprocess.PIPE)


def texts(records) -> list[str]:
    """Of the tool results among the records of a prompt."""
    return ["".join(part["text"] for part in each["content"]) for each in records if each["type"] == "tool_result"]


def end(running, client):
    running.process.stdin.close()
    client.rest()
    outcome = running.finish()
    assert (outcome.status, outcome.leftovers) == (0, [])


def test_clear_reloads_them_with_the_same_session_id(each_sdk):
    place = each_sdk
    place.add("workbench")
    with serve(place) as running:
        client = RpcClient.of(running)
        place.server.add(tool_reply([PLACE]), text_reply("One."))
        before = json.loads(texts(client.prompt("one"))[0])
        assert client.ask("clear")["success"]
        place.server.add(tool_reply([PLACE, ("bench_seen", {})]), text_reply("Two."))
        where, seen = texts(client.prompt("two"))
        asked = [(each["hook"], each["input"]) for each in json.loads(seen)]
        starts = [given["source"] for hook, given in asked if hook == "onSessionStart"]
        prompts = [given["prompt"] for hook, given in asked if hook == "onUserPromptSubmitted"]
        assert json.loads(where)["session"] == before["session"]
        assert (prompts, starts) == (["two"], ["new"]), "its memory is gone: it is another process"
        assert said(place.asked())[0] == "two"
        end(running, client)


def test_a_client_that_leaves(each_sdk):
    each_sdk.write(
        "tells",
        """import { writeFileSync } from "node:fs";
        await joinSession({ hooks: { onSessionEnd: ({ reason }) => writeFileSync("told.txt", reason) } });""",
    )
    with serve(each_sdk) as running:
        client = RpcClient.of(running)
        each_sdk.server.add(text_reply("One."))
        client.prompt("one")
        end(running, client)
    assert (each_sdk.zot.cwd / "told.txt").read_text() == "user_exit"


def test_commands_and_prompts_of_an_extension_in_rpc(each_sdk):
    place = each_sdk
    place.add("workbench")
    with serve(place) as running:
        client = RpcClient.of(running)
        assert client.ask("hello", sent_prompts=True)["success"]
        place.server.add(tool_reply([("bench_send", {"prompt": "and this"})]), text_reply("Mine."), text_reply("Its."))
        client.prompt("go")
        sent = client.until("user_message", extension="workbench")
        assert sent["content"][0]["text"] == "and this"
        done = client.until("done")
        assert done["prompt"] == sent["prompt"]
        assert client.ask("run_command", name="bench", args="it")["success"]
        commands = {each["name"] for each in client.ask("list_commands")["data"]["commands"]}
        assert {"bench", "bench_fails"} <= commands
        assert [line for line in client.lines if line["type"] == "ext_notify" and line["message"] == "bench: it"]
        failed = client.ask("run_command", name="bench_fails", args="")
        assert "the command has failed" in json.dumps(failed)
        end(running, client)


TOOL = """
await joinSession({ tools: [{ name: "%s", description: "New", handler: () => "from %s" }] });
"""


def test_a_tool_is_usable_in_the_prompt_in_which_its_extension_was_written(each_sdk):
    """Once a person has trusted it: until then the model is told what is missing."""
    place = each_sdk
    path = place.extensions / "made" / "extension.mjs"
    program = f'import {{ joinSession }} from "@github/copilot-sdk/extension";{TOOL % ("made_tool", "it")}'
    trusted = []

    def trust(request):
        """The person acts while the model waits."""
        if not trusted:
            trusted.append(place.zot.run("ext", "trust", "made", "--yes"))
            return tool_reply([("extensions_reload", {})])
        if len(results_of(request.body["messages"])) == 4:
            return tool_reply([("made_tool", {}), ("extensions_manage", {"operation": "inspect", "name": "made"})])
        return text_reply("Done.")

    place.server.otherwise = trust
    outcome = place.run(
        tool_reply([("extensions_manage", {"operation": "scaffold", "name": "made"})]),
        tool_reply([("write", {"path": str(path), "content": program}), ("extensions_reload", {})]),
        flags=("--copilot",),
    ).check(Status.OK)
    assert trusted[0].status == 0
    _, _, refused, reloaded, answer, inspected = outcome.tool_texts()
    assert "zot ext trust made" in refused
    assert "made_tool" not in place.offered[2]
    assert "new tools: made_tool" in reloaded
    assert "made_tool" in place.offered[3]
    assert answer == "from it"
    assert "state: running" in inspected


def test_tasks_of_a_batch_have_processes_of_their_own(place):
    place.add("workbench")
    place.add("guide-hooks")
    batch = BatchCommand(place.zot, place.server)
    batch.extensions = ["--trust-project"]
    ids = [f"t{number}" for number in range(4)]
    sessions = set()

    def model(request):
        messages = request.body["messages"]
        done = results_of(messages)
        if not done:
            return tool_reply([PLACE, ("bash", {"command": "rm -rf x"})])
        sessions.add(json.loads(done[0])["session"])
        assert done[1].startswith("Destructive commands are not allowed.")
        return text_reply(f"answer to {'more' if 'more' in said(messages) else said(messages)[0]}")

    place.server.otherwise = model
    tasks = {name: f"task {name}" for name in ids}
    batch.tasks({**tasks, "t0": json.dumps({"send": "more"})})
    found = batch.run("-j", "2", "-q")
    assert (found.status, found.leftovers) == (0, [])
    results = batch.results()
    assert {name: results[name]["text"] for name in ids[1:]} == {name: f"answer to task {name}" for name in ids[1:]}
    sent = results["t0"]["sent"][0]
    assert (sent["extension"], sent["text"]) == ("workbench", "answer to more")
    assert not [name for name in ids[1:] if "sent" in results[name]]
    assert len(sessions) == len(ids)


def test_a_host_and_calls_from_outside(each_sdk):
    place = each_sdk
    folders = [place.add("workbench"), place.add("ignores-sigterm"), place.add("throws-at-top")]
    assert place.zot.run("ext", "trust", "--project", "--yes").status == 0
    with hosting(place.zot) as host:
        assert {name: stats.state for name, stats in host.stats().items()}["workbench"] == "ready"
        called = place.zot.run("ext", "call", "workbench", "bench_echo", '{"text": "from outside"}')
        assert (called.status, called.text.strip()) == (0, "from outside")
        refused = place.zot.run("ext", "call", "workbench", "bench_send", '{"prompt": "x"}')
        assert refused.status != 0
        assert "no agent" in refused.stderr + refused.text
        status = place.zot.run("ext", "status", "workbench")
        assert status.text.startswith("workbench: ready for ")
        (listed,) = [each for each in place.zot.run("ps", "--json").json_lines if each["pid"] == host.pid]
        assert listed["kind"] == "host"
    assert folders


def test_a_tool_and_a_guard_that_are_served_to_another_agent(each_sdk):
    place = each_sdk
    tools, guard = (
        place.add("guide-tools"),
        place.write(
            "guard",
            """await joinSession({ hooks: {
          onPreToolUse: ({ toolArgs }) => toolArgs.who === "Eve"
            ? { permissionDecision: "deny", permissionDecisionReason: "not her" } : undefined,
          onPostToolUse: ({ toolResult }) => ({
            modifiedResult: { ...toolResult, textResultForLlm: toolResult.textResultForLlm.toUpperCase() } }),
        } });""",
        ),
    )
    with McpClient(place.zot, "--no-ext", "-e", tools, "-e", guard) as client:
        assert "guide_greet" in client.tools()
        assert client.call("guide_greet", who="Ada") == ("HELLO, ADA", False)
        text, is_error = client.call("guide_greet", who="Eve")
        assert is_error
        assert "refused by the guard guard: not her" in text
        outcome = client.finish()
    assert (outcome.status, outcome.leftovers) == (0, [])


PROGRAM = """
import json, sys
from pyzot import Runtime
with Runtime(base_url=sys.argv[1], api_key="k", trust_project=True) as zot:
    result = zot.run("go")
    print(json.dumps([result.text, result.status, sorted(result.extensions)]))
"""


def test_a_program_that_embeds_the_agent(each_sdk):
    place = each_sdk
    place.add("guide-tools")
    place.add("guide-hooks")
    place.server.add(tool_reply([("guide_greet", {"who": "Ada"})]), text_reply("Done."))
    outcome = place.zot.run(command=[sys.executable, "-c", PROGRAM, place.server.base_url], cold=True)
    assert (outcome.status, outcome.leftovers) == (0, []), outcome.stderr
    assert json.loads(outcome.text) == ["Done.", "ok", ["guide-hooks", "guide-tools"]]
    assert results_of(place.asked()) == ["Hello, Ada"]
    assert "Answer in bullet points." in said(place.asked())


def test_extensions_of_the_user(each_sdk):
    """Of `$COPILOT_HOME/extensions` and `$ZOT_HOME/copilot-extensions`, each once it is trusted; those of the project
    have priority."""
    place = each_sdk
    copilot, own = place.zot.folder / "copilot" / "extensions", place.zot.home / "copilot-extensions"
    place.add("guide-tools", parent=copilot)
    place.add("guide-hooks", parent=own)
    place.add("guide-session", parent=copilot)
    place.write("guide-session", TOOL % ("of_project", "the project"))
    first = place.results(("of_project", {})).check(Status.OK)
    assert first.tool_texts() == ["from the project"]
    assert sorted(first.result.extensions) == ["guide-session"]
    for name in ("guide-tools", "guide-hooks"):
        assert place.zot.run("ext", "trust", name, "--yes").status == 0
    second = place.results(("guide_greet", {"who": "Ada"})).check(Status.OK)
    assert second.tool_texts() == ["Hello, Ada"]
    assert sorted(second.result.extensions) == ["guide-hooks", "guide-session", "guide-tools"]
    listed = {each["name"]: each for each in place.zot.run("ext", "list", "--json").json_lines}
    assert {listed[name]["scope"] for name in ("guide-tools", "guide-hooks")} == {"global"}
