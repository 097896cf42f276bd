"""Schemas of results, and results as JSON, for an MCP client; and a server's own for our readers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET, Raw

from wire import frames
from wire.control import ToolInfo
from wire.dialects.mcp.results import tool_result
from wire.dialects.mcp.tools import registration
from wire.mcp_server.answers import NO_STRUCTURE, call_result, tool_definition
from wire.mcp_server.offer import offer_of

OBJECT = {"type": "object"}
TEXT = [frames.ContentBlock("text", text="20")]


@pytest.mark.parametrize(
    ("schema", "is_told"), [(None, False), (OBJECT, True), ({"type": "array"}, False), ({}, False)]
)
def test_a_client_gets_schemas_of_objects(schema: Any, is_told: bool):
    found = tool_definition(ToolInfo("t", "", {}, "x", output_schema=schema))
    assert found.get("outputSchema") == (schema if is_told else None)


@pytest.mark.parametrize(("said", "is_passed"), [(b'{"a":1}', True), (b"[1]", False), (b"7", False), (UNSET, False)])
@pytest.mark.parametrize("is_promised", [True, False])
@pytest.mark.parametrize("is_error", [True, False])
def test_a_client_gets_objects_and_an_error_where_a_promised_one_is_missing(
    said: Any, is_passed: bool, is_promised: bool, is_error: bool
):
    structured = said if said is UNSET else Raw(said)
    result = call_result(frames.ToolResult("1", TEXT, is_error, structured_content=structured), is_promised=is_promised)
    is_broken = is_promised and not is_passed and not is_error
    assert ("structuredContent" in result) is is_passed
    assert result["isError"] is (is_error or is_broken)
    assert [block["text"] for block in result["content"]] == ["20", *([NO_STRUCTURE] if is_broken else [])]


def test_deferred_tools_are_not_on_offer():
    shown, hidden = ToolInfo("shown", "", {}, "x"), ToolInfo("hidden", "", {}, "x", deferred=True)
    assert offer_of((shown, hidden), ()).tools == (shown,)


def test_a_servers_own_schema_and_content_come_through():
    frame = registration("s", {"name": "t", "outputSchema": {"type": "object"}})
    assert isinstance(frame, frames.RegisterTool)
    assert bytes(frame.output_schema) == b'{"type":"object"}'
    result = tool_result("1", {"content": [{"type": "text", "text": "20"}], "structuredContent": Raw(b'{"a":1}')})
    assert isinstance(result, frames.ToolResult)
    assert bytes(result.structured_content) == b'{"a":1}'


@pytest.mark.parametrize("schema", [5, [], "x", True, {"a": 10**400}])
def test_a_servers_faulty_schema_is_left_to_the_registry(schema: Any):
    frame = registration("s", {"name": "t", "outputSchema": schema})
    assert isinstance(frame, frames.RegisterTool)
    assert frame.output_schema is not UNSET
