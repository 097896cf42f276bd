"""Prompts that extensions send, as the client of a server in this process sees them."""

from __future__ import annotations

import json

import pytest

from tests.support import calling_dialect
from tests.support.faulty_run import PROMPT, program
from tests.support.rpc_client import serve
from tests.support.scripted_model import ScriptedModel, says
from tests.support.zot_process import wait_until

SENDS_AFTER_EACH_END = """\
hello(events=["idle"])
for kind, host in heard():
    if kind == "event":
        want("SendPrompt", text="again")
"""


REFUSED = "a prompt that it sends is refused: extensions have sent 10 prompts already, and no more are accepted"


@pytest.fixture(autouse=True)
def dialect():
    with calling_dialect.known():
        yield


@pytest.fixture
def run(tmp_path):
    """A server with these programs as extensions, and a model with these replies, for the script of a client."""

    def run(script, *replies, programs, model=None, **given):
        folders = tuple(str(calling_dialect.caller(tmp_path, *each)) for each in programs.items())
        return serve(tmp_path, model or ScriptedModel(*replies), script, extensions=folders, **given)

    return run


def test_a_sent_prompt_has_an_id_and_records_like_any_other(run):
    program = """\
hello(events=["tool_call"])
for kind, _ in heard():
    if kind == "event": want("SendPrompt", text="more")
"""
    call = ("t1", "bash", {"command": "true"})

    def script(client):
        client.ask("hello", sent_prompts=True)
        client.prompt("go")
        client.until("done", prompt="p2")

    served = run(script, says("", call), says("One."), says("Two."), programs={"a": program})
    mine, theirs = (line for line in served.lines if line["type"] == "user_message")
    assert "extension" not in mine
    assert (theirs["extension"], theirs["prompt"], theirs["content"][0]["text"]) == ("a", "p2", "more")
    assert served.kinds("p2")[-2:] == ["result", "done"]
    results = [line for line in served.lines if line["type"] == "result"]
    assert [(line["prompt"], line["text"], line["usage"]["input"]) for line in results] == [
        ("p1", "One.", 2), ("p2", "Two.", 1),
    ]  # fmt: skip
    assert all("sent" not in line for line in results)


def test_ten_prompts_follow_each_prompt_of_the_client(run):
    def script(client):
        client.ask("hello", sent_prompts=True)
        for last in ("p11", "p22"):
            client.prompt("go")
            client.until("done", prompt=last)
            client.until("extension", event="warning", message=REFUSED)

    served = run(script, *[says("x") for _ in range(22)], programs={"endless": SENDS_AFTER_EACH_END})
    warned = [line for line in served.lines if line["type"] == "extension" and line["event"] == "warning"]
    assert len(warned) == 2
    senders = [line.get("extension") for line in served.lines if line["type"] == "user_message"]
    assert senders == [None, *["endless"] * 10] * 2


def test_what_is_sent_while_nothing_runs_begins_at_once(run):
    program = 'hello()\nwant("SendPrompt", text="hello there")\nfor _ in heard(): pass\n'

    def script(client):
        client.ask("hello", sent_prompts=True)
        client.until("done", prompt="p1")

    served = run(script, says("Hi."), programs={"eager": program})
    (message,) = [line for line in served.lines if line["type"] == "user_message"]
    assert message["extension"] == "eager"


def test_a_submit_of_an_extension_of_zot_is_a_prompt_like_any_other(tmp_path):
    """Also while nothing runs; and ten follow each prompt of the client."""
    code = """
hello(events=["turn_end"])
send(type="submit", text="at once")
send(type="ready")
for frame in frames():
    send(type="submit", text="more")
"""
    folder = program(tmp_path, "house", code, timeouts=PROMPT)

    def script(client):
        client.ask("hello", sent_prompts=True)
        client.until("done", prompt="p1")
        client.until("extension", event="warning", message=REFUSED)

    served = serve(tmp_path, ScriptedModel(*[says("x") for _ in range(12)]), script, extensions=(str(folder),))
    messages = [line for line in served.lines if line["type"] == "user_message"]
    assert [(line["extension"], line["content"][0]["text"]) for line in messages] == [
        ("house", "at once"), *[("house", "more")] * 9,
    ]  # fmt: skip
    assert "zot: extension house sends a prompt: at once\n" in served.stderr


