"""Compactions and steered messages, as a client of a server in this process sees them."""

from __future__ import annotations

import json
import os
import sys
import threading

import pytest

from agent.model.provider import ProviderUnavailable
from agent.run.compaction import HEADING
from tests.support.extension_folder import folder
from tests.support.patience import PATIENCE_S
from tests.support.rpc_client import serve
from tests.support.scripted_model import BEGUN, SILENT, ScriptedModel, says
from wire.exit_codes import Status

CALL = {"type": "tool_call", "id": "t1", "name": "bash", "args": {}}
RESULT = {"type": "tool_result", "call_id": "t1", "is_error": False, "content": [{"type": "text", "text": "up"}]}
GUARD = """\
import json, sys
def say(**frame): print(json.dumps(frame), flush=True)
say(type="hello", name="guard", version="1")
say(type="subscribe", events=["user_prompt"], intercept=["user_prompt"])
say(type="ready")
for line in sys.stdin:
    asked = json.loads(line)
    if asked["type"] == "event_intercept":
        text = asked.get("text", "")
        answer = {"block": True, "reason": "not that"} if "bad" in text else {}
        if "twist" in text: answer = {"replace_text": "twisted"}
        say(type="event_intercept_response", id=asked["id"], **answer)
    elif asked["type"] == "shutdown":
        break
"""


def text(role, said):
    return {"role": role, "content": [{"type": "text", "text": said}]}


KEPT = [
    text("user", "first"),
    {"role": "assistant", "content": [CALL]},
    {"role": "tool", "content": [RESULT]},
    text("assistant", "Second."),
    text("user", "third"),
    text("assistant", "Fourth."),
]


def ask_with_messages(client):
    assert client.ask("set_messages", messages=KEPT)["success"]


def told(served, prompt):
    """The records of a prompt, without the times."""
    return [line for line in served.lines if line.get("prompt") == prompt]


# --- compact ------------------------------------------------------------------------------------------------


def test_a_compaction_is_answered_at_once_and_ends_with_the_summary(tmp_path):
    def script(client):
        ask_with_messages(client)
        started = client.ask("compact", instructions="keep the paths")
        assert started["data"] == {"started": True, "prompt": "p1", "position": 0}
        client.until("done", prompt="p1")
        found = client.ask("get_messages")["data"]["messages"]
        assert [message["role"] for message in found] == ["user", "assistant", "user", "assistant"]
        assert found[0]["content"][0]["text"] == f"{HEADING}It was so."
        full = client.ask("get_messages", full=True)["data"]["messages"]
        assert client.ask("set_messages", messages=full)["success"], "what is left is a conversation"
        client.prompt("go")

    model = ScriptedModel(says("It was so."), says("Done."))
    served = serve(tmp_path, model, script)
    usage, ended, done = told(served, "p1")
    assert (usage["type"], usage["cumulative"]["input"]) == ("usage", 1)
    assert ended == {
        "type": "compact_done",
        "summary": "It was so.",
        "messages_before": 6,
        "messages_after": 4,
        "trigger": "request",
        "prompt": "p1",
    }
    assert done["type"] == "done"
    asked = model.asked[0]["messages"][0]["content"][0]["text"]
    assert "[result] up" in asked, "a result is summarised with its call"
    assert "third" not in asked
    assert [message["role"] for message in model.asked[1]["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert (served.status, served.stderr) == (0, "")


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        ([], "nothing to compact: the conversation is empty"),
        (KEPT[3:], "messages[0]"),
        ([KEPT[0], *KEPT[3:]], "nothing to compact: the last 4 messages are kept, and there are no others"),
    ],
)
def test_where_there_is_nothing_to_compact_it_is_an_error(tmp_path, kept, reason):
    def script(client):
        answer = client.ask("set_messages", messages=kept)
        if not answer["success"]:
            assert answer["error"].startswith(reason)
            return
        assert client.ask("compact", instructions="x" * 10_001)["error"] == "instructions: more than 10000 characters"
        client.ask("compact")
        client.until("done")

    served = serve(tmp_path, ScriptedModel(), script)
    assert [line.get("message", line["type"]) for line in told(served, "p1")] in ([], [reason, "done"])


def test_without_a_credential_a_compaction_fails_as_a_prompt_does(tmp_path):
    served = serve(
        tmp_path,
        ProviderUnavailable(Status.AUTHENTICATION, "no key"),
        lambda client: (client.ask("compact"), client.until("done")),
    )
    assert [line.get("message", line["type"]) for line in told(served, "p1")] == ["no key", "done"]


def test_a_compaction_has_its_place_among_the_prompts(tmp_path):
    def script(client):
        ask_with_messages(client)
        client.send("prompt", message="a")
        client.until("text_delta", prompt="p1")
        assert client.ask("compact", instructions="short")["data"]["position"] == 1
        client.send("prompt", message="b")
        waiting = client.ask("queue")["data"]["prompts"]
        assert [(each["prompt"], each["command"], each["message"]) for each in waiting] == [
            ("p1", "prompt", "a"), ("p2", "compact", "short"), ("p3", "prompt", "b"),
        ]  # fmt: skip
        client.ask("abort")
        client.until("done", prompt="p3")

    served = serve(tmp_path, ScriptedModel(BEGUN, says("So."), says("B.")), script)
    order = [line["prompt"] for line in served.lines if "prompt" in line]
    assert order == sorted(order)
    assert served.kinds("p2") == ["usage", "compact_done", "done"]


