"""A client decides where a guard leaves the decision to a person: the records, the requests, and every end."""

from __future__ import annotations

import json
import os
import signal

import pytest

from supervisor.calls.guard_chain import REASON_LENGTH
from tests.support.faulty_run import program
from tests.support.rpc_client import serve
from tests.support.scripted_model import ScriptedModel, says

GUARD = """
hello("echo", intercept=list({answers!r}), events=["permission_decision"])
send(type="register_command", name="call")
send(type="ready")
asked = None
for frame in frames():
    if frame["type"] == "tool_call":
        result(frame, frame["args"].get("text", ""))
    elif frame["type"] == "event":
        with open(sys.argv[1], "a") as log:
            log.write(json.dumps(frame) + "\\n")
    elif frame["type"] == "event_intercept":
        answer = {answers!r}[frame["event"]]
        send(type="event_intercept_response", id=frame["id"], **answer)
"""
ASKS = {"tool_call": {"ask": True, "reason": "it echoes"}}
CALL = says("", ("t1", "echo", {"text": "a"}))
EXTENDED = {"extension_wait": 30.0, "drain_s": 30.0}


def run(folder, script, *replies, answers=ASKS, permissions=True, guards=(), **given):
    """Serves a client that opts in. `guards` are further guards: the answers of each."""
    made = [str(program(folder, "asks", GUARD.format(answers=answers), folder / "told"))]
    for number, more in enumerate(guards):
        source = GUARD.replace('"echo", ', "").format(answers=more)
        made.append(str(program(folder, f"more{number}", source, folder / "told_more")))
    model = ScriptedModel(*replies)

    def greeted(client):
        assert client.ask("hello", permissions=permissions)["success"]
        script(client)

    return serve(folder, model, greeted, extensions=tuple(made), **{**EXTENDED, **given}), model


def begin(client):
    """Sends a prompt. Returns the question in it."""
    client.send("prompt", message="go")
    return client.until("permission_asked")


def answer_of(model):
    """The texts of the results in the last request to the model."""
    return [part["text"] for part in model.asked[-1]["messages"][-1]["content"][0]["content"]]


def decisions(folder):
    frames = [json.loads(line) for line in (folder / "told").read_text().splitlines()]
    return [(frame["decision"], frame["source"], frame["stage"], frame.get("reason")) for frame in frames]


def shown(lines, *kinds):
    return [line["type"] for line in lines if line["type"] in kinds]


# --- decisions --------------------------------------------------------------------------------------------------


def test_an_allowed_call_runs_as_the_guards_have_left_it(tmp_path):
    def script(client):
        asked = begin(client)
        assert asked == {
            "type": "permission_asked",
            "id": "q1",
            "extension": "asks",
            "event": "tool_call",
            "reason": "it echoes",
            "tool_id": "t1",
            "tool_name": "echo",
            "args": {"text": "a"},
        }
        assert client.ask("ping")["success"], "requests are answered meanwhile"
        assert client.ask("get_state")["data"]["busy"]
        assert client.ask("allow", permission="q1")["success"]
        answered = client.until("permission_answered")
        assert answered == {"type": "permission_answered", "id": "q1", "decision": "allowed", "reason": ""}
        client.until("done")

    changed = {"tool_call": {**ASKS["tool_call"], "modified_args": {"text": "b"}, "additional_context": "mind it"}}
    more = {"tool_call": {"modified_args": {"text": "c"}}}
    served, model = run(tmp_path, script, CALL, says("Done."), answers=changed, guards=(more,))
    assert served.status == 0
    assert answer_of(model) == ["c", "mind it"], "later guards are still asked"
    kinds = ("tool_call", "permission_asked", "permission_answered", "tool_result")
    assert shown(served.lines, *kinds) == list(kinds)
    assert decisions(tmp_path) == [("approved", "user", "pre_execution", None)]
    assert "zot: asks wants a person to decide on a call of echo: it echoes; the user allowed it" in served.stderr


def test_the_arguments_in_the_question_are_those_that_guards_before_have_left(tmp_path):
    def script(client):
        assert begin(client)["args"] == {"text": "b"}
        client.ask("allow", permission="q1")
        client.until("done")

    first = {"tool_call": {"modified_args": {"text": "b"}}}
    run(tmp_path, script, CALL, says("Done."), answers=first, guards=(ASKS,))


