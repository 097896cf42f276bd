"""zot's dialect: each neutral message becomes one frame on one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_message import JSON, TEXT, any_of, plain
from tests.support.dialect_session import session_of
from wire import frames
from wire.dialects.base import HOOK_POINTS, GuardAnswer, HostInfo, Warned
from wire.dialects.long_lines import describe_oversize
from wire.dialects.zot import DIALECT, GUARDABLE, OBSERVABLE
from wire.framing import LineSplitter, Oversize
from wire.lenient_json import json_on_one_line

SESSION = session_of()


@given(any_of(frames.EventIntercept), st.integers(1, 10**9).map(str))
def test_a_question_with_its_id_put_in_is_the_frame(asked: frames.EventIntercept, call_id: str):
    fields = {name: getattr(asked, name) for name in asked.__struct_fields__ if name != "id"}
    question = SESSION.ask(call_id, frames.Event(**fields))
    said = json.loads(question)
    assert said == plain(asked) | {"id": call_id}
    assert list(said)[:2] == ["type", "id"]
    frame = frames.decode_from_host(question)
    assert isinstance(frame, frames.EventIntercept)
    assert frame.id == call_id


@given(JSON, st.sampled_from([None, 2, "\r\n"]), st.booleans())
def test_arguments_keep_their_value_on_one_line(value: object, indent: int | str | None, ascii_only: bool):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    line = bytes(json_on_one_line(text))
    assert b"\n" not in line
    assert json.loads(line) == value
    call = SESSION.call("7", "tool", text)
    assert call.count(b"\n") == 1
    assert json.loads(call) == {"type": "tool_call", "id": "7", "name": "tool", "args": value}


def test_numbers_and_escapes_of_arguments_are_not_touched():
    text = rb'{"big": 123456789012345678901234567890, "exact": 1.10, "text": "\u00e9\/\ud83d\ude00\n"}'
    assert bytes(json_on_one_line(text)) == text
    broken = text.replace(b", ", b",\n  ")
    assert json.loads(bytes(json_on_one_line(broken))) == json.loads(text)
    assert b"123456789012345678901234567890" in bytes(json_on_one_line(broken))
    assert b"1.10" in bytes(json_on_one_line(broken))


@given(TEXT, TEXT, TEXT)
def test_the_greeting_has_all_of_zots_members_in_its_order(model: str, cwd: str, folder: str):
    said = json.loads(SESSION.greet(HostInfo("1.2", "anthropic", model, cwd), folder, folder, 0.0))
    assert list(said.items()) == [
        ("type", "hello_ack"),
        ("protocol_version", 1),
        ("zot_version", "1.2"),
        ("provider", "anthropic"),
        ("model", model),
        ("cwd", cwd),
        ("extension_dir", folder),
        ("data_dir", folder),
        ("capabilities", ["call_tool"]),
        ("features", list(frames.FEATURES)),
    ]


def test_an_event_for_several_extensions_is_encoded_once_and_each_gets_its_own_id():
    first, second = session_of(), session_of()
    event = frames.Event("tool_call", tool_id="t", tool_name="bash")
    asked = [first.ask("1", event), second.ask("23", event), first.ask("4", frames.Event("tool_call", tool_id="u"))]
    assert [json.loads(frame)["id"] for frame in asked] == ["1", "23", "4"]
    assert [json.loads(frame)["tool_id"] for frame in asked] == ["t", "t", "u"]
    assert first.tell(event) is second.tell(event)
    assert first.tell(event) is second.tell(event), "the questions between do not matter"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        *((reason, "shutdown") for reason in ("complete", "error", "abort", "timeout", "user_exit", "shutdown", None)),
        ("session_switch", "session_switch"),
        ("cwd_change", "cwd_change"),
    ],
)
def test_observers_hear_of_the_end_of_a_session_in_zots_words_and_guards_in_ours(reason: str | None, said: str):
    event = frames.Event("session_end", reason=reason)
    assert json.loads(SESSION.tell(event))["reason"] == said
    assert json.loads(SESSION.ask("1", event)).get("reason") == reason


def result_told(*content: frames.ContentBlock, is_error: bool = False) -> dict[str, Any]:
    event = frames.Event("tool_result", tool_id="t", tool_name="bash", is_error=is_error, content=list(content))
    assert "result" not in json.loads(SESSION.ask("1", event))
    told = json.loads(SESSION.tell(event))
    assert isinstance(told, dict)
    return told


def text(length: int, character: str = "x") -> frames.ContentBlock:
    return frames.ContentBlock("text", text=character * length)


def test_an_observed_result_has_zots_form_beside_ours():
    told = result_told(text(2), frames.ContentBlock("image", mime_type="image/png", data="AAAA"), is_error=True)
    assert told["result"] == {"content": told["content"], "is_error": True}
    assert told["result"]["content"][1] == {"type": "image", "mime_type": "image/png", "data": "AAAA"}
    assert result_told()["result"] == {"content": [], "is_error": False}


def test_a_long_result_is_cut_for_zot_between_two_characters():
    told = result_told(text(1), text(100_000, "日"), text(5))
    kept = told["result"]["content"]
    assert [len(block["text"].encode()) for block in kept] == [1, 262_143]
    assert told["result"]["truncated"] is True
    assert [len(block["text"]) for block in told["content"]] == [1, 100_000, 5]


def test_ten_thousand_blocks_are_cut_to_zots_number():
    told = result_told(*(text(1) for _ in range(10_000)))
    assert (len(told["result"]["content"]), len(told["content"])) == (128, 10_000)
    assert told["result"]["truncated"] is True


def test_a_result_that_no_zot_could_read_is_told_cut_alone():
    image = frames.ContentBlock("image", mime_type="image/png", data="A" * (6 << 20))
    told = result_told(image, text(3))
    assert "content" not in told
    assert told["result"] == {"content": [{"type": "text", "text": "xxx"}], "is_error": False, "truncated": True}
    assert len(result_told(text(3 << 20))["content"][0]["text"]) == 3 << 20


def test_empty_members_are_left_out():
    assert SESSION.tell(frames.Event("session_start")) == b'{"type":"event","event":"session_start"}\n'
    assert SESSION.tell(frames.Event("turn_start", step=1)) == b'{"type":"event","event":"turn_start","step":1}\n'
    assert SESSION.invoke("1", "greet", "") == b'{"type":"command_invoked","id":"1","name":"greet"}\n'
    assert SESSION.invoke("1", "greet", "a b") == b'{"type":"command_invoked","id":"1","name":"greet","args":"a b"}\n'
    assert SESSION.stop() == b'{"type":"shutdown"}\n'


# Each is the fields of an answer beside its id, and the text of each warning.
UNREAD = [
    ({"blocked": True}, ["'blocked' in its answer about an event has no effect; did you mean 'block'?"]),
    ({"deny": True, "reason": "no"}, ["'deny' in its answer about an event has no effect; to refuse, say block"]),
    ({"Block": True}, ["'Block' in its answer about an event has no effect; did you mean 'block'?"]),
    ({f"x{number}": "y" * 50_000 for number in range(9)}, [f"'x{number}' in its answer about" for number in range(3)]),
    ({"n" * 1000: 1}, [f"'{'n' * 40}' in its answer about"]),
    ({"block": None, "reason": ""}, []),
]


@pytest.mark.parametrize(("fields", "texts"), UNREAD, ids=range(len(UNREAD)))
def test_fields_of_an_answer_that_nothing_reads_are_named(fields: dict[str, Any], texts: list[str]):
    answer = {"type": "event_intercept_response", "id": "7", **fields}
    *warnings, verdict = session_of().receive(json.dumps(answer).encode(), 0.0)[0]
    assert isinstance(verdict, GuardAnswer)
    assert verdict.id == "7"
    assert all(isinstance(each, Warned) for each in warnings)
    assert [each.text[: len(text)] for each, text in zip(warnings, texts, strict=True)] == texts


def test_lines_that_begin_like_a_note_are_notes_or_wrong_and_count_from_the_hello_on():
    session = session_of()
    assert session.note_heads == ()
    session.receive(b'{"type":"hello","name":"x"}', 0.0)
    for head in session.note_heads:
        assert session.receive(head + b'"message":"x"}', 0.0) == ((frames.Notify(message="x"),), b"")
        for rest in (b'"type":"ready"}', b'"type":"tool_result","id":"1"}', b"}", b""):
            (message,), _ = session.receive(head + rest, 0.0)
            assert isinstance(message, frames.Notify | frames.Malformed)


def test_the_events_are_zots_and_ours():
    zots = {
        "session_start", "session_end", "user_prompt_submit", "turn_start", "turn_end", "tool_call",
        "tool_confirmation_requested", "permission_decision", "tool_result", "assistant_message", "pre_compact",
        "post_compact", "subagent_start", "subagent_stop",
    }  # fmt: skip
    assert zots | {"user_prompt", "error", "idle"} == OBSERVABLE
    ours = {"user_prompt", "tool_result", "session_start", "error", "session_end"}
    assert {"tool_call", "turn_start", "assistant_message", "before_agent_start"} | ours == GUARDABLE
    assert DIALECT.guardable == GUARDABLE <= HOOK_POINTS
    assert DIALECT.observable == OBSERVABLE


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            b'{"type":"tool_result","id":"7","content":[',
            "a tool_result frame of 200 bytes is over the limit of 100 bytes; dropped",
        ),
        (b"no frame at all ", "a line of 200 bytes is over the limit of 100 bytes; dropped"),
    ],
)
def test_an_oversize_line_is_described(line: bytes, reason: str):
    splitter = session_of(frame_limit=100).splitter()
    assert isinstance(splitter, LineSplitter)
    (dropped,) = splitter.feed(line.ljust(200, b"x") + b"\n")
    assert isinstance(dropped, Oversize)
    frame = describe_oversize(dropped)
    assert (frame.reason, frame.id) == (reason, "7" if b"id" in line else None)
