"""Trees of spans of runs in this process, compared whole."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from agent.telemetry.genai import CACHE_READ_TOKENS, INPUT_TOKENS
from tests.support.calling_extension import calling_extension
from tests.support.extension_folder import folder
from tests.support.extension_scripts import PATIENT
from tests.support.mcp_servers import server_folder
from tests.support.scripted_model import BEGUN, ScriptedModel, fails, says
from tests.support.sdk_program import PRELUDE, PYTHON
from tests.support.span_tree import Node
from tests.support.traced_run import TASK, caught, traced, traced_run
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

GUARD = """
@ext.tool
def shout(text: str) -> str:
    return text.upper()

@ext.tool
def fall() -> str:
    os._exit(3)

@ext.intercept_tool_call
def judge(call: ToolCall):
    if "secret" in str(call.args):
        return block("it names a secret")

ext.run()
"""
CONTENTS = ("a private prompt", "a private answer", "a private text", "A PRIVATE TEXT", "a private error", "Be brief.")


def guard(parent: Path, source: str = GUARD) -> str:
    parent.mkdir(parents=True, exist_ok=True)
    program = parent / "guard.py"
    program.write_text(PRELUDE + source)
    return str(folder(parent, "guard", [*PYTHON, str(program)], timeouts=PATIENT))


def without_waits(node: Node) -> list[Any]:
    return [name for name in node.names() if name != "wait extensions"]


def agent(status: Status = Status.OK, steps: int = 1, tokens: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "scripted",
        "gen_ai.agent.name": "zot",
        "gen_ai.agent.version": "…",
        "gen_ai.conversation.id": "…",
        "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": tokens,
        "gen_ai.usage.output_tokens": tokens,
        "zot.status": status.value,
        "zot.exit_code": status.exit_code,
        "zot.steps": steps,
        **({} if status is Status.OK else {"error.type": status.value}),
        **more,
    }


def chat(finish: str = "stop", **more: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.conversation.id": "…",
        "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 100,
        "gen_ai.request.stream": True,
        "gen_ai.response.finish_reasons": [finish],
        "gen_ai.response.time_to_first_chunk": "…",
        "gen_ai.usage.input_tokens": 1,
        "gen_ai.usage.output_tokens": 1,
        **more,
    }


def tool(name: str, call_id: str, extension: str = "", **more: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.type": "extension" if extension else "function",
        **({"zot.extension.name": extension} if extension else {}),
        **more,
    }


def node(name: str, attributes: dict[str, Any], *below: Node, kind: str = "internal", message: str = "") -> Node:
    return Node(name, kind, attributes, [], message, list(below))


def call(name: str, call_id: str, extension: str = "", *below: Node, **more: Any) -> Node:
    return node(f"execute_tool {name}", tool(name, call_id, extension, **more), *below)


def test_a_run_without_tools(tmp_path):
    tree = traced_run(tmp_path, says("hello"))
    assert tree == node("invoke_agent zot", agent(), node("chat m", chat(), kind="client"))


def verdict(tool: str, call_id: str, outcome: str = "allow", **more: Any) -> Node:
    about = {
        "zot.extension.name": "guard",
        "zot.verdict.event": "tool_call",
        "zot.verdict.outcome": outcome,
        "zot.verdict.blocked": outcome == "deny",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": call_id,
    }
    return node("verdict tool_call guard", about | more)


def test_a_run_with_a_guard_and_all_kinds_of_calls(tmp_path):
    calls = (
        ("1", "bash", {"command": "true"}), ("2", "shout", {"text": "a private text"}),
        ("3", "bash", {"command": "cat secret"}), ("4", "bash", {"command": "exit 3"}),
        ("5", "bash", {"command": "sleep 60", "timeout": 1}), ("6", "nothing_known", {}), ("7", "bash", "not JSON"),
    )  # fmt: skip
    tree = traced_run(tmp_path, says("", *calls), says("done"), extensions=(guard(tmp_path),))
    start = {
        "zot.extension.name": "guard", "zot.extension.dialect": "zot", "zot.extension.is_restart": False,
        "zot.extension.protocol": tree.find("start extension guard").attributes["zot.extension.protocol"],
        "zot.extension.tools": 2, "process.pid": "…",
    }  # fmt: skip
    assert tree == node(
        "invoke_agent zot",
        agent(steps=2, tokens=2),
        node("start extension guard", start),
        node("wait extensions", {"zot.wait.for": "extensions"}),
        node("chat m", chat("tool_call"), kind="client"),
        call("bash", "1", "", verdict("bash", "1")),
        call("shout", "2", "guard", verdict("shout", "2")),
        call("bash", "3", "", verdict("bash", "3", "deny"), **{"error.type": "blocked"}),
        call("bash", "4", "", verdict("bash", "4"), **{"error.type": "tool_error"}),
        call("bash", "5", "", verdict("bash", "5"), **{"error.type": "timeout"}),
        call("nothing_known", "6", **{"error.type": "tool_error"}),
        call("bash", "7", **{"error.type": "tool_error"}),
        node("chat m", chat(), kind="client"),
    )


def test_a_call_of_a_tool_whose_extension_falls(tmp_path):
    tree = traced_run(tmp_path, says("", ("1", "fall", {})), says("done"), extensions=(guard(tmp_path),))
    assert tree.find("execute_tool fall") == call(
        "fall", "1", "guard", verdict("fall", "1"), **{"error.type": "crashed"}
    )
    assert tree.find("exit extension guard").attributes["error.type"] == "crashed"


def test_programs_of_a_call_go_on_with_its_span(tmp_path):
    """The shell by its environment, an MCP server by `_meta`, and nothing else of the run differs for them."""
    server = server_folder(tmp_path, "reference", "reference.py", timeouts=PATIENT)
    calls = (("1", "bash", {"command": "echo $TRACEPARENT,$TRACESTATE,"}), ("2", "mcp__reference__meta", {}))
    model = ScriptedModel(says("", *calls), says("done"))
    tree, lines = traced(tmp_path, model, extensions=(str(server),))
    assert [each.name for each in tree.below[-4:]] == [
        "chat m",
        "execute_tool bash",
        "execute_tool mcp__reference__meta",
        "chat m",
    ]
    said = json.dumps(model.asked[1]["messages"][-1])
    spans = {span["name"]: span["span_id"] for line in lines for span in json.loads(line)["spans"]}
    assert f"00-{TASK.trace_id}-{spans['execute_tool bash']}-01,," in said
    assert re.search(rf"traceparent\W+00-{TASK.trace_id}-{spans['execute_tool mcp__reference__meta']}-01", said)


def test_a_call_that_an_extension_makes_is_below_its_own(tmp_path):
    nested = ("1", "nested", {"name": "bash", "args": {"command": "true"}})
    tree = traced_run(tmp_path, says("", nested), says("done"), extensions=(str(calling_extension(tmp_path)),))
    assert tree.find("execute_tool nested") == call(
        "nested", "1", "child", call("bash", "1/1", **{"zot.tool.origin": "child"})
    )


@pytest.mark.parametrize("with_content", [False, True])
def test_contents_leave_only_on_request(tmp_path, with_content):
    replies = (
        says("a private answer", ("1", "shout", {"text": "a private text"}), ("2", "read", {"path": "/private/path"})),
        fails("invalid_request", "a private error", status=400),
    )
    tree, lines = traced(
        tmp_path, ScriptedModel(*replies), prompt="a private prompt", otel_content=with_content,
        extensions=(guard(tmp_path),),
    )  # fmt: skip
    text = b"".join(lines).decode()
    known = [content for content in CONTENTS if content in text]
    assert known == ([each for each in CONTENTS if each != "a private error"] if with_content else [])
    assert ("/private/path" in text) == with_content
    assert str(tmp_path) not in text
    assert tree.message == "the model, its connection or zot itself failed"
    if with_content:
        shout = tree.find("execute_tool shout").attributes
        assert json.loads(shout["gen_ai.tool.call.arguments"]) == {"text": "a private text"}
        assert json.loads(shout["gen_ai.tool.call.result"]) == {"content": "A PRIVATE TEXT"}
        first = tree.find("chat m").attributes
        assert json.loads(first["gen_ai.input.messages"]) == [
            {"role": "user", "parts": [{"type": "text", "content": "a private prompt"}]}
        ]


def test_a_failed_request(tmp_path):
    retry = {"type": "retry", "id": "1", "attempt": 2, "of": 3, "wait_s": 0.5, "reason": "overloaded", "status": 529}
    tree = traced_run(tmp_path, [retry, *fails("overloaded", status=529)])
    (request,) = tree.below
    attributes = chat("error", **{"http.response.status_code": 529, "error.type": "overloaded"})
    for name in (INPUT_TOKENS, "gen_ai.usage.output_tokens", "gen_ai.response.time_to_first_chunk"):
        del attributes[name]
    told = {"zot.retry.attempt": 2, "zot.retry.wait_s": 0.5, "http.response.status_code": 529}
    assert request == Node("chat m", "client", attributes, [("zot.retry", told)], "", [])
    assert tree.attributes == agent(Status.RATE_LIMIT, tokens=0, **{"zot.cost_usd": 0.0})


def test_names_and_cached_tokens_of_a_reply(tmp_path):
    reply = says("hello")
    used = {"input": 10, "output": 5, "cache_read": 300, "cache_write": 20, "reasoning": 2}
    reply[0] |= {"reply_id": "msg_1", "model": "claude-sonnet-5-5-20260101"}
    reply[-1]["usage"] = used
    request = traced_run(tmp_path, reply).find("chat m").attributes
    assert request[INPUT_TOKENS] == 330, "the conventions count cached tokens as input"
    assert request[CACHE_READ_TOKENS] == 300
    assert request["gen_ai.usage.cache_write.input_tokens"] == 20
    assert request["gen_ai.usage.reasoning.output_tokens"] == 2
    assert request["gen_ai.response.id"] == "msg_1"
    assert request["gen_ai.response.model"] == "claude-sonnet-5-5-20260101"


def test_max_steps(tmp_path):
    tree = traced_run(tmp_path, says("", ("1", "bash", {"command": "true"})), max_steps=1)
    assert tree.attributes == agent(Status.MAX_STEPS)
    assert tree.message == "max steps (1) exceeded"
    assert [each.name for each in tree.below] == ["chat m", "execute_tool bash"]


def test_a_timeout_ends_the_open_request_and_call(tmp_path):
    tree = traced_run(tmp_path, BEGUN, timeout=0.2)
    assert tree.attributes["error.type"] == "timeout"
    assert tree.message == "timeout: the run took longer than 0.2 s"
    assert tree.below[0].attributes["error.type"] == "cancelled"
    tree = traced_run(tmp_path, says("", ("1", "bash", {"command": "sleep 60"})), timeout=0.2)
    assert tree.find("execute_tool bash").attributes == tool("bash", "1", **{"error.type": "cancelled"})


def test_a_trace_that_is_not_sampled_has_no_spans_but_goes_on(tmp_path):
    model = ScriptedModel(says("", ("1", "bash", {"command": "echo $TRACEPARENT"})), says("done"))
    assert caught(tmp_path, model, context=replace(TASK, is_sampled=False)) == []
    said = json.dumps(model.asked[1]["messages"][-1])
    assert re.search(rf"00-{TASK.trace_id}-[0-9a-f]{{16}}-00", said)


def test_the_result_is_handed_over_before_the_rest_is_exported(tmp_path):
    order = []

    def act(run):
        run._host.export_rest = lambda: order.append("exported")
        return lambda result: order.append(result.text)

    lines = caught(tmp_path, ScriptedModel(says("hello")), act=act)
    assert order == ["hello", "exported"]
    assert b"invoke_agent" in lines[-1]
