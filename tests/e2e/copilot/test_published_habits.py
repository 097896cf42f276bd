"""Habits of published extensions that no guide tells of: each is written here anew, and runs in a run."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.support.messages_server import http_error, text_reply
from tests.support.rpc_client import RpcClient
from wire.events import ExtNotify
from wire.exit_codes import Status

LISTENS_LATE = """
const told = [];
const session = await joinSession({
  tools: [{ name: "told", handler: () => JSON.stringify(told) }],
  hooks: { onUserPromptSubmitted: () => void told.push(`hook of ${session.sessionId}`) },
});
await session.log("loading");
await new Promise((resolve) => setTimeout(resolve, 200));
session.on((event) => void told.push(event.type));
"""


def test_one_that_prepares_itself_after_it_has_joined_misses_nothing(place):
    """Its first lines behind `joinSession` take a while, and only the last one listens."""
    place.write("late", LISTENS_LATE)
    outcome = place.results(("told", {})).check(Status.OK)
    first, *rest = json.loads(outcome.tool_texts()[0])
    assert first == f"hook of {outcome.result.session}"
    assert "user.message" in rest


ASKS = """
const session = await joinSession({ commands: [{ name: "ask", handler: async ({ args }) => {
  for (const prompt of [args, "and then?"]) {
    try {
      await session.log("heard " + (await session.sendAndWait(prompt, 20_000)).data.content);
    } catch (error) {
      await session.log("not heard: " + error.message.split("\\n")[0]);
    }
  }
} }] });
"""


def test_a_command_that_waits_for_what_the_model_says(place):
    """As one does that lets the model suggest a commit message."""
    place.write("asks", ASKS)
    outcome = place.run(text_reply("First."), text_reply("Second."), prompt="/ask the model")
    outcome.check(Status.OK, user_messages=2)
    assert [note.message for note in outcome.of(ExtNotify)] == ["heard First.", "heard Second."]
    assert [(sent.text, sent.status) for sent in outcome.result.sent] == [("First.", "ok"), ("Second.", "ok")]
    assert (outcome.result.text, outcome.result.steps) == ("First.", 2)


@pytest.mark.slow
def test_a_command_of_a_client_that_waits_for_what_the_model_says(place):
    """A command of `zot rpc` is no prompt: those that it sends run beside it."""
    place.write("asks", ASKS)
    place.server.add(text_reply("Hello."), text_reply("First."), text_reply("Second."))
    with place.zot.start("rpc", *place.flags("--api-key", "k"), stdin=subprocess.PIPE) as running:
        client = RpcClient.of(running)
        client.prompt("wait for its start")
        assert client.ask("run_command", name="ask", args="the model")["success"]
        notes = [each["message"] for each in client.lines if each["type"] == "ext_notify"]
        assert notes == ["heard First.", "heard Second."]
        running.process.stdin.close()
        client.rest()
        assert running.finish().status == 0


@pytest.mark.slow
def test_a_command_whose_question_fails(place):
    place.write("asks", ASKS)
    outcome = place.run(http_error(400, "out of order"), prompt="/ask the model")
    outcome.check(Status.ERROR)
    first, second = [note.message for note in outcome.of(ExtNotify)]
    assert "out of order" in first
    assert second.startswith("not heard: ")


LOGS_ANYTHING = """
const session = await joinSession({ tools: [{ name: "logs", handler: async () => {
  await session.log({ files: 2 });
  await session.log(undefined);
  await session.log(new Error("broken"));
  await session.log("late", "warning");
  await session.log("odd", { level: 5, ephemeral: "yes" });
  await session.log("none", null);
  session.log(42);
} }] });
"""


@pytest.mark.slow
def test_one_that_logs_what_is_no_text(each_sdk):
    """A log that is refused and not waited for would end its process."""
    each_sdk.write("logs", LOGS_ANYTHING)
    outcome = each_sdk.results(("logs", {}), ("logs", {})).check(Status.OK)
    said = [note.message for note in outcome.of(ExtNotify)]
    assert said == ['{"files":2}', "{}", "late", "odd", "none", "42"] * 2


@pytest.mark.slow
def test_one_whose_module_never_ends_is_started_nevertheless(each_sdk):
    each_sdk.write(
        "endless",
        'await joinSession({ tools: [{ name: "here", handler: () => "yes" }] });\nawait new Promise(() => {});',
    )
    assert each_sdk.results(("here", {})).check(Status.OK).tool_texts() == ["yes"]


@pytest.mark.slow
def test_one_that_does_not_wait_for_its_join(each_sdk):
    """Its handler is there before the run begins."""
    each_sdk.write(
        "careless", "joinSession().then((session) => session.on('user.message', () => session.log('heard')));"
    )
    outcome = each_sdk.run(text_reply("Done.")).check(Status.OK)
    assert [note.message for note in outcome.of(ExtNotify)] == ["heard"]


STAYS_INSIDE = """
const inside = (path) => path.startsWith(process.cwd() + "/") && !path.startsWith(`${process.cwd()}/.git/`);
await joinSession({ hooks: { onPreToolUse: ({ toolName, toolArgs }) => {
  if (!["view", "create", "edit"].includes(toolName) || inside(toolArgs.path)) return { modifiedArgs: toolArgs };
  return { permissionDecision: "deny", permissionDecisionReason: `not yours: ${toolArgs.path}` };
} } });
"""


def test_a_guard_that_tests_how_an_absolute_path_begins(place):
    """The model writes paths as it likes, and reads of the file under the name that it wrote."""
    place.write("inside", STAYS_INSIDE)
    cwd = place.zot.cwd
    paths = ["a", "./x/../a", "../b", f"{cwd}/../b", ".git/config", f"{cwd}/x/..//.git/config", "./bytes"]
    (cwd / "a").write_text("here\n")
    (cwd / "bytes").write_bytes(b"\0")
    (cwd.parent / "b").write_text("secret\n")
    outcome = place.results(*(("read", {"path": path}) for path in paths)).check(Status.OK)
    other, config = f"not yours: {cwd.parent}/b", f"not yours: {cwd}/.git/config"
    *told, of_bytes = outcome.tool_texts()
    assert told == ["here\n", "here\n", other, other, config, config]
    assert of_bytes.startswith("./bytes looks binary"), "not the path that the guard was told, and gave back"


APPENDS = """
const session = await joinSession({
  systemMessage: { mode: "append", content: "Money is in cents.\\n- Never round." },
  tools: [{ name: "leave", handler: async () => { await session.disconnect(); } }],
});
"""
REPLACES = """
await joinSession({ systemMessage: { mode: MODE, content: "Round.", sections: { tone: { action: "remove" } } } });
"""


def test_what_an_extension_appends_to_the_system_prompt(each_sdk):
    """The text follows the whole system prompt except the date and the folder, under the extension's name, and
    replaces no part of it."""
    each_sdk.write("cents", APPENDS)
    each_sdk.write("rounds", REPLACES.replace("MODE", '"replace"'))
    each_sdk.write("sections", REPLACES.replace("MODE", '"customize"'))
    each_sdk.results(("bash", {"command": "true"}), ("leave", {})).check(Status.OK)
    assert "Round." not in str(each_sdk.server.requests[0].body)
    first, second, third = [request.body["system"][0]["text"] for request in each_sdk.server.requests]
    before, appended = first.split("\n\nThe extension cents says of its tools:\n")
    assert appended == "Money is in cents.\n- Never round.\n"
    assert first == second, "so that the prompt cache holds"
    assert third == before, "it has left the session"
    for name, mode in (("rounds", "replace"), ("sections", "customize")):
        log = (each_sdk.zot.home / "logs" / f"ext-{name}.log").read_text()
        assert f'its systemMessage has the mode "{mode}", which has no effect here; "append" has' in log
