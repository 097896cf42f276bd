"""Calls of tools that the client of rpc makes for its user, with extensions that are real children."""

from __future__ import annotations

import json
import os

import pytest

from agent.rpc import requests
from agent.skills.skill import Skill
from tests.support.callers import text_of
from tests.support.client_calls import call, records_of_calls, serve_calls
from tests.support.extension_folder import extension
from tests.support.faulty_run import PROMPT, program
from tests.support.pictures import png
from tests.support.rpc_client import serve
from tests.support.scripted_model import BEGUN, ScriptedModel, says
from tests.support.zot_process import wait_until

GUARD = """
hello(intercept=["tool_call", "tool_result", "error"])
send(type="ready")
for asked in frames():
    if asked["type"] == "event_intercept":
        said = {}
        CODE
        send(type="event_intercept_response", id=asked["id"], **said)
"""


def guard(place, code):
    return program(place, "guard", GUARD.replace("CODE", code), timeouts=PROMPT)


# --- faulty requests ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'"name":"bsh","args":{}', "no such tool: 'bsh'; did you mean 'bash'?"),
        (b'"name":"","args":{}', "no such tool: ''; there are bash, echo"),
        (b'"name":"hidden","args":{}', 'unknown tool "hidden": extension one has it deferred; a call of its loader'),
        (b'"name":7,"args":{}', "name: expected str, got int"),
        (b'"args":{}', "name is required"),
        (b'"name":"bash"', "args is required"),
        (b'"name":"bash","args":null', "invalid args: must be a JSON object, not null"),
        (b'"name":"bash","args":["ls"]', 'invalid args: must be a JSON object, not ["ls"]'),
        (b'"name":"bash","args":"ls"', 'invalid args: must be a JSON object, not "ls"'),
        (b'"name":"bash","args":{"command":"a","command":"b"}', 'invalid args: the name "command" occurs twice in one'),
        (b'"name":"bash","args":{"command":"\xff"}', "invalid args: not valid JSON: "),
        (b'"name":"bash","args":' + b'{"a":' * 3000 + b"1" + b"}" * 3000, "malformed json: nested too deeply"),
        (b'"name":"bash","args":' + b'{"a":' * 200 + b"1" + b"}" * 200, "invalid args: nested deeper than"),
        (b'"name":"bash","args":{', "malformed json: "),
    ],
)
def test_a_faulty_request_is_refused_and_nothing_is_called(tmp_path, line, why):
    def script(client):
        client.send_bytes(b'{"type":"call_tool",' + line + b"}\n")
        answer = client.until("response")
        assert not answer["success"]
        assert why in answer["error"]
        assert len(answer["error"]) < 300
        assert call(client, "bash", command="echo on")["is_error"] is False

    code = 'send(type="hello", name="one")\n'
    code += 'send(type="register_tool", name="echo", schema={"type": "object"})\n'
    code += 'send(type="register_tool", name="hidden", schema={"type": "object"}, deferred=True)\n'
    code += 'send(type="ready")\nfor frame in frames(): pass'
    served = serve_calls(tmp_path, script, program(tmp_path, "one", code))
    assert [line["id"] for line in served.lines if line["type"] == "tool_call"] == ["client:1"]


def test_arguments_that_do_not_fit_are_the_result_of_the_call(tmp_path):
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
    code = f'send(type="hello", name="x")\nsend(type="register_tool", name="strict", schema={schema!r})\n'
    code += 'send(type="ready")\nfor frame in frames(): send(type="tool_result", id=frame["id"], content=[])'

    def script(client):
        for name, args, why in (
            ("strict", {"size": "big"}, "size"),
            ("bash", {}, "command is required"),
            ("bash", {"command": 5}, "invalid args"),
            ("read", {"path": "none"}, "none"),
        ):
            ended = call(client, name, **args)
            assert ended["is_error"]
            assert why in text_of(ended)

    serve_calls(tmp_path, script, program(tmp_path, "strict", code))


def test_no_more_than_the_limit_run_at_the_same_time(tmp_path, monkeypatch):
    monkeypatch.setattr(requests, "COMMANDS_LIMIT", 2)
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def script(client):
        for id_ in "ab":
            client.send("call_tool", id=id_, name="bash", args={"command": f"read _ < {gate}"})
        refused = client.ask("call_tool", name="bash", args={"command": "true"})
        assert refused["error"] == "2 commands, calls and reloads run already; wait for answers first"
        client.send("abort")
        for _ in "ab":
            assert client.until("response", command="call_tool")["data"]["is_error"]
        assert not call(client, "bash", command="true")["is_error"]

    serve_calls(tmp_path, script)


