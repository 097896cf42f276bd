"""The outputs of hooks: every field of the guide's tables, and whatever else a handler may return."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.calls.guard_chain import allowed_part
from tests.support.any_json import json_values
from tests.support.copilot_verdicts import Talk, dumped, tool_call, tool_result
from wire import frames
from wire.dialects.base import GuardAnswer, Remarked, Warned
from wire.dialects.copilot.hooks import FIELDS, OutputError, read_output
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind

PROMPT = frames.Event("user_prompt", text="hi")
START = frames.Event("session_start", source="new")
END = frames.Event("session_end", reason="complete")
ERROR = frames.Event("error", error="x", error_context="system", recoverable=True)
DENY, ASK = VerdictKind.DENY, VerdictKind.ASK
CALL = tool_call(command="ls", timeout=3)
RESULT = tool_result("one", "two")
EVENTS = {
    "preToolUse": CALL,
    "postToolUse": RESULT,
    "postToolUseFailure": tool_result("boom", is_error=True),
    "userPromptSubmitted": PROMPT,
    "sessionStart": START,
    "sessionEnd": END,
    "errorOccurred": ERROR,
}


def verdict(event: frames.Event, output: Any) -> GuardVerdict:
    """The verdict, which is all that comes of the output."""
    (response,), sent = Talk().judge(event, output)
    assert sent == b""
    assert isinstance(response, GuardAnswer)
    assert response.id == "c1"
    return response.verdict


def fault(event: frames.Event, output: Any) -> str:
    (message,), sent = Talk().judge(event, output)
    assert sent == b""
    assert isinstance(message, frames.Malformed)
    assert message.id == "c1"
    return message.reason


def plain(kind: VerdictKind = VerdictKind.ALLOW, reason: str = "", **fields: Any) -> GuardVerdict:
    return GuardVerdict(kind, reason, **fields)


# --- every field --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", [None, {}, {"additionalContext": None}])
@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_nothing_allows(event: frames.Event, output: Any):
    assert verdict(event, output) == ALLOW


@pytest.mark.parametrize(
    ("event", "output", "expected"),
    [
        (PROMPT, {"modifiedPrompt": "ho"}, plain(replace_text="ho")),
        (PROMPT, {"modifiedPrompt": "hi"}, plain()),
        (PROMPT, {"additionalContext": "c"}, plain(additional_context="c")),
        (CALL, {"permissionDecision": "allow"}, plain()),
        (CALL, {"permissionDecision": "allow", "permissionDecisionReason": "fine"}, plain()),
        (CALL, {"permissionDecision": "deny"}, plain(DENY)),
        (CALL, {"permissionDecision": "deny", "permissionDecisionReason": "no"}, plain(DENY, "no")),
        (CALL, {"permissionDecision": "ask", "permissionDecisionReason": "hm"}, plain(ASK, "hm")),
        (
            CALL,
            {"permissionDecision": "ask", "additionalContext": "c"},
            plain(ASK, "the extension wants a person to decide", additional_context="c"),
        ),
        (CALL, {"modifiedArgs": {"command": "pwd"}}, plain(modified_args=b'{"command":"pwd"}')),
        (CALL, {"modifiedArgs": {"timeout": 3.0, "command": "ls"}}, plain()),
        (CALL, {"additionalContext": "c"}, plain(additional_context="c")),
        (CALL, {"additionalContext": ""}, plain()),
        (
            CALL,
            {"permissionDecision": "allow", "modifiedArgs": {"command": "pwd"}, "additionalContext": "c"},
            plain(modified_args=b'{"command":"pwd"}', additional_context="c"),
        ),
        (RESULT, {"additionalContext": "c"}, plain(additional_context="c")),
        (EVENTS["postToolUseFailure"], {"additionalContext": "c"}, plain(additional_context="c")),
        (START, {"additionalContext": "c"}, plain(additional_context="c")),
        (END, {"sessionSummary": "s"}, plain(session_summary="s")),
        (ERROR, {"errorHandling": "retry"}, plain(error_handling="retry", retry_count=1)),
        (ERROR, {"errorHandling": "retry", "retryCount": 2}, plain(error_handling="retry", retry_count=2)),
        (ERROR, {"errorHandling": "retry", "retryCount": -1e300}, plain(error_handling="retry", retry_count=0)),
        (ERROR, {"errorHandling": "retry", "retryCount": 1e300}, plain(error_handling="retry", retry_count=1000)),
        (ERROR, {"errorHandling": "skip"}, plain(error_handling="skip")),
        (ERROR, {"errorHandling": "abort", "userNotification": "n"}, plain(error_handling="abort", notification="n")),
        (ERROR, {"userNotification": "n"}, plain(notification="n")),
    ],
)
def test_what_a_field_does(event: frames.Event, output: dict, expected: GuardVerdict):
    assert verdict(event, output) == expected


def test_rewritten_arguments_are_those_of_the_agents_tool():
    response = verdict(tool_call("write", path="a", content="x"), {"modifiedArgs": {"path": "a", "file_text": "y"}})
    assert json.loads(response.modified_args or b"") == {"path": "a", "content": "y"}


def modified(output: Any, event: frames.Event = RESULT) -> frames.ModifiedResult | None:
    return verdict(event, {"modifiedResult": output}).modified_result


def text(said: str) -> frames.ContentBlock:
    return frames.ContentBlock("text", text=said)


def test_a_result_is_replaced():
    assert modified({"textResultForLlm": "new", "resultType": "success"}) == frames.ModifiedResult([text("new")])


def test_a_result_is_replaced_by_a_text():
    assert modified("new") == frames.ModifiedResult([text("new")])


def test_a_result_that_comes_back_as_it_was_is_not_rewritten():
    assert modified({"textResultForLlm": "one\ntwo", "resultType": "success"}) is None


@pytest.mark.parametrize("kind", ["failure", "rejected", "denied", "timeout"])
def test_a_result_becomes_an_error(kind: str):
    assert modified({"textResultForLlm": "new", "resultType": kind}) == frames.ModifiedResult([text("new")], True)
    assert modified({"textResultForLlm": "one\ntwo", "resultType": kind}) == frames.ModifiedResult(
        [text("one"), text("two")], True
    )
    assert modified({"textResultForLlm": "", "resultType": kind, "error": "e"}) == frames.ModifiedResult(
        [text("e")], True
    )
    without = modified({"textResultForLlm": "", "resultType": kind})
    assert without is not None
    assert without.content[0].text


def test_images_of_a_result_are_kept_and_replaced():
    image = frames.ContentBlock("image", mime_type="image/png", data="AAAA")
    event = frames.Event("tool_result", tool_name="read", content=[image, text("x")])
    told = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    same = {"textResultForLlm": "x", "resultType": "success", "binaryResultsForLlm": [told]}
    assert modified(same, event) is None
    assert modified(same | {"textResultForLlm": "y"}, event) == frames.ModifiedResult([text("y"), image])
    assert modified(same | {"binaryResultsForLlm": None}, event) == frames.ModifiedResult([text("x")])
    pdf = {"type": "resource", "mimeType": "application/pdf", "data": "AAAA"}
    assert modified(same | {"binaryResultsForLlm": [pdf]}, event) == frames.ModifiedResult(
        [text("x"), text("[a file of type application/pdf, 3 bytes]")]
    )


def test_the_log_line_of_a_modified_result_is_logged():
    output = {"modifiedResult": {"textResultForLlm": "new", "resultType": "success", "sessionLog": "a\nb"}}
    assert Talk().judge(RESULT, output)[0] == [
        frames.Log("a\nb"),
        GuardAnswer("c1", plain(modified_result=frames.ModifiedResult([text("new")]))),
    ]


def test_cleanup_actions_are_logged_and_shown():
    messages, _ = Talk().judge(END, {"sessionSummary": "s", "cleanupActions": ["removed\nx", "stopped y"]})
    assert messages == [
        frames.Log("cleanup: removed x", "info"),
        frames.Notify("info", "cleanup: removed x"),
        frames.Log("cleanup: stopped y", "info"),
        frames.Notify("info", "cleanup: stopped y"),
        GuardAnswer("c1", plain(session_summary="s")),
    ]


def test_of_many_cleanup_actions_twenty_lines_are_shown():
    messages, _ = Talk().judge(END, {"cleanupActions": [f"a{number}" for number in range(30)]})
    assert len(messages) == 41
    assert messages[-2] == frames.Notify("info", "cleanup: 11 more actions")


# --- what is wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "output", "said"),
    [
        (CALL, "deny", "its hook onPreToolUse returned a string, not an object"),
        (CALL, [], "its hook onPreToolUse returned a list, not an object"),
        (CALL, False, "its hook onPreToolUse returned false, not an object"),
        (CALL, {"permissionDecision": "block"}, 'permissionDecision is "block", not allow, deny or ask'),
        (CALL, {"permissionDecision": "Deny"}, 'permissionDecision is "Deny", not allow, deny or ask'),
        (CALL, {"permissionDecision": True}, "permissionDecision is true, not allow, deny or ask"),
        (CALL, {"permissionDecisionReason": 7}, "permissionDecisionReason is a number, not a string"),
        (CALL, {"modifiedArgs": "ls"}, "modifiedArgs is a string, not an object"),
        (CALL, {"additionalContext": ["c"]}, "additionalContext is a list, not a string"),
        (RESULT, {"additionalContext": {}}, "additionalContext is an object, not a string"),
        (RESULT, {"modifiedResult": 7}, "modifiedResult is not a tool result: Expected `str | object`, got `int`"),
        (RESULT, {"modifiedResult": {}}, "Object missing required field `textResultForLlm`"),
        (RESULT, {"modifiedResult": {"textResultForLlm": 7}}, "Expected `str`, got `int` - at `$.textResultForLlm`"),
        (
            RESULT,
            {"modifiedResult": {"textResultForLlm": "x", "resultType": "ok"}},
            "its resultType is 'ok', not one of success, failure, rejected, denied, timeout",
        ),
        (
            RESULT,
            {"modifiedResult": {"textResultForLlm": "x", "error": 1}},
            "Expected `str | null`, got `int` - at `$.error`",
        ),
        (
            RESULT,
            {"modifiedResult": {"textResultForLlm": "x", "binaryResultsForLlm": {}}},
            "Expected `array | null`, got `object` - at `$.binaryResultsForLlm`",
        ),
        (
            RESULT,
            {"modifiedResult": {"textResultForLlm": "x", "binaryResultsForLlm": [{"mimeType": "image/png"}]}},
            "Object missing required field `data` - at `$.binaryResultsForLlm[0]`",
        ),
        (PROMPT, {"modifiedPrompt": 7}, "modifiedPrompt is a number, not a string"),
        (START, {"additionalContext": 7}, "additionalContext is a number, not a string"),
        (END, {"sessionSummary": 7}, "sessionSummary is a number, not a string"),
        (END, {"cleanupActions": "x"}, "cleanupActions is a string, not a list"),
        (END, {"cleanupActions": ["x", 7]}, "cleanupActions[1] is a number, not a string"),
        (ERROR, {"errorHandling": "ignore"}, 'errorHandling is "ignore", not retry, skip or abort'),
        (ERROR, {"retryCount": "2"}, "retryCount is a string, not a whole number"),
        (ERROR, {"retryCount": 2.5}, "retryCount is a number, not a whole number"),
        (ERROR, {"retryCount": True}, "retryCount is true, not a whole number"),
        (ERROR, {"userNotification": 7}, "userNotification is a number, not a string"),
    ],
)
def test_a_field_of_the_wrong_type_is_no_verdict_and_is_named(event: frames.Event, output: Any, said: str):
    assert fault(event, output).endswith(said)


@pytest.mark.parametrize(
    "wrong", [{"modifiedArgs": 7}, {"additionalContext": 7}, {"permissionDecisionReason": 7}, {"other": 7}]
)
def test_deny_is_deny_whatever_else_is_wrong(wrong: dict):
    (*_, response), _ = Talk().judge(CALL, {"permissionDecision": "deny", **wrong})
    assert isinstance(response, GuardAnswer)
    assert response.verdict.kind is DENY


def test_a_question_about_something_that_cannot_be_understood_is_a_block():
    output = {"permissionDecision": "ask", "permissionDecisionReason": "sure?", "modifiedArgs": 7}
    said = "sure? (in the output of its hook onPreToolUse modifiedArgs is a number, not an object)"
    assert verdict(CALL, output) == plain(DENY, said)


def test_a_handler_that_threw_gives_no_verdict():
    assert fault(CALL, {"zotHookError": "x is not\na function"}) == "its hook onPreToolUse threw: x is not a function"
    assert fault(CALL, {"zotHookError": {}, "permissionDecision": "allow"}) == "its hook onPreToolUse threw: {}"


def test_the_user_is_told_once_of_a_field_that_is_unknown_and_the_log_of_one_that_has_no_effect():
    talk = Talk()
    output = {"suppressOutput": True, "permissionDecison": "deny"}
    assert talk.judge(CALL, output)[0] == [
        Remarked("'suppressOutput' in the output of its hook onPreToolUse has no effect"),
        Warned(
            "hook output permissionDecison",
            "'permissionDecison' in the output of its hook onPreToolUse has no effect; known are additionalContext, "
            "modifiedArgs, permissionDecision, permissionDecisionReason",
        ),
        GuardAnswer("c1", ALLOW),
    ]
    assert talk.judge(CALL, output)[0] == [GuardAnswer("c2", ALLOW)]


def test_a_field_of_another_hook_has_no_effect():
    messages, _ = Talk().judge(EVENTS["postToolUseFailure"], {"modifiedResult": "new"})
    assert [type(message) for message in messages] == [Warned, GuardAnswer]
    assert messages[-1] == GuardAnswer("c1", ALLOW)


def test_a_hook_that_nobody_knows_may_return_anything():
    messages, _ = Talk().judge(frames.Event("turn_start"), {"x": 1})
    assert [type(message) for message in messages] == [Remarked, GuardAnswer]


def test_fields_without_an_effect_are_not_named_for_ever():
    messages, _ = Talk().judge(CALL, {f"field {number}": 1 for number in range(500)})
    assert len(messages) == 101


# --- anything -----------------------------------------------------------------------------------------------

NAMES = sorted({name for names in FIELDS.values() for name in names} | {"zotHookError", "x"})
WORDS = st.sampled_from(["allow", "deny", "ask", "retry", "skip", "abort", "success", "failure", ""])
RESULTS = st.fixed_dictionaries(
    {},
    optional={
        "textResultForLlm": WORDS | json_values,
        "resultType": WORDS | json_values,
        "error": WORDS | json_values,
        "sessionLog": WORDS | json_values,
        "binaryResultsForLlm": json_values
        | st.lists(st.dictionaries(st.sampled_from(["type", "mimeType", "data"]), WORDS | json_values), max_size=2),
    },
)
OUTPUTS = json_values | st.dictionaries(st.sampled_from(NAMES), WORDS | RESULTS | json_values, max_size=5)


@given(st.sampled_from(sorted(EVENTS)), OUTPUTS)
def test_whatever_a_hook_returns_becomes_one_legal_verdict_or_none(hook: str, output: Any):
    event = EVENTS[hook]
    try:
        text = json.dumps(output, allow_nan=False).encode()
    except ValueError:
        text = json.dumps(output).encode()  # no JSON: it cannot be read
    talk = Talk()
    messages, sent = talk.answer(talk.ask(event), b'{"output":%b}' % text)
    assert sent == b""
    *besides, last = messages
    assert all(isinstance(each, Remarked | Warned | frames.Log | frames.Notify) for each in besides)
    assert isinstance(last, GuardAnswer | frames.Malformed)
    assert last.id == "c1"
    if isinstance(last, GuardAnswer):
        assert msgspec.convert(msgspec.to_builtins(last.verdict), GuardVerdict) == last.verdict
        assert allowed_part(event.event, last.verdict).kind is not VerdictKind.NO_VERDICT
    if hook == "preToolUse" and isinstance(output, dict) and not output.get("zotHookError"):
        said = output.get("permissionDecision")
        if said in ("deny", "ask") and not isinstance(last, frames.Malformed):
            assert last.verdict.kind in (DENY, ASK)


@given(OUTPUTS)
def test_the_reader_raises_one_kind_of_error(output: Any):
    try:
        read_output("preToolUse", output, CALL, "/repo")
    except OutputError as error:
        named = str(error)
    else:
        named = "onPreToolUse"
    assert "onPreToolUse" in named


# --- answers that are no output -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": {"code": -32603, "message": "Session not found: x"}}, "was not carried out: Session not found: x"),
        ({"error": "boom"}, "was not carried out: boom"),
        ({"error": None}, "has no result"),
        ({"result": 7}, "is a number, not an object"),
        ({"result": "deny"}, "is a string, not an object"),
    ],
)
def test_an_answer_that_is_no_output_is_no_verdict(answer: dict, said: str):
    talk = Talk()
    (message,), sent = talk.answer(talk.ask(CALL), answer)
    assert isinstance(message, frames.Malformed)
    assert sent == b""
    assert message.id == "c1"
    assert message.reason.endswith(said)
    assert "onPreToolUse" in message.reason


def test_an_answer_with_too_many_parts_is_no_verdict():
    talk = Talk()
    output = b'{"output":{"additionalContext":[%b]}}' % b",".join([b'""'] * 200_000)
    (message,), _ = talk.answer(talk.ask(CALL), output)
    assert isinstance(message, frames.Malformed)
    assert "strings" in message.reason


def test_a_long_rewritten_result_is_taken():
    talk = Talk()
    long = "x" * 4_000_000
    output = dumped({"output": {"modifiedResult": {"textResultForLlm": long, "resultType": "success"}}})
    (response,), _ = talk.answer(talk.ask(RESULT), output)
    assert response.verdict == plain(modified_result=frames.ModifiedResult([text(long)]))


def test_half_a_character_is_mended():
    talk = Talk()
    (response,), _ = talk.answer(talk.ask(PROMPT), b'{"output":{"additionalContext":"a\\ud83d"}}')
    assert response.verdict == plain(additional_context="a\ufffd")


def test_unchanged_arguments_stay_unset():
    assert verdict(CALL, {"modifiedArgs": None}).modified_args is None
