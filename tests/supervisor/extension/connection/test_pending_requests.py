"""Each answer goes to its request; a bad one fails its request at once, and later requests are not hurt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.loop.future import Failure
from tests.support.host import AT_ONCE

if TYPE_CHECKING:
    from tests.support.host import Host


pytestmark = pytest.mark.usefixtures("healthy")


def test_a_late_answer_is_not_taken_for_the_next_one(host: Host):
    host.add("answers_late", timeouts={"tool_call": 0.3})
    host.start()
    assert host.call("late").failure is Failure.TIMEOUT
    assert host.text("late") == "answer to 2"
    assert "an answer to '1', which no request waits for" in host.log("answers_late")


def test_junk_between_frames_is_skipped(host: Host):
    host.add("junk_between")
    host.start()
    assert host.tools() == {"echo"}
    answer = host.call_of("junk_between", "echo", text="through")
    assert answer.frame.content[0].text == "through"
    assert host.cost("junk_between").junk_lines == 3 * 4
    junk = [line for _, line in host.said_of("junk_between") if "not messages" in line]
    assert junk == ["writes lines that are not messages to its stdout; they are skipped and counted"]


ANSWERS = {
    "another kind of frame": (
        'send(type="event_intercept_response", id=frame["id"])',
        "it answered a tool call with event_intercept_response",
    ),
    "a field of the wrong type": (
        'send(type="tool_result", id=frame["id"], content="text")',
        "bad tool_result frame: Expected `array | null`, got `str` - at `$.content`",
    ),
    "a number as id": (
        'send(type="tool_result", id=int(frame["id"]), content=[])',
        "bad tool_result frame: Expected `str`, got `int` - at `$.id`",
    ),
    "no id": (
        'send(type="tool_result", content=[])',
        "bad tool_result frame: Object missing required field `id`",
    ),
    "no type": ('send(id=frame["id"], content=[])', "the frame has no type"),
    "too many blocks": (
        'send(type="tool_result", id=frame["id"], content=[{"type": "text"}] * 20_000)',
        "bad tool_result frame: Expected `array` of length <= 10000 - at `$.content`",
    ),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_bad_answer_fails_its_call_at_once(host: Host, answer: str):
    code, reason = ANSWERS[answer]
    host.write("bad", f'hello("a")\nsend(type="ready")\nfor frame in frames(): {code}', timeouts={"tool_call": 60})
    host.start()
    given, seconds = host.timed(host.call, "a")
    assert seconds < AT_ONCE + 2
    assert (given.failure, given.reason) == (Failure.BAD_ANSWER, reason)
    assert host.said_of("bad") == [("warning", f"its tool a failed: {reason}")]
    assert host.cost("bad").errors == 1


ODD_TEXTS = {
    "lone surrogate": (rb"cut \ud83d", "cut \ufffd"),
    "latin-1": (b"caf\xe9", "caf\ufffd"),
    "NUL and U+2028": (rb"a\u0000b\u2028c", "a\0b\u2028c"),
    "ANSI": (rb"\u001b[31mred", "\x1b[31mred"),
}


@pytest.mark.parametrize("odd", ODD_TEXTS)
def test_odd_text_arrives(host: Host, odd: str):
    written, text = ODD_TEXTS[odd]
    line = b'{"type":"tool_result","id":"%b","content":[{"type":"text","text":"' + written + b'"}]}\n'
    host.write(
        "odd", f'hello("a")\nsend(type="ready")\nfor frame in frames(): os.write(1, {line!r} % frame["id"].encode())'
    )
    host.start()
    assert host.text("a") == text


def test_a_large_argument_reaches_a_reader(host: Host):
    host.add("big_reader")
    host.start()
    assert host.text("length", text="x" * 3_000_000) == "3000000"


def test_an_answer_from_another_extension_is_ignored(host: Host):
    flood = (
        'for n in range(1, 200): send(type="tool_result", id=str(n), content=[{"type": "text", "text": "stolen"}])\n'
    )
    host.write("thief", 'hello("t")\nsend(type="ready")\n' + flood + 'for f in frames(): result(f, "true")')
    host.start()
    host.until(lambda: host.cost("thief").frames_in > 200)
    assert host.text("echo", text="mine") == "mine"
    assert host.text("t") == "true", "nor before it was asked"
