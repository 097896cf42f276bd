"""How an extension of the client program begins, from which prompt on it counts, and which lines are refused."""

from __future__ import annotations

import json
import os

from tests.support.extension_folder import extension
from tests.support.program_extension import CALL, ProgramExtension, prompt, result_of, run
from tests.support.rpc_client import serve
from tests.support.scripted_model import ScriptedModel, says
from wire.frames import decode_from_host
from wire.rpc.ext_lines import SETTINGS

TOKEN = "s3cret"


def test_a_hello_is_answered_with_the_frames_of_any_extension(tmp_path):
    def script(client):
        mine = ProgramExtension(client)
        mine.say("subscribe", events=["session_start", "session_end"])
        mine.ready()
        ack = mine.next()
        assert (ack["type"], ack["model"], ack["cwd"]) == ("hello_ack", "m", str(tmp_path))
        assert ack["extension_dir"] == str(tmp_path)
        assert ack["data_dir"] == str(tmp_path / "home" / "data" / "mine")
        assert os.path.isdir(ack["data_dir"])
        assert mine.next()["event"] == "session_start"
        assert client.ask("ping")["success"]

    served, _ = run(tmp_path, script)
    frames = [line["frame"] for line in served.lines if line["type"] == "ext" and "frame" in line]
    for frame in frames:
        decode_from_host(json.dumps(frame).encode())
    assert served.stderr == ""
    assert [line["type"] for line in served.lines if line["type"] != "ext"][:2] == ["response", "session"]


def test_it_is_there_in_the_very_first_prompt(tmp_path):
    def script(client):
        mine = ProgramExtension(client).with_tool().ready()
        prompt(client)
        call = mine.next("tool_call")
        assert (call["name"], call["args"]) == ("add", {"a": 1})
        mine.result(call, "2")
        client.until("done")

    served, model = run(tmp_path, script, CALL, says("Two."))
    assert result_of(model) == "2"
    assert {line["extension"] for line in served.lines if line["type"] in ("tool_call", "tool_result")} == {"mine"}


def test_one_that_comes_during_a_prompt_joins_in_the_next_turn(tmp_path):
    def script(client):
        slow = ProgramExtension(client, "slow").with_tool("wait").ready()
        prompt(client)
        call = slow.next("tool_call")
        mine = ProgramExtension(client).with_tool().ready()
        mine.next("hello_ack")
        slow.result(call, "waited")
        mine.result(mine.next("tool_call"), "2")
        client.until("done")

    _, model = run(tmp_path, script, says("", ("t0", "wait", {})), CALL, says("Two."))
    assert [[tool["name"] for tool in asked["tools"] if tool["name"] == "add"] for asked in model.asked] == [
        [], ["add"], ["add"],
    ]  # fmt: skip


def test_nothing_is_taken_before_the_token(tmp_path):
    served = serve(tmp_path, ScriptedModel(), lambda client: (ProgramExtension(client), client.rest()), token=TOKEN)
    (response,) = served.lines
    assert (served.status, response["command"], response["success"]) == (1, "ext", False)
    assert "auth required" in response["error"]


FAULTY = [
    ({"frame": {"type": "ready"}}, "its first frame must be a hello"),
    ({}, "frame: an ext line needs a frame, or closed"),
    ({"frame": 5}, "frame: it must be an object"),
    ({"frame": {"type": "hello", "name": "x"}, "extension": "a/b"}, "extension: 1 to 64 characters"),
    ({"frame": {"type": "hello", "name": "x"}, "extension": ""}, "extension: 1 to 64 characters"),
    ({"frame": {"type": "hello", "name": "x"}, "extension": 5}, "extension: expected str, got int"),
    ({"frame": {"type": "hello", "name": "x"}, "extension": "echo"}, "is the name of another extension"),
    ({"closed": True}, "this program has none named 'mine'"),
    ({"closed": True, "frame": {"type": "ready"}}, "closed: such a line has no frame"),
    ({"frame": {"type": "ready"}, "manifest": {}}, "manifest: only the hello"),
    *(
        ({"frame": {"type": "hello", "name": "x"}, "manifest": given}, error)
        for given, error in (
            ([], "manifest: expected"),
            ({"exec": "x"}, "manifest: exec: an extension in the client program has no process of its own"),
            ({"limits": {"rss_mb": 5}}, "manifest: limits: an extension"),
            ({"workers": 2}, "manifest: workers: an extension"),
            ({"required": True}, "manifest: required: an extension"),
            ({"name": "mine"}, "manifest: name: the line has it"),
            ({"on_failure": "stop"}, "manifest: on_failure: 'stop' is not one of allow, deny"),
            ({"onFailure": "deny"}, "did you mean 'on_failure'?"),
            ({"timeouts": {"hello": 1}}, "manifest: timeouts.hello: no process is started"),
            ({"timeouts": {"intercept": 0}}, "manifest: timeouts.intercept"),
        )
    ),
]  # fmt: skip


def test_a_faulty_line_is_refused_and_the_rest_goes_on(tmp_path):
    def script(client):
        other = ProgramExtension(client, "other").with_tool().ready()
        other.next("hello_ack")
        for line, error in FAULTY:
            refused = client.ask("ext", **{"extension": "mine", **line})
            assert (refused["command"], refused["success"]) == ("ext", False), line
            assert error.lower() in refused["error"].lower()
        tools = client.ask("list_tools")["data"]["tools"]
        assert [tool["name"] for tool in tools if tool["extension"] == "other"] == ["add"]

    made = (str(extension(tmp_path, "echo")),)
    run(tmp_path, script, extensions=made, extension_wait=30.0)


def test_all_settings_together_are_taken(tmp_path):
    given = {
        "version": "1", "description": "d", "language": "Go", "priority": 3, "on_failure": "deny", "independent": True,
        "timeouts": {"ready": 1, "tool_call": 1, "intercept": 1, "command": 1}, "watchdog_s": 60, "stall_after": 2,
        "unheard_of": 1,
    }  # fmt: skip

    def script(client):
        ProgramExtension(client, **given).ready()
        client.send("ping")
        notice = client.until("extension", extension="mine", event="warning")
        assert "nothing reads the field 'unheard_of'" in notice["message"]

    assert set(SETTINGS) == set(given) - {"unheard_of"}
    run(tmp_path, script)
