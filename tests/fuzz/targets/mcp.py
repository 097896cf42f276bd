"""Answers of MCP servers: lists of tools and prompts, results of tools and of prompts, all the way to the model."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

from agent.tools.extension_result import parts_of
from supervisor.registry.registration import RegistrationError, judge_tool
from tests.fuzz import seeds
from tests.fuzz.target import Target, without_folder
from wire import frames
from wire.dialects.base import UnsendableError
from wire.dialects.mcp import prompts, results, tools
from wire.lenient_json import UNREADABLE, read

PUBLISHED = Path(__file__).parents[2] / "wire" / "dialects" / "mcp" / "published"
OPTIONS = {"include_tools": ["*"], "exclude_tools": ["x*y"]}
SPLIT = b"\n"
"""An input for prompts is a prompt and, behind the first line feed, what the user wrote behind its command."""
OLD_TOOL = {
    "name": "old.form",
    "inputSchema": {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {
            "pair": {"items": [{"minimum": 1, "exclusiveMinimum": True}, {"type": "any"}], "additionalItems": False},
            "name": {"type": "string", "required": True, "nullable": True, "enum": ["a"]},
            "same": {"$ref": "#/properties/pair/items/0"},
            "here": {"id": "#here", "dependencies": {"a": ["b"], "c": {"$recursiveRef": "#"}}},
        },
    },
    "annotations": {"readOnlyHint": True, "title": "t"},
    "execution": {"taskSupport": "optional"},
}
UNFINISHED = {
    "resultType": "input_required",
    "inputRequests": {"a": {"method": "elicitation/create", "params": {"message": "Your name?"}}},
    "requestState": "s",
}


def published(*members: str) -> list[Any]:
    """These members of what the published servers have said, as one list."""
    said = [json.loads(path.read_text("utf-8")) for path in sorted(PUBLISHED.glob("*.json"))]
    return list(chain.from_iterable(each.get(member, ()) for each in said for member in members))


def value_of(data: bytes) -> Any:
    """The JSON value of an input; what is no JSON is a session's affair."""
    try:
        return read(data)[0]
    except UNREADABLE:
        return None


@without_folder
def lists(data: bytes) -> None:
    """A tool is offered, or left out with a reason."""
    value = value_of(data)
    listed = value if isinstance(value, list) else [value]
    found = tools.registrations("fuzz", listed, OPTIONS)
    for name, (raw, frame) in found.tools.items():
        assert name == frame.name == tools.public_name("fuzz", raw)
        try:
            judge_tool(frame)
        except RegistrationError:
            pass
    assert all(warning.text.isprintable() for warning in found.warnings)


@without_folder
def answers(data: bytes) -> None:
    """A result of a tool is for the model, or fails its call; so does one of a prompt its command."""
    value = value_of(data)
    results.next_round(value)
    results.error_result("1", value)
    prompts.response("1", value)
    result = results.tool_result("1", value)
    if isinstance(result, frames.ToolResult):
        parts_of(result.content or (), "fuzz/tool")


@without_folder
def commands(data: bytes) -> None:
    """A prompt is a command, or left out; its arguments are read, or refused."""
    prompt, _, text = data.partition(SPLIT)
    value = value_of(prompt)
    prompts.registration("fuzz", value)
    try:
        prompts.arguments(value, text.decode("utf-8", "replace"))
    except UnsendableError:
        pass


def some_lists() -> list[bytes]:
    single = [*published("tools"), OLD_TOOL]
    return [*(seeds.as_line([tool]) for tool in single[::4]), seeds.as_line(single[-12:])]


def some_answers() -> list[bytes]:
    said = json.loads((PUBLISHED / "everything.json").read_text("utf-8"))
    told = [*chain.from_iterable(said["calls"].values()), *said["gets"]]
    return [seeds.as_line(value) for value in (*chain.from_iterable(each.values() for each in told), UNFINISHED)]


def some_commands() -> list[bytes]:
    return [seeds.as_line(prompt) + b"city='New York' state=NY" for prompt in published("prompts")]


TARGETS = (
    Target("mcp_tools", some_lists, lists, 250),
    Target("mcp_results", some_answers, answers, 750),
    Target("mcp_prompts", some_commands, commands, 750),
)
