"""Other output of servers on stdout: junk, headers, broken and overlong messages."""

from __future__ import annotations

import tracemalloc

import pytest

from tests.support.mcp_dialect_talk import Talk, dumped, initialized, opened, text_result, tool
from wire import frames
from wire.dialects.base import Remarked, Unusable
from wire.dialects.long_lines import SHORT, STRINGS_LIMIT
from wire.dialects.mcp.limits import ANSWER, PAGE, PARTS_LIMIT, limit_of
from wire.dialects.mcp.lists.list_state import ELEMENTS
from wire.framing import Oversize

JUNK = [
    b"Listening on stdio", b"{", b"{]", b"[1,", b"null", b"5", b'"x"', b"[5]", b"{}", b'{"level":30,"msg":"up"}',
    b"\xff\xfe\x00", b'{"id":5}', b'{"method":5}', b"[" * 100_000, b'{"a":' * 100_000, b"data: {}", b"Usage: x",
]  # fmt: skip


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: junk[:20].decode("latin-1"))
def test_junk_is_counted_and_costs_nothing(junk: bytes):
    talk = opened()
    sent = talk.call("7")
    (bad,) = talk.hear(junk + b"\n")
    assert isinstance(bad, frames.Malformed)
    assert (bad.type, bad.id) == (None, None), "it fails no call"
    assert talk.hear({"id": sent["id"], "result": text_result()})[0].id == "7"


@pytest.mark.parametrize("blank", [b"", b"\r", b"  ", b"\xef\xbb\xbf", b"\t\r"])
def test_blank_lines_are_nothing(blank: bytes):
    assert opened().hear(blank + b"\n") == []


@pytest.mark.parametrize(
    "before", [b"\xef\xbb\xbf", b"\xef\xbb\xbf ", b"  ", b"log: ", b'{"half":"', b'{"a":1}', b'say {"x"']
)
@pytest.mark.parametrize("after", [b"", b"\r", b" "])
def test_an_object_behind_junk_is_read(before: bytes, after: bytes):
    for members in ({"jsonrpc": "2.0"}, {"result": text_result()}):
        talk = opened()
        sent = talk.call("7")
        message = {**members, "result": text_result(), "id": sent["id"]}
        assert talk.hear(before + dumped(message) + after + b"\n")[0].id == "7"
    (log,) = opened().hear(before + b'{"method":"notifications/message","params":{"data":"hi"}}\n')
    assert log.message == "hi"


def test_a_long_answer_behind_junk_is_read():
    talk = opened()
    message = {"result": text_result("x" * 2 * SHORT), "jsonrpc": "2.0", "id": talk.call("7")["id"]}
    assert talk.hear(b"loading " + dumped(message) + b"\n")[0].id == "7"


def test_half_characters_cost_only_themselves():
    talk = opened()
    (result,) = talk.hear(
        b'{"result":{"content":[{"type":"text","text":"a\xffb\\ud83d"}]},"id":%d}\n' % talk.call("7")["id"]
    )
    assert result.content[0].text == "a\ufffdb\ufffd"


@pytest.mark.parametrize("id_first", [True, False])
@pytest.mark.parametrize("broken", [b'{"content":NaN}', b"[" * 2000 + b"]" * 2000, b'{"a":1'])
def test_an_answer_that_cannot_be_read_fails_its_call_at_once(broken: bytes, id_first: bool):
    talk = opened()
    number = talk.call("7")["id"]
    talk.call("8")
    line = (
        b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (number, broken)
        if id_first
        else b'{"result":%b,"jsonrpc":"2.0","id":%d}\n' % (broken, number)
    )
    (bad,) = talk.hear(line)
    assert (type(bad), bad.id) == (frames.Malformed, "7")


