"""`--otel` as its users have it: programs whose spans arrive at a collector on loopback."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import folder
from tests.support.extension_scripts import PATIENT
from tests.support.messages_server import hold_first_byte, text_reply, tool_reply
from tests.support.otlp_receiver import OtlpReceiver
from tests.support.replay_script import Script, ok
from tests.support.rpc_client import end
from tests.support.sdk_program import PRELUDE, PYTHON
from tests.support.span_tree import Node, received
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.zot_process import Zot

OUTSIDE = f"00-{'c' * 32}-{'d' * 16}-01"
ASKS = """
@ext.tool
def shout(text: str) -> str:
    return text.upper()

@ext.intercept_tool_call
def judge(call: ToolCall):
    return ask("it shouts")

ext.run()
"""
LETS_PASS = """
@ext.intercept_tool_call
def judge(call: ToolCall):
    return None

ext.run()
"""


@pytest.fixture
def collector(zot: Zot) -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as receiver:
        zot.env |= receiver.environment | {"OTEL_METRICS_EXPORTER": "none"}
        yield receiver


def without_extensions(node: Node) -> Node:
    """Without the spans about extensions."""
    below = [without_extensions(each) for each in node.below if not each.name.startswith("zot.")]
    return node._replace(below=below)


def test_a_run_goes_on_with_the_trace_of_its_caller(zot: Zot, collector: OtlpReceiver) -> None:
    script = Script(zot.cwd).call(("bash", {"command": "true"}), results=[ok("$ true\n\n[exit 0]  Took 0.0s")])
    flags = ("--otel", "--no-ext")
    outcome = zot.replay(script.answer("Done."), *flags, env={"TRACEPARENT": OUTSIDE, "TRACESTATE": "a=b"})
    outcome.check(Status.OK)
    assert outcome.stderr == ""
    (tree,) = received(collector.spans)
    assert tree.names() == ["invoke_agent zot", "chat claude-sonnet-5-5", "execute_tool bash", "chat claude-sonnet-5-5"]
    root = collector.one("invoke_agent zot")
    assert (root.trace_id, root.parent_id, root.state) == ("c" * 32, "d" * 16, "a=b")
    assert tree.attributes == {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "replay", "gen_ai.agent.name": "zot",
        "gen_ai.agent.version": "…", "gen_ai.conversation.id": "…", "gen_ai.request.model": "claude-sonnet-5-5",
        "gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 10, "zot.status": "ok", "zot.exit_code": 0,
        "zot.steps": 2, "zot.cost_usd": outcome.result.cost_usd,
    }  # fmt: skip
    assert root.attributes["gen_ai.conversation.id"] == outcome.result.session


def test_the_tree_of_a_guarded_run_is_whole(zot: Zot, collector: OtlpReceiver) -> None:
    program = zot.folder / "guard.py"
    program.write_text(PRELUDE + LETS_PASS)
    guard = folder(zot.folder, "guard", [*PYTHON, str(program)], timeouts=PATIENT)
    script = Script(zot.cwd).call(("bash", {"command": "true"}), results=[ok("$ true\n\n[exit 0]  Took 0.0s")])
    outcome = zot.replay(script.answer("Done."), "--otel", "--no-ext", "-e", guard)
    outcome.check(Status.OK)
    (tree,) = received(collector.spans)
    model = {
        "gen_ai.provider.name": "replay",
        "gen_ai.conversation.id": "…",
        "gen_ai.request.model": "claude-sonnet-5-5",
    }
    call = {"gen_ai.tool.name": "bash", "gen_ai.tool.call.id": "t1"}

    def chat(finish: str) -> Node:
        asked = {"gen_ai.request.max_tokens": 32000, "gen_ai.request.stream": True}
        given = {"gen_ai.response.finish_reasons": [finish], "gen_ai.response.time_to_first_chunk": "…"}
        used = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5, "zot.cost_usd": 7e-05}
        about = {"gen_ai.operation.name": "chat", **model, **asked, **given, **used}
        return Node("chat claude-sonnet-5-5", "client", about, [], "", [])

    start = {
        "zot.extension.name": "guard", "zot.extension.dialect": "zot", "zot.extension.is_restart": False,
        "zot.extension.protocol": "zot 1", "zot.extension.tools": 0, "process.pid": "…",
    }  # fmt: skip
    verdict = {
        "zot.extension.name": "guard", "zot.verdict.event": "tool_call", "zot.verdict.outcome": "allow",
        "zot.verdict.blocked": False, **call,
    }  # fmt: skip
    agent = {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "zot", "gen_ai.agent.version": "…", **model,
        "zot.status": "ok", "zot.exit_code": 0, "zot.steps": 2, "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 10, "zot.cost_usd": outcome.result.cost_usd,
    }  # fmt: skip
    executed = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function", **call}
    # A guard that is ready early is not waited for.
    tree = tree._replace(below=[each for each in tree.below if each.name != "wait extensions"])
    assert tree == Node("invoke_agent zot", "internal", agent, [], "", [
        Node("start extension guard", "internal", start, [], "", []),
        chat("tool_call"),
        Node("execute_tool bash", "internal", executed, [], "", [
            Node("verdict tool_call guard", "internal", verdict, [], "", []),
        ]),
        chat("stop"),
    ])  # fmt: skip


def test_the_address_and_the_names_of_a_server(zot: Zot, server: Any, collector: OtlpReceiver) -> None:
    server.add(text_reply("hello"))
    url = server.base_url.replace("http://", "http://user:pass@")
    outcome = zot.run("-p", "go", "--base-url", url, "--api-key", "k", "--model", "m", "--otel", "--no-ext")
    assert (outcome.status, outcome.stderr) == (0, "")
    request = collector.one("chat m")
    assert request.attributes["server.address"] == "127.0.0.1"
    assert f"http://127.0.0.1:{request.attributes['server.port']}" == server.base_url
    assert request.attributes["gen_ai.response.id"].startswith("msg_")
    assert request.attributes["gen_ai.response.model"]
    assert "pass" not in str(collector.spans)


def test_a_run_that_is_interrupted(zot: Zot, server: Any, collector: OtlpReceiver) -> None:
    server.add(hold_first_byte(text_reply("never")))
    flags = ("--json", "--base-url", server.base_url, "--api-key", "k", "--model", "m", "--otel", "--no-ext")
    with zot.start(*flags, "go") as running:
        server.wait_for_requests(1)
        running.process.send_signal(signal.SIGINT)
        outcome = running.finish()
    outcome.check(Status.INTERRUPTED)
    (tree,) = received(collector.spans)
    assert tree.message == "interrupted by SIGINT"
    assert tree.attributes["error.type"] == "interrupted"
    assert [(each.name, each.attributes["error.type"]) for each in tree.below] == [("chat m", "cancelled")]


def test_each_prompt_of_rpc_has_a_trace_and_waits_for_a_person(
    zot: Zot, server: Any, rpc: Any, collector: OtlpReceiver
) -> None:
    program = zot.folder / "asks.py"
    program.write_text(PRELUDE + ASKS)
    asks = folder(zot.folder, "asks", [*PYTHON, str(program)], timeouts=PATIENT)
    server.add(tool_reply([("shout", {"text": "hi"})]), text_reply("one"), text_reply("two"))
    with rpc("--otel", "-e", asks, "--model", "m") as running:
        client = running.client
        client.ask("hello", permissions=True)
        client.send("prompt", message="first")
        asked = client.until("permission_asked")
        client.ask("allow", permission=asked["id"])
        client.until("done")
        client.prompt("second")
        assert end(running).status == 0
    runs = [tree for tree in received(collector.spans) if tree.name == "invoke_agent zot"]
    assert [tree.attributes["zot.steps"] for tree in runs] == [2, 1]
    assert len({span.trace_id for span in collector.named("invoke_agent zot")}) == 2
    assert without_extensions(runs[1]).names() == ["invoke_agent zot", "chat m"]
    shout = runs[0].find("execute_tool shout")
    wait = shout.find("wait permission")
    assert wait.attributes == {
        "zot.wait.for": "permission", "zot.wait.event": "tool_call", "zot.extension.name": "asks",
        "zot.wait.decision": "allowed",
    }  # fmt: skip
    assert "hi" not in json.dumps([span.attributes for span in collector.spans])


def test_contents_need_telemetry(zot: Zot) -> None:
    assert "--otel-content has no effect without --otel" in zot.run("-p", "go", "--otel-content").refusal()


def test_a_compaction_and_a_call_of_a_client(zot: Zot, server: Any, rpc: Any, collector: OtlpReceiver) -> None:
    server.add(*(text_reply(text) for text in ("One.", "Two.", "Three.", "All of it.")))
    with rpc("--otel", "--no-ext", "--model", "m") as running:
        client = running.client
        for text in ("first", "second", "third"):
            client.prompt(text)
        client.ask("compact")
        client.until("done")
        answer = client.ask("call_tool", name="bash", args={"command": "echo $TRACEPARENT"})
        assert end(running).status == 0
    assert [tree.names() for tree in received(collector.spans)] == [
        *[["invoke_agent zot", "chat m"]] * 4, ["execute_tool bash"],
    ]  # fmt: skip
    call = collector.one("execute_tool bash")
    assert call.attributes["zot.tool.origin"] == "client"
    assert f"00-{call.trace_id}-{call.span_id}-01" in json.dumps(answer)


def test_a_call_of_a_client_is_no_part_of_a_prompt(zot: Zot, server: Any, rpc: Any, collector: OtlpReceiver) -> None:
    os.mkfifo(zot.cwd / "gate")
    server.add(text_reply("One."))
    with rpc("--otel", "--no-ext", "--model", "m") as running:
        client = running.client
        client.send("call_tool", id=1, name="bash", args={"command": "cat gate"})
        client.prompt("first")
        (zot.cwd / "gate").write_text("open")
        client.until("response", id=1)
        assert end(running).status == 0
    call, agent = collector.one("execute_tool bash"), collector.one("invoke_agent zot")
    assert (call.parent_id, call.error) == ("", None)
    assert call.trace_id != agent.trace_id
    assert call.start_ns < agent.end_ns < call.end_ns