def test_a_denied_call_is_not_run_and_the_model_gets_the_reason_of_the_user(tmp_path):
    def script(client):
        begin(client)
        client.ask("deny", permission="q1", reason=" not on Fridays ")
        assert client.until("permission_answered")["reason"] == "not on Fridays"
        client.until("done")

    served, model = run(tmp_path, script, CALL, says("Well."))
    reason = "the user refused: not on Fridays (guard asks asked: it echoes)"
    assert answer_of(model) == [reason]
    assert decisions(tmp_path) == [("denied", "user", "pre_execution", reason)]
    (notice,) = [line for line in served.lines if line["type"] == "extension" and line["event"] == "asked"]
    assert notice["message"] == f"wants a person to decide on a call of echo: {reason}"
    (result,) = [line for line in served.lines if line["type"] == "result"]
    assert (result["status"], result["extensions"]["asks"]["blocks"]) == ("ok", 1)


@pytest.mark.parametrize(("event", "text"), [("user_prompt", "go"), ("turn_start", None), ("assistant_message", "Hi.")])
def test_a_denied_prompt_turn_or_message_ends_the_prompt_as_one_that_a_guard_blocks(tmp_path, event, text):
    def script(client):
        asked = begin(client)
        assert (asked["event"], asked["reason"], asked.get("text"), "args" in asked) == (event, "", text, False)
        client.ask("deny", permission=asked["id"])
        client.until("done")

    served, _ = run(tmp_path, script, says("Hi."), answers={event: {"ask": True}})
    (result,) = [line for line in served.lines if line["type"] == "result"]
    assert (result["status"], result["exit_code"]) == ("blocked", 3)
    assert result["reason"].endswith("the user refused (guard asks asked)")


def test_a_denied_result_is_withheld(tmp_path):
    def script(client):
        asked = begin(client)
        assert (asked["event"], asked["text"], asked["args"]) == ("tool_result", "a", {"text": "a"})
        client.ask("deny", permission=asked["id"], reason="private")
        client.until("done")

    _, model = run(tmp_path, script, CALL, says("Done."), answers={"tool_result": {"ask": True}})
    assert answer_of(model) == ["the user refused: private (guard asks asked)"]
    assert decisions(tmp_path)[1:] == [("denied", "user", "tool_execution", answer_of(model)[0])]


def test_a_message_that_is_asked_about_is_shown_once_it_is_allowed(tmp_path):
    def script(client):
        begin(client)
        assert shown(client.lines, "text_delta") == []
        client.ask("allow", permission="q1")
        assert client.until("text_delta")["delta"] == "Hi."
        client.until("done")

    run(tmp_path, script, says("Hi."), answers={"assistant_message": {"ask": True}})


# --- bad input --------------------------------------------------------------------------------------------------


def test_answers_that_fit_no_question_are_refused_and_name_the_open_ones(tmp_path):
    def script(client):
        begin(client)
        refused = {}
        for command in ("allow", "deny"):
            for name, members in {
                "none": {},
                "a number": {"permission": 1},
                "null": {"permission": None},
                "unknown": {"permission": "q7"},
                "the id of the request": {"id": "q1", "permission": ""},
                "long": {"permission": "x" * 100_000},
            }.items():
                client.send(command, **{"id": "r", **members})
                response = client.until("response", command=command)
                assert not response["success"]
                refused[command, name] = response["error"]
        assert refused["deny", "none"] == "permission is required"
        assert refused["allow", "a number"] == "permission: expected str, got int"
        assert refused["allow", "null"] == "permission: expected str, got null"
        for command in ("allow", "deny"):
            assert refused[command, "unknown"] == "permission: no question 'q7' waits for a decision; q1 does"
            assert "'' waits for a decision; q1 does" in refused[command, "the id of the request"]
            assert len(refused[command, "long"]) < 120
        wrong = client.ask("deny", permission="q1", reason=5)
        assert wrong["error"] == "reason: expected str | null, got int"
        long = client.ask("deny", permission="q1", reason="x" * (REASON_LENGTH + 1))
        assert long["error"] == f"reason: more than {REASON_LENGTH} characters"
        assert shown(client.lines, "permission_answered") == []
        assert client.ask("deny", permission="q1", reason="x" * REASON_LENGTH)["success"]
        client.until("done")
        again = client.ask("allow", permission="q1")
        assert again["error"] == "permission: no question 'q1' waits for a decision; none does"

    _, model = run(tmp_path, script, CALL, says("Well."))
    assert len(answer_of(model)[0]) == REASON_LENGTH