def test_idle_is_told_once_and_not_while_a_prompt_waits(run, tmp_path):
    told = tmp_path / "told"
    program = f"""\
hello(events=["idle", "user_prompt"])
for kind, event in heard():
    if kind == "event":
        with open({str(told)!r}, "a") as file: file.write(event["event"] + "\\n")
"""
    call = ("t1", "bash", {"command": "echo up; exec sleep 0.2"})

    def script(client):
        client.ask("prompt", message="one")
        client.until("tool_progress")
        client.ask("prompt", message="two")
        client.until("done", prompt="p2")
        wait_until(lambda: "idle" in told.read_text())

    run(script, says("", call), says("One."), says("Two."), programs={"a": program})
    assert told.read_text().split() == ["user_prompt", "user_prompt", "idle"]


def test_a_command_does_not_take_the_end_of_the_prompt_before_it_for_that_of_its_own(run):
    program = """\
hello(events=["idle", "user_prompt"], commands=["go"])
command, pings = None, []
for line in sys.stdin:
    host = json.loads(line)
    match host["host"]:
        case "ping":
            pings.append(host["id"])
        case "command":
            command = host["id"]
        case "event" if command:
            say("note", text=host["event"])
            if host["event"] == "idle": say("done", id=command)
    while command and pings:
        say("pong", id=pings.pop())
    if host["host"] == "command":
        want("SendPrompt", text="more")
"""

    def script(client):
        client.prompt("go")
        assert client.ask("run_command", name="go", args="")["success"]

    served = run(script, says("One."), says("Two."), programs={"a": program})
    assert [line["message"] for line in served.lines if line["type"] == "ext_notify"] == ["user_prompt", "idle"]


def test_the_client_sees_and_aborts_a_sent_prompt(run):
    program = 'hello()\nwant("SendPrompt", text="sleep")\nfor _ in heard(): pass\n'
    call = ("t1", "bash", {"command": "echo up; exec sleep 600"})

    def script(client):
        client.ask("hello", sent_prompts=True)
        client.until("tool_progress")
        (queued,) = client.ask("queue")["data"]["prompts"]
        assert (queued["prompt"], queued["extension"], queued["running"]) == ("p1", "eager", True)
        client.ask("abort", prompt="p1")
        client.until("done", prompt="p1")

    served = run(script, says("", call), programs={"eager": program})
    (result,) = [line for line in served.lines if line["type"] == "result"]
    assert result["status"] == "interrupted"


def test_nothing_is_taken_once_the_client_has_gone(run):
    program = """\
hello(intercept=["session_end"])
for kind, host in heard():
    if kind == "ask":
        asked = host["id"]
        want("SendPrompt", text="late")
    elif kind == "refuse":
        say("note", text=host["reason"])
        say("verdict", id=asked)
"""
    served = run(lambda client: client.prompt("go"), says("One."), programs={"late": program}, drain_s=30.0)
    notes = [line["message"] for line in served.lines if line["type"] == "ext_notify"]
    assert notes == ["the client has gone: no more prompts are accepted"]
    assert served.status == 0


SENDS_ONCE_IN_A_PROMPT = """\
hello(events=["tool_call"])
sent = False
for kind, _ in heard():
    if kind == "event" and not sent:
        sent = True
        want("SendPrompt", text="more")
"""


def test_a_client_that_knows_nothing_of_them_takes_none_for_its_own(run, tmp_path):
    """The client sends a prompt and reads up to `done`, whatever `prompt` the records name."""
    call = ("t1", "bash", {"command": "true"})
    answers = []

    def script(client):
        for text in ("go", "and then"):
            client.send("prompt", message=text)
            first = len(client.lines)
            client.until("done")
            wait_until(lambda: b"sends a prompt: more" in (tmp_path / "stderr").read_bytes())
            answers.append("".join(line["delta"] for line in client.lines[first:] if line["type"] == "text_delta"))

    served = run(
        script, says("", call), says("One."), says("Two."), says("Three."), programs={"a": SENDS_ONCE_IN_A_PROMPT}
    )
    assert answers == ["One.", "Three."]
    assert {line.get("prompt") for line in served.lines if line["type"] != "response"} <= {None, "p1", "p3"}
    assert "zot: extension a sends a prompt: more\n" in served.stderr


def test_none_begins_before_the_client_has_said_who_it_is(run, tmp_path):
    """Neither before the token, nor before the first answer, which may say what the client wants to see."""
    program = 'hello()\nwant("SendPrompt", text="hello there")\nfor _ in heard(): pass\n'
    model = ScriptedModel(says("Hi."))

    def script(client):
        wait_until(lambda: b"sends a prompt" in (tmp_path / "stderr").read_bytes())
        assert client.ask("hello", token="wrong")["error"]

    run(script, programs={"eager": program}, model=model, token="secret")
    assert not model.asked