def test_a_broken_answer_to_initialize_ends_the_server_by_name():
    talk = Talk()
    talk.hear(b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":NaN}}\n')
    (gone,) = talk.wait_until_due()
    assert isinstance(gone, Unusable)
    assert "bad answer to initialize" in gone.reason


def test_a_question_that_cannot_be_read_is_answered():
    talk = opened()
    (bad, _) = talk.hear(b'{"method":"sampling/createMessage","params":{"x":NaN},"jsonrpc":"2.0","id":"q"}\n')
    assert (bad.type, bad.id) == ("sampling/createMessage", None)
    assert (talk.sent[-1]["id"], talk.sent[-1]["error"]["code"]) == ("q", -32601)


# --- headers ------------------------------------------------------------------------------------------------


def test_a_server_that_speaks_headers_is_named_when_its_hello_is_late():
    talk = Talk()
    assert talk.session.trouble == "it has not answered initialize"
    talk.hear(b'Starting\nContent-Length: 120\r\n\r\n{"jsonrpc":"2.0","method":"window/logMessage","params":{}}')
    assert "Content-Length" in talk.session.trouble
    talk.hear(b"content-length:5\r\n")
    assert "Content-Length" in talk.session.trouble


def test_the_first_junk_is_quoted_when_the_hello_is_late():
    talk = Talk()
    talk.hear(b"Usage: server \x1b[1mFOLDER\x1b[0m\nmore\n")
    assert "'Usage: server FOLDER'" in talk.session.trouble


# --- overlong messages --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b'{"result":{"content":[{"type":"text","text":"%b"}]},"jsonrpc":"2.0","id":%d}',
        b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%b"}]}}',
        b'{"result":{"content":[{"type":"text","text":"%b"}]},"id":"%d"}',
        b'{"id":%d,"error":{"code":5,"message":"%b"}}',
    ],
)
def test_an_overlong_answer_is_named_from_either_end(line: bytes):
    talk = opened()
    number, pad = talk.call("7")["id"], b"x" * ANSWER
    talk.call("8")
    whole = line % ((number, pad) if line.index(b"%d") < line.index(b"%b") else (pad, number))
    heard = []
    for at in range(0, len(whole), 1 << 20):
        heard += talk.hear(whole[at : at + (1 << 20)])
    (bad,) = [*heard, *talk.hear(b"\n")]
    assert bad.id == "7"
    assert bad.reason == f"an answer of {len(whole)} bytes is over the limit of {ANSWER} bytes; dropped"
    assert talk.hear({"id": talk.id_of("tools/call"), "result": text_result()})[0].id == "8"


def test_an_overlong_answer_to_another_request_ends_that():
    talk = Talk()
    talk.hear(b'{"jsonrpc":"2.0","id":1,"result":"%b"}\n' % (b"x" * ANSWER))
    (gone,) = talk.wait_until_due()
    assert isinstance(gone, Unusable)
    talk = Talk()
    talk.answer("initialize", initialized())
    talk.answer("prompts/list", {"prompts": []})
    warned, ready = talk.hear(b'{"result":{"x":"%b"},"jsonrpc":"2.0","id":2}\n' % (b"x" * ANSWER))
    assert "over the limit" in warned.text
    assert ready == frames.Ready()


def test_an_overlong_question_is_answered_and_fails_no_call():
    talk = opened()
    talk.call("7")
    for line in (
        b'{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"x":"%b"}}\n',
        b'{"params":{"x":"%b"},"method":"sampling/createMessage","id":"q"}\n',
    ):
        (bad, _) = talk.hear(line % (b"x" * SHORT))
        assert bad.type == "sampling/createMessage", "no answer, so that no call is failed for it"
        assert talk.sent[-1]["id"] == "q"


@pytest.mark.parametrize(
    "line", [b"junk %b", b'{"method":"notifications/message","params":{"data":"%b"}}', b'[{"x":"%b"}]']
)
def test_an_overlong_line_of_something_else_fails_no_call(line: bytes):
    talk = opened()
    talk.call("7")
    (bad,) = talk.hear(line % (b"x" * SHORT) + b"\n")
    assert isinstance(bad, frames.Malformed)
    assert bad.id is None
    assert bad.type is not None


