"""How much the model may think: `set_reasoning` of a client, while nothing runs, while a prompt runs, and at the wrong
time."""

from __future__ import annotations

import json
import os

import pytest

from agent.model import catalogue
from agent.model.catalogue import ModelInfo, Prices, Thinking
from tests.agent.rpc.test_prompt_requests import ask_with_messages
from tests.support.rpc_client import serve
from tests.support.scripted_model import BEGUN, ScriptedModel, says

MODEL = "claude-opus-5"


@pytest.fixture(autouse=True)
def a_model_that_cannot_think():
    catalogue.use([ModelInfo("unable", None, None, Thinking.NONE, Prices())])
    yield
    catalogue.use(())


def efforts(model):
    """The type of thinking and the effort of each request."""
    return [(each.get("thinking", {}).get("type"), each.get("output_config", {}).get("effort")) for each in model.asked]


def test_the_level_holds_from_the_next_prompt_on_and_is_told(tmp_path):
    model = ScriptedModel(*[says("Done.")] * 4)

    def script(client):
        assert client.ask("get_state")["data"]["reasoning"] is None
        client.prompt("with its own default")
        for level in ("max", "off", "minimum"):
            used = "low" if level == "minimum" else level
            assert client.ask("set_reasoning", reasoning=level)["data"] == {"reasoning": level, "used": used}
            assert client.ask("get_state")["data"]["reasoning"] == client.ask("hello")["data"]["reasoning"] == level
            client.prompt("go")

    served = serve(tmp_path, model, script, model=MODEL)
    assert efforts(model) == [(None, None), ("adaptive", "max"), ("disabled", None), ("adaptive", "low")]
    (session,) = [line for line in served.lines if line["type"] == "session"]
    assert "reasoning" not in session


def test_the_session_record_has_the_level_that_a_flag_sets(tmp_path):
    model = ScriptedModel(says("Done."))
    served = serve(tmp_path, model, lambda client: client.prompt("go"), model=MODEL, reasoning="high")
    assert [line["reasoning"] for line in served.lines if line["type"] == "session"] == ["high"]
    assert efforts(model) == [("adaptive", "high")]


def test_a_running_prompt_keeps_its_level_and_a_waiting_one_gets_the_new_one(tmp_path):
    """zot refuses the request meanwhile. The API takes one level for a prompt with all its tool calls."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def script(client):
        client.send("prompt", message="go")
        client.send("prompt", message="then this")
        client.until("tool_call")
        assert client.ask("set_reasoning", reasoning="high")["success"]
        assert client.ask("set_model", model="claude-sonnet-5")["success"]
        gate.write_text("\n")
        client.until("done", prompt="p2")

    model = ScriptedModel(says("", ("t1", "bash", {"command": f"cat {gate}"})), says("Done."), says("Done."))
    serve(tmp_path, model, script, model=MODEL, reasoning="low")
    assert efforts(model) == [("adaptive", "low"), ("adaptive", "low"), ("adaptive", "high")]


def test_a_level_can_be_set_during_a_compaction(tmp_path):
    def script(client):
        ask_with_messages(client)
        client.ask("compact")
        assert client.ask("set_reasoning", reasoning="high")["success"]
        assert client.ask("abort")["success"]
        client.until("done")
        client.prompt("go")

    model = ScriptedModel(BEGUN, says("Done."))
    serve(tmp_path, model, script, model=MODEL)
    assert efforts(model) == [(None, None), ("adaptive", "high")]


def test_a_level_that_the_model_has_not_becomes_the_nearest_one_and_that_is_said_once(tmp_path):
    def script(client):
        assert client.ask("set_reasoning", reasoning="max")["data"] == {"reasoning": "max", "used": "xhigh"}
        assert client.ask("set_reasoning", reasoning="max")["data"]["used"] == "xhigh"
        client.ask("set_model", model=MODEL)
        client.prompt("go")
        client.ask("set_model", model="unable")
        client.prompt("go")
        assert client.ask("set_reasoning", reasoning="max")["data"] == {"reasoning": "max", "used": "off"}

    model = ScriptedModel(says("Done."), says("Done."))
    served = serve(tmp_path, model, script, model="claude-haiku-4-5")
    assert served.stderr.splitlines() == [
        "zot: reasoning max: claude-haiku-4-5 has off, minimum, low, medium, high, xhigh; xhigh is used",
        "zot: reasoning max has no effect: models.json says that unable cannot think",
    ]
    assert efforts(model) == [("adaptive", "max"), (None, None)]


LISTED = "is not one of high, low, max, medium, minimum, off, xhigh"
BAD = [
    ({}, "reasoning is required"),
    ({"reasoning": None}, "reasoning: expected str, got null"),
    ({"reasoning": 5}, "reasoning: expected str, got int"),
    ({"reasoning": True}, "reasoning: expected str, got bool"),
    ({"reasoning": ["low"]}, "reasoning: expected str, got array"),
    ({"reasoning": {"level": "low"}}, "reasoning: expected str, got object"),
    ({"reasoning": ""}, f"reasoning: '' {LISTED}"),
    ({"reasoning": "hgih"}, f"reasoning: 'hgih' {LISTED}; did you mean 'high'?"),
    ({"reasoning": "HIGH"}, f"reasoning: 'HIGH' {LISTED}; did you mean 'high'?"),
    ({"reasoning": "minimal"}, f"reasoning: 'minimal' {LISTED}; did you mean 'minimum'?"),
    ({"reasoning": "none"}, f"reasoning: 'none' {LISTED}"),
    ({"reasoning": "x" * 1_000_000}, f"reasoning: '{'x' * 79}… {LISTED}"),
    ({"level": "low"}, "reasoning is required"),
]


def test_a_bad_level_is_refused_by_its_name_and_changes_nothing(tmp_path):
    def script(client):
        for members, error in BAD:
            answer = client.ask("set_reasoning", **members)
            assert (answer["success"], answer["error"]) == (False, error)
            assert "data" not in answer
        assert client.ask("get_state")["data"]["reasoning"] == "low"

    assert serve(tmp_path, ScriptedModel(), script, reasoning="low").status == 0


def test_before_the_token_it_is_refused_and_ends_the_server(tmp_path):
    line = json.dumps({"type": "set_reasoning", "reasoning": "low"}).encode()
    served = serve(tmp_path, ScriptedModel(), lambda client: client.send_bytes(line + b"\n"), token="s")
    assert served.status == 1
    (answer,) = served.lines
    assert (answer["success"], answer["error"]) == (
        False, "auth required: the first line must be hello with the token",
    )  # fmt: skip


def test_with_the_end_of_stdin_it_is_answered_and_the_running_prompt_stays(tmp_path):
    def script(client):
        client.send("prompt", message="go")
        client.until("text_delta")
        client.send("set_reasoning", id="last", reasoning="max")
        client.close_stdin()

    served = serve(tmp_path, ScriptedModel(BEGUN), script, model=MODEL)
    (answer,) = [line for line in served.responses if line.get("id") == "last"]
    assert answer["data"] == {"reasoning": "max", "used": "max"}
    assert served.lines[-1]["type"] == "done"