@pytest.mark.parametrize("permissions", [False, None])
def test_a_client_that_has_not_opted_in_is_not_asked(tmp_path, permissions):
    def script(client):
        if permissions is None:
            wrong = client.ask("hello", permissions="yes")
            assert wrong["error"] == "permissions: expected bool, got str"
        assert "none does" in client.ask("allow", permission="q1")["error"]
        client.prompt("go")

    served, model = run(tmp_path, script, CALL, says("Well."), permissions=False)
    assert answer_of(model) == ["it echoes (guard asks wants a person to decide, and no user can be asked here)"]
    assert shown(served.lines, "permission_asked", "permission_answered") == []
    assert decisions(tmp_path)[0][:2] == ("denied", "policy")


def test_a_client_may_opt_in_later_and_a_further_hello_keeps_it(tmp_path):
    def script(client):
        client.prompt("go")
        client.ask("hello", permissions=True)
        client.ask("hello")
        begin(client)
        client.ask("allow", permission="q1")
        client.until("done")

    served, _ = run(tmp_path, script, CALL, says("Well."), CALL, says("Done."), permissions=False)
    assert [line["is_error"] for line in served.lines if line["type"] == "tool_result"] == [True, False]


def test_with_allow_asked_nothing_is_asked(tmp_path):
    served, model = run(tmp_path, lambda client: client.prompt("go"), CALL, says("Done."), allow_asked=True)
    assert answer_of(model) == ["a"]
    assert shown(served.lines, "permission_asked") == []
    assert decisions(tmp_path)[0][:2] == ("approved", "policy")


# --- ends -------------------------------------------------------------------------------------------------------


def test_an_abort_cancels_the_question(tmp_path):
    def script(client):
        begin(client)
        client.ask("abort")
        answered = client.until("permission_answered")
        assert (answered["decision"], answered["reason"]) == ("cancelled", "aborted by the client")
        assert client.until("result")["status"] == "interrupted"
        client.until("done")
        assert not client.ask("allow", permission="q1")["success"]
        assert client.prompt("and now")[-2]["status"] == "ok"

    run(tmp_path, script, CALL, says("Again."))
    assert decisions(tmp_path)[0] == ("cancelled", "policy", "pre_execution", "aborted by the client")


def test_the_time_limit_of_a_prompt_ends_it_while_nobody_answers(tmp_path):
    def script(client):
        begin(client)
        answered = client.until("permission_answered")
        assert answered["decision"] == "cancelled"
        assert answered["reason"].startswith("timeout: the prompt took longer than 2 s")
        assert client.until("result")["status"] == "timeout"

    run(tmp_path, script, CALL, timeout=2.0)


def test_the_end_of_stdin_cancels_it_and_the_prompt_goes_on_without_a_person(tmp_path):
    def script(client):
        begin(client)
        client.close_stdin()
        answered = client.until("permission_answered")
        assert (answered["decision"], answered["reason"]) == ("cancelled", "stdin has ended")
        assert client.until("result")["status"] == "ok"

    served, model = run(tmp_path, script, CALL, CALL, says("Well."))
    assert served.status == 0
    assert answer_of(model) == ["it echoes (guard asks wants a person to decide, and no user can be asked here)"]
    assert shown(served.lines, "permission_asked") == ["permission_asked"], "the second call is refused at once"


def test_a_client_that_goes_away_leaves_nothing_waiting(tmp_path):
    def script(client):
        begin(client)
        client.close_stdout()

    served, _ = run(tmp_path, script, CALL)
    assert served.status == 130