# --- guards ---------------------------------------------------------------------------------------------------


def test_a_guard_that_denies_bash_denies_it_to_the_user_too(tmp_path):
    code = 'if asked["tool_name"] == "bash": said = {"block": True, "reason": "no shell here"}'

    def script(client):
        denied = call(client, "bash", command="touch made")
        assert denied == {"is_error": True, "content": [{"type": "text", "text": "no shell here"}]}
        assert not call(client, "write", path="other", content="x")["is_error"]

    served = serve_calls(tmp_path, script, guard(tmp_path, code))
    blocked = [line for line in served.lines if line["type"] == "extension" and line["event"] == "blocked"]
    reasons = ["refused bash: no shell here", "withheld the result of bash: no shell here"]
    assert [line["message"] for line in blocked] == reasons
    assert not (tmp_path / "made").exists()
    assert (tmp_path / "other").exists()


def test_guards_rewrite_arguments_and_results(tmp_path):
    code = """
        if asked["event"] == "tool_call": said = {"modified_args": {"command": "echo safe"}}
        if asked["event"] == "tool_result":
            said = {"modified_result": {"content": [{"type": "text", "text": asked["content"][0]["text"] + "seen"}]}}
"""

    def script(client):
        text = text_of(call(client, "bash", command="echo unsafe; touch made"))
        assert text.startswith("$ echo safe\n\nsafe\n\n[exit 0]")
        assert text.endswith("seen")

    serve_calls(tmp_path, script, guard(tmp_path, code.strip()))
    assert not (tmp_path / "made").exists()


def test_a_guard_of_errors_has_a_call_tried_again_and_cannot_end_a_prompt_by_it(tmp_path):
    code = """
        if asked["event"] == "error" and "[exit 7]" in asked["error"]: said = {"error_handling": "abort"}
        elif asked["event"] == "error": said = {"error_handling": "retry", "retry_count": 1}
"""

    def script(client):
        client.send("prompt", message="go")
        client.until("tool_progress")
        twice = "if test -e tried; then echo second; else >tried; false; fi"
        assert "second\n\n[exit 0]" in text_of(call(client, "bash", command=twice))
        assert "[exit 7]" in text_of(call(client, "bash", command="exit 7"))
        (tmp_path / "gate").write_text("\n")
        client.until("result", status="ok")

    os.mkfifo(tmp_path / "gate")
    model = says("", ("t1", "bash", {"command": "echo up; cat gate"})), says("Done.")
    serve_calls(tmp_path, script, guard(tmp_path, code.strip()), replies=model)


def test_the_rules_of_an_active_skill_hold(tmp_path):
    skill = Skill(name="careful", body="Be careful.", allowed=())

    def script(client):
        client.send("prompt", message="go")
        client.until("text_delta")
        refused = call(client, "bash", command="touch made")
        assert refused["is_error"]
        assert "careful" in text_of(refused)
        client.ask("abort")
        client.until("done")

    serve_calls(
        tmp_path, script, replies=(says("", ("t1", "skill", {"name": "careful"})), BEGUN), offered_skills=(skill,)
    )
    assert not (tmp_path / "made").exists()


# --- results --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("child", ["echo.py", "echo.sh"])
def test_tools_of_extensions_can_be_called_and_the_conversation_does_not_have_them(tmp_path, child):
    seen = tmp_path / "seen"
    watch = f"""
hello(events=["tool_call", "tool_result"])
send(type="ready")
for frame in frames():
    with open({str(seen)!r}, "a") as file: file.write(json.dumps(frame) + "\\n")
"""

    def script(client):
        assert call(client, "echo", text="hi") == {"is_error": False, "content": [{"type": "text", "text": "hi"}]}
        assert client.ask("get_state")["data"]["message_count"] == 0
        client.prompt("go")
        assert client.ask("get_state")["data"]["message_count"] == 2
        wait_until(lambda: seen.exists() and seen.read_text().count("\n") == 2)

    extensions = extension(tmp_path, child, name="one"), program(tmp_path, "watch", watch)
    served = serve_calls(tmp_path, script, *extensions, replies=(says("Hi."),))
    same = {"extension": "one", "origin": "client"}
    assert records_of_calls(served) == [
        {"type": "tool_call", "id": "client:1", "name": "echo", "args": {"text": "hi"}, **same},
        {
            "type": "tool_result",
            "id": "client:1",
            "is_error": False,
            "content": [{"type": "text", "text": "hi"}],
            **same,
        },
    ]
    told = [json.loads(line) for line in seen.read_text().splitlines()]
    assert [(each["event"], each["tool_id"], each["tool_name"]) for each in told] == [
        ("tool_call", "client:1", "echo"),
        ("tool_result", "client:1", "echo"),
    ]
    assert all("origin_extension" not in each for each in told)


