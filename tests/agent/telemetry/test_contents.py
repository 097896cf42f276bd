from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from agent.telemetry import contents
from agent.telemetry.contents import TEXT_LIMIT
from agent.telemetry.genai import CONTENT_CUT, server
from agent.transcript import Image, Text, ToolResult

CONVERSATION: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "What is in x?"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "read it", "signature": "s"},
            {"type": "redacted_thinking", "data": "hidden"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "1", "name": "read", "input": {"path": "x"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "1",
                "content": [
                    {"type": "text", "text": "a picture"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                ],
            }
        ],
    },
]
TEXTS = st.text(max_size=60)
SMALL = patch.multiple(contents, ATTRIBUTE_LIMIT=300, TEXT_LIMIT=20)
"""Limits that short texts exceed."""
MESSAGES = st.lists(
    st.builds(
        lambda role, texts: {"role": role, "content": [{"type": "text", "text": text} for text in texts]},
        st.sampled_from(["user", "assistant"]),
        st.lists(TEXTS, min_size=1, max_size=6),
    ),
    max_size=8,
)


def test_a_request_follows_the_schema_of_the_conventions():
    said = contents.request({"system": [{"type": "text", "text": "Be brief."}], "messages": CONVERSATION})
    assert json.loads(str(said["gen_ai.system_instructions"])) == [{"type": "text", "content": "Be brief."}]
    assert json.loads(str(said["gen_ai.input.messages"])) == [
        {"role": "user", "parts": [{"type": "text", "content": "What is in x?"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "read it"},
                {"type": "redacted_thinking"},
                {"type": "text", "content": "I look."},
                {"type": "tool_call", "id": "1", "name": "read", "arguments": {"path": "x"}},
            ],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "1", "response": "a picture\n[image]"}],
        },
    ]
    assert CONTENT_CUT not in said


def test_a_reply_follows_the_schema_of_the_conventions():
    blocks = [
        {"type": "thinking", "text": "hm"},
        {"type": "tool_call", "id": "1", "name": "read", "args": '{"path": "x"}'},
        {"type": "tool_call", "id": "2", "name": "read", "args": "no JSON"},
    ]
    (message,) = json.loads(str(contents.reply(blocks, "tool_call")["gen_ai.output.messages"]))
    assert message == {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "hm"},
            {"type": "tool_call", "id": "1", "name": "read", "arguments": {"path": "x"}},
            {"type": "tool_call", "id": "2", "name": "read", "arguments": "no JSON"},
        ],
        "finish_reason": "tool_call",
    }


@given(MESSAGES)
def test_a_conversation_of_any_size_is_json_within_the_limit_and_says_what_is_missing(messages):
    with SMALL:
        said = contents.request({"messages": messages})
    text = str(said["gen_ai.input.messages"])
    assert len(text.encode()) <= 302
    shown = json.loads(text)
    whole = [{"role": each["role"], "parts": [_part(part) for part in each["content"]]} for each in messages]
    assert (shown == whole) == (CONTENT_CUT not in said)
    assert [each["role"] for each in shown] == [each["role"] for each in messages][len(messages) - len(shown) :]


def _part(part: dict[str, str]) -> dict[str, str]:
    return {"type": "text", "content": part["text"]}


@given(st.lists(TEXTS, max_size=8))
def test_a_reply_of_any_size_is_json_within_the_limit(texts):
    with SMALL:
        said = contents.reply([{"type": "text", "text": text} for text in texts], "stop")
    assert len(str(said["gen_ai.output.messages"]).encode()) <= 302
    (message,) = json.loads(str(said["gen_ai.output.messages"]))
    parts = [part["content"] for part in message["parts"]]
    assert (parts == texts) == (CONTENT_CUT not in said)


def test_results_of_tools():
    shown = ToolResult("1", (Text("seen"), Image("image/png", "AAAA")))
    assert contents.result(shown) == {"gen_ai.tool.call.result": '{"content":"seen\\n[image/png]"}'}
    given = ToolResult("1", (Text("seen"),), structured=b'{"sum":3}')
    assert contents.result(given) == {"gen_ai.tool.call.result": '{"sum":3}'}
    long = ToolResult("1", (Text("x" * (TEXT_LIMIT + 5)),))
    assert contents.result(long)[CONTENT_CUT]
    assert "5 characters are left out" in str(contents.result(long)["gen_ai.tool.call.result"])
    assert contents.arguments(b'{"a": "' + b"x" * TEXT_LIMIT + b'"}')[CONTENT_CUT]


def test_addresses_of_servers():
    assert server("https://api.anthropic.com") == {"server.address": "api.anthropic.com", "server.port": 443}
    assert server("http://127.0.0.1:8080/v1") == {"server.address": "127.0.0.1", "server.port": 8080}
    assert server("http://[::1]:8080") == {"server.address": "::1", "server.port": 8080}
    assert server("http://[::1]/x") == {"server.address": "::1", "server.port": 80}
    assert server("") == {}