@pytest.mark.parametrize(
    ("start", "limit"),
    [
        (b'{"result":{"content":[', ANSWER),
        (b'{"jsonrpc":"2.0","id":7,"result":', ANSWER),
        (b'{"jsonrpc":"2.0","id":7,"error":{', ANSWER),
        (b'\xef\xbb\xbf{"jsonrpc": "2.0", "id": 7, "result": {', ANSWER),
        (b'{"_meta":{', ANSWER),
        (b'log {"jsonrpc":"2.0","result":', ANSWER),
        (b'{"jsonrpc":"2.0","method":"notifications/message","params":{', SHORT),
        (b'{"params":{', SHORT),
        (b"[{", SHORT),
        (b"junk", SHORT),
        (b"", SHORT),
    ],
)
def test_only_answers_may_be_long(start: bytes, limit: int):
    assert limit_of(start) == limit


def test_the_limit_of_the_manifest_is_for_all():
    talk = opened(frame_limit=2048)
    talk.call("7")
    (bad,) = talk.hear({"result": text_result("x" * 2048), "jsonrpc": "2.0", "id": talk.id_of("tools/call")})
    assert "over the limit of 2048 bytes" in bad.reason
    assert bad.id == "7"


def test_a_dropped_line_takes_no_memory():
    talk = opened()
    talk.splitter.feed(b'{"method":"notifications/message","params":{"data":"')
    tracemalloc.start()
    try:
        for _ in range(500):
            talk.splitter.feed(b"x" * 65536)
        assert tracemalloc.get_traced_memory()[1] < 2 * SHORT
    finally:
        tracemalloc.stop()


# --- long results -------------------------------------------------------------------------------------------


def test_a_long_result_is_read_with_all_kinds_of_content():
    talk = opened()
    content = [
        {"type": "text", "text": "x" * SHORT, "annotations": {"audience": ["user"]}, "_meta": {"a": [[]]}},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "inside", "mimeType": "text/plain"}},
        {"type": "resource_link", "uri": "file:///b", "name": "b"},
    ]
    result = {"content": content, "structuredContent": {"a": [[[]]] * 10}, "isError": True}
    (read,) = talk.hear({"result": result, "jsonrpc": "2.0", "id": talk.call("7")["id"]})
    assert read.is_error
    assert [block.type for block in read.content] == ["text", "image", "text", "text"]
    assert "inside" in read.content[2].text


@pytest.mark.parametrize(
    "content",
    [[[]] * SHORT, [5] * SHORT, [{"type": "text", "text": [[]] * SHORT}], "x" * SHORT * 2],
    ids=["lists", "numbers", "text of lists", "no list"],
)
def test_a_long_result_of_something_else_is_refused(content: object):
    talk = opened()
    (bad,) = talk.hear({"result": {"content": content}, "jsonrpc": "2.0", "id": talk.call("7")["id"]})
    assert (type(bad), bad.id) == (frames.Malformed, "7")


@pytest.mark.parametrize("member", ["isError", "resultType", "requestState", "inputRequests"])
def test_a_member_of_a_result_that_should_be_short_is_refused_unread(member: str):
    talk = opened()
    result = {**text_result(), member: [[]] * SHORT}
    (bad,) = talk.hear({"result": result, "jsonrpc": "2.0", "id": talk.call("7")["id"]})
    assert (type(bad), bad.id) == (frames.Malformed, "7")
    assert f"{member} of" in bad.reason


def test_a_result_of_many_lists_is_refused_unread():
    talk = opened()
    (bad,) = talk.hear({"result": [[]] * SHORT, "jsonrpc": "2.0", "id": talk.call("7")["id"]})
    assert (bad.id, "over the limit" in bad.reason) == ("7", True)


