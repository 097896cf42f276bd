"""Recordings of four published servers, all the way: every tool is offered, every result and prompt is readable.

`published/` has their answers to `tools/list`, `prompts/list`, `tools/call` and `prompts/get`, without descriptions and
with a small image in place of each one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.tools.extension_result import parts_of
from agent.transcript import Image, Text
from supervisor.registry.plain_schema import fault_at_once
from supervisor.registry.registration import command_name_fault, judge_tool
from wire import frames
from wire.dialects.mcp import prompts, results, tools

FOLDER = Path(__file__).with_name("published")
SERVERS = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}
EVERYTHING = SERVERS["everything"]
LEFT_OUT = {"everything": ["simulate-research-query"]}
"""Tools that can only be called as a task, by server."""
READ_ONLY = {"everything": 9, "filesystem": 10, "memory": 3, "sequential-thinking": 1}


@pytest.mark.parametrize("server", SERVERS)
def test_every_tool_is_offered_under_its_name_and_checked_in_the_loop(server: str):
    listed = SERVERS[server]["tools"]
    found = tools.registrations(server, listed, {})
    usable = [tool["name"] for tool in listed if tool["name"] not in LEFT_OUT.get(server, ())]
    assert [raw for raw, _ in found.tools.values()] == usable
    assert [warning.key for warning in found.warnings] == [
        f"tool mcp__{server}__{name}" for name in LEFT_OUT.get(server, ())
    ]
    judged = [judge_tool(frame) for _, frame in found.tools.values()]
    assert [tool.name for tool in judged] == [f"mcp__{server}__{name}" for name in usable]
    assert all(tool.plain_parts for tool in judged)
    assert sum(tool.read_only for tool in judged) == sum(tool.retry and tool.read_only for tool in judged)
    assert sum(tool.read_only for tool in judged) == READ_ONLY[server]
    assert not any(tool.description for tool in judged), "the recordings have none"


def test_arguments_are_checked_before_they_are_sent():
    found = tools.registrations("everything", EVERYTHING["tools"], {"include_tools": ["get-sum"]})
    ((_, frame),) = found.tools.values()
    tool = judge_tool(frame)
    assert fault_at_once(tool.schema, tool.plain_parts, b'{"a":1,"b":2}') == ""
    assert fault_at_once(tool.schema, tool.plain_parts, b'{"a":"x"}') == (
        'invalid args: /a: "x" is not of type "number"; /: "b" is a required property'
    )


@pytest.mark.parametrize("tool", EVERYTHING["calls"])
def test_every_result_is_for_the_model(tool: str):
    for answer in EVERYTHING["calls"][tool]:
        result = results.tool_result("1", answer["result"])
        assert isinstance(result, frames.ToolResult)
        assert bool(result.is_error) is (tool in ("none", "get-sum"))
        parts, is_bad = parts_of(result.content or (), "everything/tool")
        assert parts
        assert not is_bad
        kinds: list[Any] = [Image if block["type"] == "image" else Text for block in answer["result"]["content"]]
        assert [type(part) for part in parts] == kinds


def test_links_and_resources_are_in_words():
    def said(tool: str, number: int) -> list[str]:
        result = results.tool_result("1", EVERYTHING["calls"][tool][number]["result"])
        assert isinstance(result, frames.ToolResult)
        return [block.text or "" for block in result.content or ()]

    assert said("get-resource-links", 0)[1] == "demo://resource/dynamic/blob/1 (Blob Resource 1, text/plain)"
    assert said("get-resource-reference", 0)[1].startswith("demo://resource/dynamic/text/1\nResource 1: This is")
    assert said("get-resource-reference", 1)[1].startswith(
        "demo://resource/dynamic/blob/2\n[bytes of type text/plain, "
    )
    (structured,) = said("get-structured-content", 0)
    assert structured.startswith('{"temperature":'), "the same as structuredContent, once"


def test_every_prompt_is_a_command_and_its_text_a_prompt():
    commands: list[Any] = [prompts.registration("everything", prompt) for prompt in EVERYTHING["prompts"]]
    assert [name for name, _ in commands] == [prompt["name"] for prompt in EVERYTHING["prompts"]]
    assert commands[0][1].name == "mcp__everything__simple-prompt"
    assert [command_name_fault(frame.name) for _, frame in commands] == [None] * len(commands)
    assert [frame.description for _, frame in commands][1:3] == ["CITY [STATE]", "DEPARTMENT NAME"]
    assert prompts.arguments(EVERYTHING["prompts"][1], "'New York' state=NY") == {"city": "New York", "state": "NY"}
    texts = [prompts.response("1", answer["result"]) for answer in EVERYTHING["gets"] if "result" in answer]
    assert [answer.action for answer in texts if isinstance(answer, frames.CommandResponse)] == ["prompt"] * 3
    (refused,) = [answer["error"] for answer in EVERYTHING["gets"] if "error" in answer]
    assert (prompts.error_response("1", refused).error or "").startswith("MCP error -32603: Invalid resourceType")