@pytest.mark.parametrize("reply", [BEGUN, SILENT])
def test_a_running_compaction_is_aborted(tmp_path, reply):
    def script(client):
        ask_with_messages(client)
        client.ask("compact")
        assert client.ask("get_state")["data"]["busy"]
        for refused in ("clear", "set_messages"):
            answer = client.ask(refused, messages=[])
            assert answer["error"].startswith("busy: a compaction runs or waits")
        client.ask("abort")
        client.until("done")
        assert client.ask("get_state")["data"]["message_count"] == 6
        client.prompt("go on")

    model = ScriptedModel(reply, says("Yes."))
    served = serve(tmp_path, model, script)
    assert served.kinds("p1")[-2:] == ["turn_end", "done"]
    (ended,) = [line for line in told(served, "p1") if line["type"] == "turn_end"]
    assert (ended["stop"], ended["error"]) == ("aborted", "aborted by the client")
    assert "compact_done" not in served.kinds("p1")
    assert model.cancelled == 1
    assert served.stderr == ""


# --- steer --------------------------------------------------------------------------------------------------


def steer_while_a_tool_runs(tmp_path, *messages, **given):
    """Sends messages while the first tool of a prompt runs. Returns the model, what was answered, and the rest."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    answers = []

    def script(client):
        client.send("prompt", message="go")
        client.until("tool_call")
        answers.extend(client.ask("steer", message=message) for message in messages)
        gate.write_text("\n")
        client.until("done")

    model = ScriptedModel(says("", ("t1", "bash", {"command": f"cat {gate}"})), says("Done."))
    return model, answers, serve(tmp_path, model, script, **given)


def test_a_message_is_delivered_after_the_tools_of_the_turn(tmp_path):
    model, answers, served = steer_while_a_tool_runs(tmp_path, "rather this")
    assert answers[0]["data"] == {"prompt": "p1"}
    kinds = served.kinds("p1")
    at = kinds.index("tool_result")
    assert kinds[at : at + 3] == ["tool_result", "user_message", "turn_start"]
    said = [line["content"][0]["text"] for line in told(served, "p1") if line["type"] == "user_message"]
    assert said == ["go", "rather this"]
    assert [message["content"][0]["type"] for message in model.asked[1]["messages"]][-2:] == ["tool_result", "text"]


def test_guards_judge_a_message_as_they_judge_a_prompt(tmp_path):
    made = folder(tmp_path, "guard", [sys.executable, "-I", "-S", "-c", GUARD])
    model, answers, served = steer_while_a_tool_runs(
        tmp_path, "a bad one", "twist this", extensions=(str(made),), extension_wait=30.0
    )
    assert all(answer["success"] for answer in answers)
    said = [line["content"][0]["text"] for line in told(served, "p1") if line["type"] == "user_message"]
    assert said == ["go", "twisted"]
    (notice,) = [line for line in served.lines if line["type"] == "extension" and line["event"] == "blocked"]
    assert notice["message"] == "refused the prompt: not that"
    assert "a bad one" not in json.dumps(model.asked)
    (result,) = [line for line in served.lines if line["type"] == "result"]
    assert (result["status"], result["text"]) == ("ok", "Done.")


def test_an_abort_drops_what_was_not_delivered(tmp_path):
    def script(client):
        client.send("prompt", message="a")
        client.until("text_delta")
        assert client.ask("steer", message="b")["success"]
        client.send_bytes(b'{"type": "abort"}\n{"type": "steer", "message": "c", "id": "late"}\n')
        late = client.until("response", id="late")
        assert late["error"] == "the prompt that runs is about to end; send the message with prompt"
        assert late["code"] == "no_prompt"
        client.until("done")
        client.prompt("d")

    model = ScriptedModel(BEGUN, says("D."))
    served = serve(tmp_path, model, script)
    said = [line["content"][0]["text"] for line in served.lines if line["type"] == "user_message"]
    assert said == ["a", "d"]
    assert "b" not in [block["text"] for message in model.asked[1]["messages"] for block in message["content"]]


def test_without_a_running_prompt_a_message_is_refused(tmp_path):
    asked = threading.Event()

    def never_reply():
        asked.set()
        return SILENT

    def script(client):
        early = client.ask("steer", message="b")
        assert (early["error"], early["code"]) == ("no prompt runs; send the message with prompt", "no_prompt")
        empty = client.ask("steer")
        assert empty["error"] == "message: a steer needs a text or an image"
        assert "code" not in empty
        bad = [{"mime_type": "image/png", "data": "?"}]
        assert "images[0].data: not base64" in client.ask("steer", images=bad)["error"]
        ask_with_messages(client)
        client.ask("compact")
        assert asked.wait(PATIENCE_S), "the compaction runs once it has asked the model"
        meanwhile = client.ask("steer", message="b")
        assert meanwhile["error"] == "a compaction runs, and no prompt; send the message with prompt"
        assert meanwhile["code"] == "no_prompt"
        client.ask("abort")

    serve(tmp_path, ScriptedModel(never_reply), script)