def test_a_result_full_of_short_strings_is_refused():
    talk = opened()
    content = [{"type": "text"}] * STRINGS_LIMIT
    (bad,) = talk.hear({"result": {"content": content}, "jsonrpc": "2.0", "id": talk.call("7")["id"]})
    assert f"at most {STRINGS_LIMIT}" in bad.reason


def test_structured_content_full_of_short_strings_is_not_read():
    talk = opened()
    result = {**text_result(), "structuredContent": [""] * (2 * STRINGS_LIMIT)}
    assert talk.hear({"result": result, "jsonrpc": "2.0", "id": talk.call("7")["id"]})[0].content[0].text == "done"


def test_a_prompt_has_a_limit():
    talk = opened()
    talk.keep(talk.session.invoke("7", "mcp__desk__p", "x"))
    (bad,) = talk.answer("prompts/get", {"description": "x" * PAGE})
    assert (bad.id, f"limit of {PAGE} bytes" in bad.reason) == ("7", True)


def test_a_prompt_of_many_lists_is_refused_unread():
    talk = opened()
    talk.keep(talk.session.invoke("7", "mcp__desk__p", "x"))
    (bad,) = talk.answer("prompts/get", {"messages": [[]] * PARTS_LIMIT})
    assert (bad.id, "more than 200000 parts" in bad.reason) == ("7", True)


def test_a_list_of_many_nothings_is_refused_and_the_server_goes_on():
    talk = Talk()
    talk.answer("initialize", initialized())
    talk.answer("prompts/list", {"prompts": []})
    warned, ready = talk.answer("tools/list", {"tools": [{}] * PARTS_LIMIT, "nextCursor": "x"})
    assert "more than 200000 parts; continuing without tools" in warned.text
    assert ready == frames.Ready()


def test_of_the_first_page_no_more_is_judged_than_of_the_whole_list():
    talk = Talk()
    talk.answer("initialize", initialized())
    heard = talk.answer("prompts/list", {"prompts": [{"name": 5}] * 10_000, "nextCursor": "x"})
    assert len(heard) < 2 * ELEMENTS + 5


def test_instructions_of_any_length_are_cut():
    talk = Talk()
    hello, instructions = talk.answer("initialize", initialized(instructions="use it well. " * 100_000))
    assert isinstance(hello, frames.Hello)
    assert len(instructions.text.encode()) <= 2048


def test_instructions_have_nothing_that_controls_a_terminal():
    talk = Talk()
    _, instructions = talk.answer("initialize", initialized(instructions="\x1b[31mUse\x1b[0m\x00 it.\n\u202ewell\r"))
    assert instructions.text == "Use it.\nwell"


def test_an_answer_to_initialize_that_is_too_long_says_so():
    for much in ({"instructions": "x" * PAGE}, {"capabilities": [[]] * PARTS_LIMIT}):
        talk = Talk()
        (gone,) = talk.answer("initialize", initialized(**much))
        assert isinstance(gone, Unusable)
        assert gone.reason.startswith("its answer to the first request of ")


def test_a_thousand_pings_in_one_batch_are_answered():
    talk = opened(tool("t"))
    assert talk.hear([{"id": number, "method": "ping"} for number in range(1000)]) == []
    assert [each["id"] for each in talk.sent[-1000:]] == list(range(1000))
    (rest,) = talk.hear([{"id": number, "method": "ping"} for number in range(1500)])
    assert "a batch of 1500 messages" in rest.reason


def test_nothing_is_taken_from_a_server_that_is_given_up():
    talk = Talk()
    talk.answer("initialize", initialized("1999-01-01"))
    for said in ({"id": 1, "result": initialized()}, {"id": 0, "method": "ping"}, b"junk\n"):
        assert talk.hear(said) == []
    messages, reply = talk.session.receive_oversize(Oversize(9, b"{", 5), 0.0)
    assert (list(messages), reply) == ([], b"")
    assert not any(isinstance(message, Remarked) for message in talk.messages)
