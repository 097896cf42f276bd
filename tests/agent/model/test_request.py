"""From the transcript to request parameters, and from reply blocks back."""

from __future__ import annotations

import base64
import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.images.limits import BASE64_LIMIT, CROWD
from agent.model.request import ToolSpec, blocks_from_worker, build_params
from agent.transcript import Image, Message, Text, Thinking, ToolCall, ToolResult
from tests.support import pictures
from tests.support.messages_server.prefix_cache import PrefixCache

NOW = "2026-11-21T10:00:00+00:00"
CACHED = {"cache_control": {"type": "ephemeral"}}


def user(*content) -> Message:
    return Message("user", content, NOW)


def assistant(*content) -> Message:
    return Message("assistant", content, NOW)


def results(*content) -> Message:
    return Message("tool", content, NOW)


def build(*messages: Message, tools=(), **more) -> dict:
    defaults = {"model": "claude-sonnet-4-5", "system": "", "max_tokens": 1000, "reasoning": None}
    return build_params(messages=messages, tools=tools, **{**defaults, **more})


def test_a_whole_conversation() -> None:
    params = build(
        user(Text("look"), Image("image/png", "aGk=")),
        assistant(
            Thinking("hmm", "sig"), Thinking("", redacted="ENC"), Text("ok"), ToolCall("t1", "read", b'{"path":"a"}')
        ),
        results(ToolResult("t1", (Text("body"), Image("image/gif", "Z2lm")))),
        system="be brief",
        system_end="at noon",
        tools=[ToolSpec("write", "w", {"type": "object"}), ToolSpec("bash", "b", {"type": "object"})],
    )
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    gif = {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "Z2lm"}}
    assert params == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 1000,
        "system": [{"type": "text", "text": "be brief", **CACHED}, {"type": "text", "text": "at noon"}],
        "tools": [
            {"name": "bash", "description": "b", "input_schema": {"type": "object"}},
            {"name": "write", "description": "w", "input_schema": {"type": "object"}, **CACHED},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look"}, {**image, **CACHED}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hmm", "signature": "sig"},
                    {"type": "redacted_thinking", "data": "ENC"},
                    {"type": "text", "text": "ok"},
                    {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": [{"type": "text", "text": "body"}, gif],
                        **CACHED,
                    }
                ],
            },
        ],
    }


def test_what_the_api_refuses_is_left_out() -> None:
    params = build(
        user(Text("hi")),
        assistant(Text(""), Thinking("broke off before its signature")),
        results(ToolResult("t1", (Text(""),), is_error=True)),
    )
    assert params["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": True, **CACHED}]},
    ]
    assert "system" not in params
    assert "tools" not in params


def test_tool_results_stay_in_their_own_message() -> None:
    params = build(results(ToolResult("t1", (Text("a"),)), ToolResult("t2", (Text("b"),))), user(Text("and now?")))
    assert [len(message["content"]) for message in params["messages"]] == [2, 1]


def test_the_schema_of_a_tool_is_not_changed() -> None:
    spec = ToolSpec("a", "", {"type": "object"})
    build(tools=[spec])
    assert spec.input_schema == {"type": "object"}


@pytest.mark.parametrize(
    "args", [b"", b"{bad", b"[1]", b"null", b'"x"', b"3", b'{"a":NaN}', b'{"a":"\\ud800"}', b"\xff", b'{"a":1}{"b":2}']
)
def test_arguments_that_are_no_object_become_an_empty_one(args: bytes) -> None:
    (message,) = build(assistant(ToolCall("t", "read", args)))["messages"]
    assert message["content"][0]["input"] == {}


def test_no_reasoning_asks_for_nothing() -> None:
    assert not {"thinking", "output_config"} & set(build(user(Text("x")), model="claude-opus-5"))


texts = st.text(max_size=8)
calls = st.builds(ToolCall, texts, texts, st.binary(max_size=8) | st.just(b'{"a":1}'))
thoughts = st.builds(Thinking, texts, texts, texts)
blocks = st.builds(Text, texts) | st.builds(Image, texts, texts) | thoughts | calls
content = st.builds(ToolResult, texts, st.lists(st.builds(Text, texts), max_size=3).map(tuple), st.booleans()) | blocks
transcripts = st.lists(
    st.builds(
        Message, st.sampled_from(["user", "assistant", "tool"]), st.lists(content, max_size=4).map(tuple), st.just(NOW)
    )
)
tool_lists = st.lists(
    st.tuples(texts, texts, st.just({})).map(lambda three: ToolSpec(*three)), unique_by=lambda tool: tool.name
)


