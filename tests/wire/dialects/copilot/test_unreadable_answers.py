"""Answers of guards that cannot be read: a refusal in them counts, whatever else they hold. No question waits on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.copilot_talk import Talk, dumped, opened
from wire import frames
from wire.dialects.base import GuardAnswer
from wire.dialects.copilot.hooks import THROWN
from wire.dialects.copilot.session import PERMISSION_ANSWER
from wire.dialects.long_lines import LIMITS, SHORT, STRINGS_LIMIT
from wire.dialects.verdict import VerdictKind
from wire.framing.content_length import add_header

CALL = frames.Event("tool_call", tool_id="c", tool_name="bash", tool_args=frames.Raw(b'{"command":"ls"}'))
DEEP = b"[" * 10_000 + b"]" * 10_000
UNREADABLE = {
    "too deep": b'"modifiedArgs":{"a":' + DEEP + b"}",
    "too large": b'"permissionDecisionReason":"' + b"x" * LIMITS["event_intercept_response"] + b'"',
    "too many strings": b'"modifiedArgs":[' + b'"",' * STRINGS_LIMIT + b'"' + b"x" * SHORT + b'"]',
    "not JSON": b'"modifiedArgs":NaN',
    "half a character": b'"additionalContext":"' + b"x" * 2_000_000 + b'\\ud800"',
}


def asked(talk: Talk) -> int:
    """The number of the question to its hook."""
    (question,) = talk.keep(talk.session.ask("7", CALL))
    number: int = question["id"]
    return number


def answer(number: int, output: bytes) -> bytes:
    return add_header(b'{"jsonrpc":"2.0","id":%d,"result":{"output":{%b}}}' % (number, output))


@pytest.mark.parametrize("wrong", UNREADABLE.values(), ids=UNREADABLE.keys())
@pytest.mark.parametrize("is_first", [True, False])
def test_a_denial_is_a_block_whatever_else_is_in_the_answer(wrong: bytes, is_first: bool) -> None:
    talk = opened(hooks=True)
    deny = b'"permissionDecision" : "deny"'
    (verdict,) = talk.hear(answer(asked(talk), b",".join([deny, wrong] if is_first else [wrong, deny])))
    assert isinstance(verdict, GuardAnswer)
    assert (verdict.id, verdict.verdict.kind) == ("7", VerdictKind.DENY)
    assert "denies it; the rest of its answer cannot be read: " in verdict.verdict.reason
    assert len(verdict.verdict.reason) < 500


@pytest.mark.parametrize("wrong", UNREADABLE.values(), ids=UNREADABLE.keys())
@pytest.mark.parametrize("says", [b'"permissionDecision":"allow"', b'"x":"\\"permissionDecision\\":\\"deny\\""'])
def test_without_a_denial_it_is_no_verdict_at_once(wrong: bytes, says: bytes) -> None:
    talk = opened(hooks=True)
    (verdict,) = talk.hear(answer(asked(talk), says + b"," + wrong))
    assert isinstance(verdict, frames.Malformed)
    assert verdict.id == "7"


def test_the_word_in_the_answer_of_another_hook_is_nothing() -> None:
    talk = opened(hooks=True)
    (question,) = talk.keep(talk.session.ask("7", frames.Event("user_prompt", text="hi")))
    (verdict,) = talk.hear(answer(question["id"], b'"permissionDecision":"deny",' + UNREADABLE["too deep"]))
    assert isinstance(verdict, frames.Malformed)


def test_what_a_handler_has_thrown_is_no_denial() -> None:
    talk = opened(hooks=True)
    output = dumped({THROWN: "x", "permissionDecision": "deny"})[1:-1]
    (verdict,) = talk.hear(answer(asked(talk), output))
    assert isinstance(verdict, frames.Malformed)


def permission(talk: Talk, *, hook_asks: bool) -> str:
    """The id of a request to its permission handler."""
    number = asked(talk)
    output = b'"permissionDecision":"ask","permissionDecisionReason":"sure?"' if hook_asks else b""
    before = len(talk.sent)
    talk.hear(answer(number, output))
    request_id: str = talk.sent[before]["params"]["event"]["data"]["requestId"]
    return request_id


@pytest.mark.parametrize(
    ("kind", "hook_asks", "blocked"),
    [
        ("reject", False, True),
        ("denied-by-rules", True, True),
        ("approve-once", True, True),
        ("approved", False, False),
    ],
)
def test_an_answer_of_the_permission_handler_that_is_too_long(kind: str, hook_asks: bool, blocked: bool) -> None:
    talk = opened(hooks=True, requestPermission=True)
    request_id = permission(talk, hook_asks=hook_asks)
    params: dict[str, Any] = {"sessionId": "s-1", "requestId": request_id}
    (verdict,), refusal = talk.request(PERMISSION_ANSWER, **params, result={"kind": kind, "feedback": "x" * SHORT})
    assert "over the limit" in refusal["error"]["message"]
    if blocked:
        assert isinstance(verdict, GuardAnswer)
        assert verdict.verdict.kind is VerdictKind.DENY
    else:
        assert isinstance(verdict, frames.Malformed)
    assert verdict.id == "7"


def test_an_unreadable_answer_to_no_permission_request_is_told() -> None:
    talk = opened(requestPermission=True)
    (told,), _ = talk.request(PERMISSION_ANSWER, sessionId="s-1", requestId="9", result={"kind": "x" * SHORT})
    assert isinstance(told, frames.Malformed)
    assert told.id is None
