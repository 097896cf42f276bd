"""A budget holds for all prompts of a server together, and a schema for the answer to each."""

from __future__ import annotations

import json

import pytest

from agent.answers.schema import AnswerSchema
from tests.support.rpc_client import serve
from tests.support.scripted_model import ScriptedModel, says

MODEL = "claude-sonnet-5-5"


def result(records):
    (found,) = [line for line in records if line["type"] == "result"]
    return found


def test_further_prompts_end_at_once_and_so_does_a_compaction(tmp_path):
    """Each reply has two tokens."""

    def script(client):
        for _ in range(2):
            assert result(client.prompt("go"))["status"] == "ok"
        refused = client.prompt("more")
        assert [line["type"] for line in refused] == ["error", "result", "done"]
        assert (result(refused)["status"], result(refused)["exit_code"]) == ("budget", 5)
        assert refused[0]["message"].startswith("budget: 4 of 3 tokens (--max-tokens) are used")
        message = {"role": "user", "content": [{"type": "text", "text": "a"}], "time": "2026-01-01T00:00:00Z"}
        assert client.ask("set_messages", messages=[message] * 6)["success"]
        client.ask("compact")
        assert client.until("error")["message"].startswith("budget: 4 of 3 tokens")
        client.until("done")
        assert client.ask("get_state")["data"]["message_count"] == 6
        assert client.ask("clear")["success"]
        assert result(client.prompt("again"))["status"] == "budget"

    model = ScriptedModel(says("One."), says("Two."))
    assert serve(tmp_path, model, script, max_tokens=3).status == 0
    assert len(model.asked) == 2


@pytest.mark.parametrize(("limits", "is_refused"), [({"max_cost_usd": 1.0}, True), ({"max_tokens": 100}, False)])
def test_a_model_without_a_price_is_refused_while_there_is_a_budget_in_dollars(tmp_path, limits, is_refused):
    def script(client):
        assert client.ask("set_model", model=MODEL)["success"]
        answer = client.ask("set_model", model="llama-99b")
        assert answer["success"] == (not is_refused)
        assert not is_refused or "--max-cost-usd: the price of the model 'llama-99b' is unknown" in answer["error"]
        assert client.ask("get_state")["data"]["model"] == (MODEL if is_refused else "llama-99b")

    serve(tmp_path, ScriptedModel(), script, **limits)


def test_each_answer_is_held_against_the_schema(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"type": ["integer", "null"]}))

    def script(client):
        first = result(client.prompt("one"))
        assert (first["status"], first["text"], first["answer"]) == ("ok", "1", 1)
        nothing = result(client.prompt("none"))
        assert (nothing["status"], nothing["answer"]) == ("ok", None)
        failed = client.prompt("two")
        assert (result(failed)["status"], result(failed)["text"]) == ("invalid_answer", "b")
        assert "answer" not in result(failed)
        assert [line["type"] for line in failed].count("user_message") == 2
        assert result(client.prompt("three"))["answer"] == 3

    model = ScriptedModel(says("```\n1\n```"), says("null"), says("a"), says("b"), says("c"), says("3"))
    serve(tmp_path, model, script, answer_schema=AnswerSchema(str(path)))
