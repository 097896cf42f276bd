"""Messages to a client and back: nothing is lost with `full`, and what the API would refuse is refused."""

from __future__ import annotations

import base64

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.rpc.messages import UnfitMessageError, to_transcript
from agent.sessions.export.client_messages import client_messages
from agent.transcript import Image, Message, Text, Thinking, ToolCall, ToolResult
from wire.rpc import messages

GIF = base64.b64encode(b"GIF89a and more").decode()
PARTS = st.builds(Text, st.text(max_size=5)) | st.just(Image("image/gif", GIF))
WRITTEN = st.sampled_from([b"{}", b'{"a":\n1}', b'{"a": 1.10}', b"{bad", "{é".encode()])


@st.composite
def transcripts(draw):
    found = []
    for number in range(draw(st.integers(0, 4))):
        found.append(Message("user", tuple(draw(st.lists(PARTS, min_size=1, max_size=2))), "2026-01-01T00:00:00Z"))
        calls = tuple(ToolCall(f"t{number}-{n}", "bash", draw(WRITTEN)) for n in range(draw(st.integers(0, 2))))
        thought = draw(st.lists(st.builds(Thinking, st.text(max_size=3), st.text(max_size=3)), max_size=1))
        found.append(Message("assistant", (*thought, Text("so"), *calls), "2026-01-01T00:00:01Z"))
        if calls:
            results = tuple(ToolResult(call.id, (draw(PARTS),), draw(st.booleans())) for call in calls)
            found.append(Message("tool", results, "2026-01-01T00:00:02Z"))
    return found


@given(transcripts())
def test_with_full_a_transcript_comes_back_whole(transcript):
    line = msgspec.json.encode(client_messages(transcript, full=True))
    assert b"\n" not in line
    assert to_transcript(msgspec.json.decode(line, type=tuple[messages.Message, ...])) == transcript


@given(transcripts())
def test_without_full_there_is_neither_reasoning_nor_data(transcript):
    line = msgspec.json.encode(client_messages(transcript, full=False))
    assert b'"type":"thinking"' not in line
    assert b'"data":' not in line
    assert b"args_text" not in line
    assert line.count(b'"bytes":15') == line.count(b"image/gif")


def given_messages(*pairs):
    line = msgspec.json.encode([{"role": role, "content": content} for role, content in pairs])
    return msgspec.json.decode(line, type=tuple[messages.Message, ...])


CALL = {"type": "tool_call", "id": "t1", "name": "bash", "args": {}}
RESULT = {"type": "tool_result", "call_id": "t1", "content": [{"type": "text", "text": "up"}]}
SAID = {"type": "text", "text": "go"}


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ([("assistant", [SAID])], "messages[0]: a conversation begins with role user, not assistant"),
        ([("user", [CALL])], "messages[0].content[0]: a message of role user has no block of type tool_call"),
        ([("user", [SAID]), ("assistant", [CALL])], "messages[1]: its calls ['t1'] have no results"),
        ([("user", [SAID]), ("tool", [RESULT])], "messages[1]: it has results of the calls ['t1'], and those before"),
        ([("user", [SAID]), ("assistant", [CALL]), ("user", [SAID])], "messages[2]: it has results of the calls []"),
        ([("user", [{"type": "image", "mime_type": "image/gif"}])], "messages[0].content[0]: an image needs its data"),
        ([("user", [{"type": "image", "mime_type": "image/gif", "data": "?"}])], "content[0].data: not base64"),
        ([("user", [{"type": "image", "mime_type": "image/gif", "data": "aGk="}])], "no PNG, JPEG, GIF or WebP"),
        ([("user", [{"type": "image", "mime_type": "image/png", "data": GIF}])], "but the bytes are image/gif"),
    ],
)
def test_what_the_api_would_refuse_is_refused(pairs, why):
    with pytest.raises(UnfitMessageError) as refused:
        to_transcript(given_messages(*pairs))
    assert why in str(refused.value)


def test_an_image_that_is_too_large_is_refused():
    data = base64.b64encode(b"GIF89a" + b"x" * 4_000_000).decode()
    with pytest.raises(UnfitMessageError, match="more than 3932160 bytes"):
        to_transcript(given_messages(("user", [{"type": "image", "mime_type": "image/gif", "data": data}])))