SENDS_TWO = 'hello()\nwant("SendPrompt", text="a")\nwant("SendPrompt", "l", text="b")\nfor _ in heard(): pass\n'


def test_an_abort_without_an_id_ends_also_the_prompt_of_the_client_that_waits_behind(run):
    call = ("t1", "bash", {"command": "echo up; exec sleep 600"})

    def script(client):
        client.ask("hello", sent_prompts=True)
        client.until("tool_progress")
        wait_until(lambda: len(client.ask("queue")["data"]["prompts"]) == 2)
        client.send("prompt", message="mine")
        client.ask("abort")
        client.until("done", prompt="p3")

    served = run(script, says("", call), says("b"), programs={"a": SENDS_TWO})
    results = [(line["prompt"], line["status"]) for line in served.lines if line["type"] == "result"]
    assert results == [("p1", "interrupted"), ("p2", "ok"), ("p3", "interrupted")]


def test_after_the_end_of_stdin_the_prompt_of_the_client_is_carried_out_and_not_the_others(run, tmp_path):
    call = ("t1", "bash", {"command": "echo up; until [ -e go ]; do sleep 0.01; done"})

    def script(client):
        client.ask("hello", sent_prompts=True)
        client.until("tool_progress")
        wait_until(lambda: len(client.ask("queue")["data"]["prompts"]) == 2)
        client.send("prompt", message="mine")
        client.until("response", command="prompt")
        client.close_stdin()
        wait_until(client.has_no_more_to_say)
        (tmp_path / "go").touch()

    model = ScriptedModel(says("", call), says("One."), says("Mine."))
    served = run(script, programs={"a": SENDS_TWO}, model=model, drain_s=30.0)
    results = [(line["prompt"], line["status"]) for line in served.lines if line["type"] == "result"]
    assert results == [("p1", "ok"), ("p2", "interrupted"), ("p3", "ok")]


@pytest.mark.parametrize("change", [{"kind": "clear"}, {"kind": "set_messages", "messages": []}])
def test_another_session_starts_the_extension_anew_and_the_next_prompt_waits_for_it(run, change):
    """The new process has lost its memory and has the same session id."""
    program = """\
hello(tools=["memory"])
count = 0
for kind, host in heard():
    if kind == "call":
        count += 1
        say("result", id=host["id"], text=json.dumps([count, os.environ["SESSION_ID"]]))
"""
    program = "import time\ntime.sleep(0.3)\n" + program
    call = ("t1", "memory", {})

    def script(client):
        client.prompt("go")
        client.ask(**change)
        client.prompt("go")

    served = run(
        script,
        says("", call),
        says("One."),
        says("", call),
        says("Two."),
        programs={"memory": program},
        keep_session=True,
    )
    told = [json.loads(line["content"][0]["text"]) for line in served.lines if line["type"] == "tool_result"]
    assert [count for count, _ in told] == [1, 1]
    first, second = (session for _, session in told)
    assert first == second == next(line for line in served.lines if line["type"] == "session")["id"]


def test_the_process_of_a_session_that_was_left_sends_nothing_into_the_next_one(run, tmp_path):
    """Neither as it is asked about the end, nor while the process that follows it starts; that one may."""
    program = """\
import time, pathlib
was_here = pathlib.Path("was-here").exists()
pathlib.Path("was-here").touch()
if was_here: pathlib.Path("second").touch()
hello(intercept=["session_end"])
if was_here: want("SendPrompt", text="from the new one")
for kind, host in heard():
    if kind == "ask":
        want("SendPrompt", text="at the end")
        say("verdict", id=host["id"])
    elif kind == "refuse" and not pathlib.Path("second").exists():
        while not pathlib.Path("second").exists(): time.sleep(0.01)
        want("SendPrompt", text="after it")
        want("AbortPrompt", "a")
    elif kind == "refuse":
        say("note", text=host["reason"])
"""

    def script(client):
        client.ask("hello", sent_prompts=True)
        client.prompt("go")
        client.ask("clear")
        client.until("done", prompt="p2")

    program = program.replace('Path("', f'Path("{tmp_path}/')
    served = run(script, says("One."), says("Two."), programs={"a": program})
    users = [line["content"][0]["text"] for line in served.lines if line["type"] == "user_message"]
    assert users == ["go", "from the new one"]
    results = [line["status"] for line in served.lines if line["type"] == "result"]
    assert results == ["ok", "ok"]