@given(transcripts, tool_lists, texts)
def test_any_transcript_makes_a_request_that_the_api_can_take(messages, tools, system: str) -> None:
    params = build(*messages, tools=tools, system=system)
    assert orjson.loads(orjson.dumps(params)) == params
    for message in params["messages"]:
        assert message["role"] in ("user", "assistant")
        assert message["content"]
        for block in message["content"]:
            assert block.get("text") != ""
            assert isinstance(block.get("input", {}), dict)
    assert [tool["name"] for tool in params.get("tools", [])] == sorted(tool.name for tool in tools)


@given(transcripts, tool_lists, texts)
def test_at_most_four_cache_markers_all_at_the_end_of_something(messages, tools, system: str) -> None:
    params = build(*messages, tools=tools, system=system, system_end="at noon")
    marks = json.dumps(params).count('"cache_control"')
    ends = [message["content"][-1] for message in params["messages"] if message["role"] == "user"]
    assert marks == bool(system) + bool(tools) + sum("cache_control" in end for end in ends)
    assert marks <= 4
    assert not ends or ends[-1]["cache_control"] == {"type": "ephemeral"}
    assert not tools or params["tools"][-1]["cache_control"] == {"type": "ephemeral"}


@given(st.lists(st.integers(0, 40), max_size=5), st.sampled_from([None, "5m", "1h"]))
def test_each_request_of_a_conversation_reads_the_whole_one_before_from_the_cache(turns: list[int], ttl) -> None:
    """Whatever the number of its tool calls: the provider looks back over 20 blocks only."""
    cache, before = PrefixCache(minimum=0), 0
    conversation = [user(Text("go"))]
    for calls in (*turns, 1):
        tools = [ToolSpec("bash", "b", {}), ToolSpec("read", "r", {})]
        params = build(*conversation, tools=tools, system="s", system_end="e", cache_ttl=ttl)
        begun = cache.begin(params, 0.0)
        cache.answered(begun, 0.0)
        assert (begun.use.input, begun.use.read) == (0, before)
        assert (begun.use.written_1h if ttl == "1h" else begun.use.written_5m) == begun.use.total - before
        before = begun.use.total
        names = [f"t{number}" for number in range(calls)]
        conversation.append(assistant(Text("ok"), *(ToolCall(name, "read", b"{}") for name in names)))
        conversation.append(
            results(*(ToolResult(name, (Text("body"),)) for name in names)) if calls else user(Text("x"))
        )


def test_tasks_in_other_folders_share_tools_and_the_first_block_of_the_system_prompt() -> None:
    cache = PrefixCache(minimum=0)
    bodies = [build(user(Text(word)), tools=[ToolSpec("t", "t", {})], system="s", system_end=word) for word in "ab"]
    cache.answered(first := cache.begin(bodies[0], 0.0), 0.0)
    second = cache.begin(bodies[1], 1.0)
    assert (first.use.read, second.use.read) == (0, first.writes[1].tokens)


def test_blocks_of_a_reply() -> None:
    lines = [
        {"type": "thinking", "text": "t", "signature": "s"},
        {"type": "thinking", "redacted": "ENC"},
        {"type": "text", "text": "x"},
        {"type": "tool_call", "id": "1", "name": "read", "args": '{"é'},
    ]
    assert blocks_from_worker(lines) == (
        Thinking("t", "s"),
        Thinking("", redacted="ENC"),
        Text("x"),
        ToolCall("1", "read", '{"é'.encode()),
    )


def gif(width: int, height: int) -> Image:
    return Image("image/gif", base64.b64encode(pictures.gif(width, height)).decode())


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (Image("image/x-evil", "aGk="), "[an image of type 'image/x-evil', which models do not take: image/gif, "),
        (Image("", "aGk="), "[an image of type '', which"),
        (Image("image/png", "A" * (BASE64_LIMIT + 4)), "[an image of 3932163 bytes, which is more than models take"),
        (Image("image/png", ""), "[an empty image]"),
        (gif(8001, 1), "[an image of 8001 x 1 pixels, whose sides are longer than models take here: 8000]"),
    ],
)
def test_an_image_that_the_api_refuses_becomes_a_text(image: Image, said: str):
    params = build(user(image), results(ToolResult("t1", (image,))))
    first, second = params["messages"]
    for block in (first["content"][0], second["content"][0]["content"][0]):
        assert block["type"] == "text"
        assert block["text"].startswith(said)


def test_among_many_images_shorter_sides_are_the_limit():
    small, large = gif(2000, 2000), gif(2001, 1)
    for count, kind in ((CROWD, "image"), (CROWD + 1, "text")):
        params = build(user(large), results(ToolResult("t1", (small,) * (count - 1))))
        first, second = params["messages"]
        assert first["content"][0]["type"] == kind
        assert {part["type"] for part in second["content"][0]["content"]} == {"image"}
    assert "2001 x 1 pixels, whose sides are longer than models take here: 2000" in first["content"][0]["text"]
