"""Rows of zot, rows of other hands, and rows that are broken: what each is read as."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.sessions.file import SessionFile
from agent.sessions.load import load
from agent.sessions.repair import UNANSWERED
from agent.sessions.rows import Meta, Other, Unreadable, message_line, read_row, usage_line
from agent.transcript import Image, Message, Text, Thinking, ToolCall, ToolResult
from wire.events import Totals

ZOT = Path(__file__).parent / "zot_files"
TIME = "2026-01-02T03:04:05Z"


def test_a_session_of_zot():
    found = load(ZOT / "plain.jsonl")
    assert (found.title, found.fault_count, found.repairs, found.message_rows) == ("The fruit", 0, 0, 4)
    assert (found.meta.model, found.meta.cwd) == ("claude-sonnet-4-5", "/work/shop")
    assert found.usage == Totals(300, 42, 900, 900, 0.0061)
    user, called, answered, said = found.messages
    assert user == Message("user", (Text("What is in a.txt?"),), "2026-03-01T11:20:31.5+01:00")
    call = ToolCall("toolu_01", "read", b'{"path":"a.txt","limit":1.0}')
    assert called.content == (Thinking("I should look.", "c2lnbmF0dXJl"), Text("I look."), call)
    assert answered.content == (ToolResult("toolu_01", (Text("apples"), Image("image/png", "iVBORw0KGgo="))),)
    assert said.content == (Text("Apples."),)


def test_a_compacted_branch_of_zot_with_another_provider_and_an_open_call():
    found = load(ZOT / "branched_and_compacted.jsonl", with_said=True)
    assert [message.role for message in found.messages] == ["user", "assistant", "user", "assistant", "tool"]
    assert found.messages[0].content == (Text("Summary: one and two."),)
    assert found.messages[-1].content == (ToolResult("toolu_02", (Text(UNANSWERED),), is_error=True),)
    assert (found.repairs, found.message_rows) == (1, 4)
    assert (found.meta.model, found.meta.parent, found.meta.fork_point) == (
        "claude-opus-4-5", "6f1c2a34-9f6e-4b0e-8a55-0c8d6b1f2e77", 2,
    )  # fmt: skip
    assert found.said[1].content == (Text("Two."),), "what only the other provider can read is left out"


def test_what_zot_needs_to_read_a_row_of_ours():
    """zot leaves out a message whose time is no RFC 3339 time, and tells blocks apart by these fields."""
    content = (Text("t"), ToolCall("i", "n", b"{}"), ToolResult("i", (Text("r"),)), Image("image/png", "AAAA"))
    row = json.loads(message_line(Message("user", content, "")))
    assert row == {
        "type": "message",
        "message": {
            "role": "user",
            "content": [
                {"text": "t"},
                {"id": "i", "name": "n", "arguments": {}},
                {"call_id": "i", "content": [{"text": "r"}], "is_error": False},
                {"mime_type": "image/png", "data": "AAAA"},
            ],
            "time": "0001-01-01T00:00:00Z",
        },
    }


def read_as_zot(path):
    """The roles and the kinds of blocks that zot's rules find in a file: unknown lines are skipped, and so is a message
    whose time is no RFC 3339 time; the fields of a block tell its kind."""
    found = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row["type"] == "compaction":
            found.clear()
        messages = row["messages"] if row["type"] == "compaction" else [row["message"]] if "message" in row else []
        for message in messages:
            datetime.fromisoformat(message["time"])
            kinds = []
            for block in message["content"]:
                if "encrypted_content" in block or "reasoning_id" in block:
                    kinds.append("reasoning")
                elif "name" in block and "id" in block:
                    kinds.append("call")
                else:
                    kinds.append(next(key for key in ("call_id", "mime_type", "text") if key in block))
            found.append((message["role"], kinds))
    return found


@pytest.mark.parametrize("name", ["plain.jsonl", "branched_and_compacted.jsonl"])
def test_a_session_of_zot_that_went_on_here_goes_on_in_zot(tmp_path, name):
    path = tmp_path / name
    path.write_bytes((ZOT / name).read_bytes())
    before = read_as_zot(path)
    file, loaded = SessionFile.reopen(path)
    file.model("anthropic", "another")
    file.message(said("go on"))
    file.message(Message("assistant", (Text("t"), ToolCall("i", "n", b"{}")), TIME))
    file.usage(Totals(1, 2, 3, 4, None))
    file.message(Message("tool", (ToolResult("i", (Text("r"),)),), TIME))
    file.close()
    added = [("user", ["text"]), ("assistant", ["text", "call"]), ("tool", ["call_id"])]
    assert read_as_zot(path) == [*before, *added]
    assert path.read_bytes().startswith((ZOT / name).read_bytes())
    again = load(path)
    assert again.meta == replace(loaded.meta, provider="anthropic", model="another")


def said(text="hi", time=TIME):
    return Message("user", (Text(text),), time)


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b'{"type":"message","message":{"role":"user","content":[{"text":"hi"}],"time":null}}', said(time="")),
        (b'{"type":"message","message":{"role":"user","content":[{"text":"hi"}],"time":5}}', said(time="")),
        (b'{"type":"message","message":{"role":"user","content":[{"text":"hi","id":null}]}}', said(time="")),
        (b'{"type":"message","message":{"role":"user","content":[{"text":"hi","is_error":"x"},{"text":5},7]}}',
         said(time="")),
        (b'{"type":"message","message":{"role":"user","content":"hi","time":""}}', said(time="")),
        (b'{"message":{"time":"","content":[{"text":"hi"}],"role":"user"},"type":"message"}', said(time="")),
        (b'{"type":"message","message":{"role":"user","content":null}}', Message("user", (), "")),
        (b'{"type":"message","message":{"role":"user","content":[{"text":"a\xffb"}]}}', said("a\ufffdb", "")),
        (b'{"type":"message","message":{"role":"user","content":[{"text":"a\\ud800b"}]}}',
         said("a\ufffd\ufffd\ufffdb", "")),
        (b'{"type":"message","message":{"role":"user","content":[{"text":"\\ud83d\\ude00"}]}}\r',
         said("\U0001f600", "")),
        (b'{"type":"message","message":{"role":"user","content":[{"mime_type":"image/png","data":"?"},{"text":"hi"}]}}',
         Message("user", (Text("[an image that cannot be read]"), Text("hi")), "")),
        (b'{"type":"usage","cumulative":{"input_tokens":1e999,"output_tokens":-5,"cache_read_tokens":3,"cost_usd":"x"}}',
         Unreadable),
        (b'{"type":"usage","cumulative":{"input_tokens":2.5,"output_tokens":-5,"cache_read_tokens":3,"cost_usd":"x"}}',
         Totals(0, 0, 3, 0, None)),
        (b'{"type":"usage","cumulative":{"cost_usd":' + b"9" * 400 + b"}}", Totals(0, 0, 0, 0, 0.0)),
        (b'{"type":"usage","cumulative":{"reasoning_tokens":0}}', Totals(0, 0, 0, 0, 0.0)),
        (b'{"type":"usage","cumulative":{"reasoning_tokens":5,"reasoning_tokens_known":true}}',
         Totals(0, 0, 0, 0, 0.0, reasoning=5)),
        (b'{"type":"usage","cumulative":{"reasoning_tokens":5,"reasoning_tokens_known":"yes"}}',
         Totals(0, 0, 0, 0, 0.0)),
        (b'{"type":"usage","cumulative":null}', Unreadable),
        (b'{"type":"meta","meta":{"id":5,"model":"m","fork_point":"x","title":null}}', Meta(model="m")),
        (b'{"type":"meta"}', Unreadable),
        (b'{"type":"meta","meta":{"id":"a","id":"b"}}', Meta(id="b")),
        (b'{"type":"later"}', Other("later")),
        (b"{}", Other("")),
        (b'{"type":null}', Other("")),
        (b'{"type":5}', Unreadable),
        (b"[]", Unreadable),
        (b"\0\0", Unreadable),
        (b'{"type":"message"}', Unreadable),
        (b'{"type":"message","message":{"role":"system","content":[{"text":"hi"}]}}', Unreadable),
        (b'{"type":"message","message":' + b"[" * 100_000, Unreadable),
        (b'{"type":"message","message":{"role":"user","content":[{"text":' + b"9" * 5000 + b"}]}}", Unreadable),
    ],
)  # fmt: skip
def test_rows_by_other_hands(line, row):
    found = read_row(line)
    assert found == row if not isinstance(row, type) else isinstance(found, row), found


def test_a_file_cut_at_each_byte_keeps_all_whole_rows_and_goes_on(tmp_path):
    data = (ZOT / "plain.jsonl").read_bytes()
    path = tmp_path / "cut.jsonl"
    whole = load(ZOT / "plain.jsonl")
    first = data.index(b"\n")
    for size in range(first, len(data)):
        path.write_bytes(data[:size])
        rows = data[:size].count(b'{"type":"message"')
        found = load(path, with_said=True)
        assert found.message_rows in (rows, rows - 1)
        assert found.said == whole.messages[: len(found.said)]
        if size % 50 == 0:
            file, _ = SessionFile.reopen(path)
            file.message(said("on"))
            file.close()
            after = load(path)
            assert after.message_rows == found.message_rows + 1
            assert after.messages[-1] == said("on")


@pytest.mark.parametrize("reasoning", [None, 0, 5])
def test_what_is_known_of_reasoning_is_kept(reasoning):
    totals = Totals(1, 9, 0, 0, None, reasoning=reasoning)
    assert read_row(usage_line(totals).rstrip()) == totals


def test_the_tools_that_a_result_has_activated_are_kept_as_zot_keeps_them():
    message = Message("tool", (ToolResult("i", (Text("loaded"),)),), TIME, ("weather", "moon"))
    line = message_line(message)
    assert json.loads(line)["message"]["added_tool_names"] == ["weather", "moon"]
    assert read_row(line) == message
    assert b"added_tool_names" not in message_line(replace(message, added_tools=()))


@pytest.mark.parametrize("names", ["weather", {"weather": 1}, [1, None], 3, None, []])
def test_activated_tools_of_a_wrong_form_are_left_out(names):
    row = json.loads(message_line(Message("tool", (ToolResult("i", (Text("loaded"),)),), TIME)))
    row["message"]["added_tool_names"] = names
    read = read_row(json.dumps(row).encode())
    assert isinstance(read, Message)
    assert (read.content, read.added_tools) == ((ToolResult("i", (Text("loaded"),)),), ())