def test_two_calls_run_beside_a_prompt_and_name_no_prompt(tmp_path):
    """The prompt's own command and those of the two calls wait for one another in turn."""
    for name in ("one", "two", "model"):
        os.mkfifo(tmp_path / name)

    def script(client):
        client.send("prompt", message="go")
        client.until("tool_progress", text="up\n")
        client.send("call_tool", id="one", name="bash", args={"command": "echo first; cat one; echo one > two"})
        client.until("tool_progress", text="first\n")
        client.send("call_tool", id="two", name="bash", args={"command": "echo second; cat two; echo two > model"})
        client.until("tool_progress", text="second\n")
        (tmp_path / "one").write_text("go\n")

    model = says("", ("t1", "bash", {"command": "echo up; cat model"})), says("Done.")
    served = serve_calls(tmp_path, script, replies=model)
    ended = {line["id"]: line["data"]["is_error"] for line in served.responses if line["command"] == "call_tool"}
    assert ended == {"one": False, "two": False}
    own = [line for line in records_of_calls(served) if line["id"] == "t1"]
    theirs = [line for line in records_of_calls(served) if line["id"] != "t1"]
    assert {line.get("prompt") for line in own} == {"p1"}
    assert {line["id"] for line in theirs} == {"client:1", "client:2"}
    assert not any("prompt" in line for line in theirs)
    assert {line["type"] for line in theirs} == {"tool_call", "tool_progress", "tool_result"}
    assert {line.get("origin") for line in own} == {None}
    assert {line.get("origin") for line in theirs if line["type"] != "tool_progress"} == {"client"}


def test_an_image_is_named_with_its_size_as_in_records(tmp_path):
    (tmp_path / "a.png").write_bytes(png(8, 8))

    def script(client):
        ended = call(client, "read", path="a.png")
        assert ended["content"][-1]["type"] == "image"
        assert "data" not in ended["content"][-1]
        assert client.until("tool_result")["content"] == ended["content"]

    serve_calls(tmp_path, script)


def test_a_long_result_of_an_extension_is_cut_as_for_the_model(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def script(client):
        text = text_of(call(client, "echo", text="x" * 300_000))
        assert len(text) < 60_000
        assert "this is the start of 300000 bytes" in text

    serve_calls(tmp_path, script, extension(tmp_path, "echo.py"))


def test_a_call_while_extensions_start_waits_for_their_verdicts(tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    code = f"open({str(gate)!r}).read()" + GUARD.replace("CODE", 'said = {"block": True, "reason": "late, but no"}')
    made = program(tmp_path, "guard", code, timeouts=PROMPT)

    def script(client):
        client.send("call_tool", id=1, name="bash", args={"command": "touch made"})
        client.ask("call_tool", name="ecoh", args={})
        assert client.lines[-1]["error"].endswith("; extensions are still starting")
        gate.write_text("\n")
        assert text_of(client.until("response", id=1)["data"]) == "late, but no"

    serve(tmp_path, ScriptedModel(), script, extensions=(str(made),), extension_wait=60.0, drain_s=60.0)
    assert not (tmp_path / "made").exists()


def test_an_extension_that_dies_ends_its_call_with_the_reason(tmp_path):
    code = 'hello("die")\nsend(type="ready")\nfor frame in frames():\n    if frame["type"] == "tool_call": os._exit(3)'

    def script(client):
        ended = call(client, "die")
        assert ended["is_error"]
        assert "exit 3" in text_of(ended)

    serve_calls(tmp_path, script, program(tmp_path, "dies", code, restart={"policy": "temporary"}))