def test_a_signal_cancels_it(tmp_path):
    def script(client):
        begin(client)
        os.kill(os.getpid(), signal.SIGTERM)
        answered = client.until("permission_answered")
        assert (answered["decision"], answered["reason"]) == ("cancelled", "interrupted by SIGTERM")

    served, _ = run(tmp_path, script, CALL)
    assert served.status == 130


# --- calls of extensions, prompts of extensions -------------------------------------------------------------------

CALLER = """
send(type="hello", name="x", capabilities=["call_tool"])
send(type="register_tool", name="ask", schema={"type": "object"}, read_only=True)
send(type="register_command", name="ask")
send(type="ready")
asked = {}
for frame in frames():
    if frame["type"] == "tool_result":
        origin = asked.pop(frame["id"])
        text = frame["content"][0]["text"]
        if origin["type"] == "tool_call":
            result(origin, text)
        else:
            send(type="command_response", id=origin["id"], action="display", display=text)
    else:
        asked["c" + frame["id"]] = frame
        parent = {"parent_id": frame["id"]} if frame["type"] == "tool_call" else {}
        send(type="call_tool", id="c" + frame["id"], name="echo", args={"text": "x"}, **parent)
"""


def test_questions_about_a_prompt_and_about_a_call_of_an_extension_are_open_together(tmp_path):
    def script(client):
        client.ask("hello", permissions=True)
        client.until("session")  # the extensions have started
        client.send("run_command", name="ask", id="c")
        first = client.until("permission_asked")
        assert (first["origin_extension"], first["tool_name"], first["args"]) == ("caller", "echo", {"text": "x"})
        assert first["tool_id"] == client.lines[-2]["id"], "the record of the call comes first"
        second = begin(client)
        assert (second["tool_id"], "origin_extension" in second) == ("t1", False)
        assert (
            client.ask("deny", permission="q3")["error"]
            == "permission: no question 'q3' waits for a decision; q1 and q2 do"
        )
        client.ask("allow", permission=second["id"])
        client.until("done")
        client.ask("deny", permission=first["id"], reason="no x")
        response = client.until("response", id="c")
        told = "refused by the guard asks: the user refused: no x (guard asks asked: it echoes)"
        assert response["data"]["text"] == told

    made = [program(tmp_path, "asks", GUARD.format(answers=ASKS), tmp_path / "told")]
    made.append(program(tmp_path, "caller", CALLER))
    model = ScriptedModel(CALL, says("Done."))
    serve(tmp_path, model, script, extensions=tuple(map(str, made)), **EXTENDED)


def test_an_abort_of_the_prompt_cancels_the_question_about_a_call_inside_one_of_its_calls(tmp_path):
    def script(client):
        client.ask("hello", permissions=True)
        assert begin(client)["origin_extension"] == "caller"
        client.ask("abort")
        assert client.until("permission_answered")["decision"] == "cancelled"
        client.until("done")

    answers = {"tool_call": {"ask": True}}
    only_echo = GUARD.replace("answer = ", 'answer = {{}} if frame["tool_name"] == "ask" else ').format(answers=answers)
    made = [program(tmp_path, "asks", only_echo, tmp_path / "told"), program(tmp_path, "caller", CALLER)]
    model = ScriptedModel(says("", ("t1", "ask", {})))
    serve(tmp_path, model, script, extensions=tuple(map(str, made)), **EXTENDED)


SENDER = """
hello()
send(type="ready")
send(type="submit", text="from me")
for frame in frames():
    pass
"""


def test_a_question_in_a_prompt_of_an_extension_comes_also_to_a_client_that_does_not_see_the_prompt(tmp_path):
    def script(client):
        client.ask("hello", permissions=True)
        asked = client.until("permission_asked")
        assert (asked["text"], "prompt" in asked) == ("from me", False)
        client.ask("allow", permission=asked["id"])
        client.until("permission_answered")

    made = [program(tmp_path, "asks", GUARD.format(answers={"user_prompt": {"ask": True}}), tmp_path / "told")]
    made.append(program(tmp_path, "sender", SENDER))
    served = serve(tmp_path, ScriptedModel(says("Done.")), script, extensions=tuple(map(str, made)), **EXTENDED)
    assert "turn_start" not in [line["type"] for line in served.lines]
