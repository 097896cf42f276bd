"""Runs with models and providers of the user's own."""

from __future__ import annotations

import json

import pytest

from tests.support.messages_server import text_reply, tool_reply
from wire.exit_codes import Status


def write(zot, **files):
    zot.home.mkdir(exist_ok=True)
    for name, content in files.items():
        (zot.home / f"{name}.json").write_text(json.dumps(content))


CLAMPED = "zot: --reasoning max: claude-haiku-4-5 has off, minimum, low, medium, high, xhigh; xhigh is used"


@pytest.mark.parametrize(
    ("flags", "config", "said"),
    [
        (
            ("--reasoning", "max"),
            {},
            [CLAMPED],
        ),
        ((), {"reasoning": "max"}, []),
        (("--reasoning", "xhigh"), {"reasoning": "off"}, []),
    ],
)
def test_a_level_of_reasoning_is_asked_for_as_the_model_takes_it(zot, server, flags, config, said):
    """The settings are for all models: that one has not a level is no news each time."""
    write(zot, config=config)
    server.add(text_reply("Done.", details={"thinking_tokens": 3}))
    asks = ("--json", "--base-url", server.base_url, "-m", "claude-haiku-4-5", *flags, "go")
    outcome = zot.run(*asks, env={"ANTHROPIC_API_KEY": "sk-ant"}).check(Status.OK)
    assert outcome.warnings == said
    (asked,) = server.requests
    assert (asked.body["thinking"], asked.body["max_tokens"]) == ({"type": "enabled", "budget_tokens": 32_768}, 36_864)
    assert (outcome.records[0].reasoning, outcome.result.usage.reasoning) == ((flags or ("", "max"))[1], 3)


@pytest.mark.slow
def test_models_json_gives_the_address_the_price_and_the_provider(zot, server):
    model = {"id": "house-model", "priceInput": 1000, "priceOutput": 0, "maxTokens": 77, "reasoning": False}
    write(
        zot,
        models={"providers": {"house": {"api": "anthropic", "baseUrl": f"{server.base_url}/v1", "models": [model]}}},
    )
    server.add(
        tool_reply([("bash", {"command": "echo key=$HOUSE_API_KEY."})], input_tokens=3, output_tokens=9),
        text_reply("Done.", input_tokens=4),
    )
    env = {"ANTHROPIC_API_KEY": "sk-of-anthropic", "HOUSE_API_KEY": "sk-of-house"}
    flags = ("--model", "house-model", "--reasoning", "low")
    outcome = zot.run("--json", *flags, "go", env=env).check(Status.OK)
    assert (outcome.records[0].provider, outcome.records[0].model) == ("house", "house-model")
    assert outcome.result.cost_usd == 0.007
    assert outcome.warnings == ["zot: --reasoning low has no effect: models.json says that house-model cannot think"]
    first = server.requests[0]
    assert (first.body["max_tokens"], "thinking" in first.body) == (77, False)
    assert "sk-of-anthropic" not in json.dumps(first.headers), "a key goes to its own provider only"
    assert first.headers["authorization"] == "Bearer sk-of-house"
    assert "key=.\n" in outcome.tool_texts()[0]
    assert zot.session_rows()[0]["meta"]["provider"] == "house"


@pytest.mark.slow
def test_a_key_of_the_provider_is_found_in_its_variable_and_kept_from_tools(zot, server):
    write(zot, config={"provider": "litellm", "model": "any"})
    server.add(tool_reply([("bash", {"command": "echo key=$LITELLM_API_KEY."})]), text_reply("Done."))
    env = {"LITELLM_API_KEY": "sk-lite-llm-1", "LITELLM_PROXY_URL": server.base_url}
    outcome = zot.run("--json", "go", env=env).check(Status.OK)
    assert "key=.\n" in outcome.tool_texts()[0]
    assert server.requests[0].headers["authorization"] == "Bearer sk-lite-llm-1"
    assert server.requests[0].body["model"] == "any"


def test_a_slip_in_a_provider_ends_the_run_before_it_begins_and_changes_nothing(zot):
    write(zot, config={"provider": "anthropic"})
    assert "did you mean 'litellm'?" in zot.run("-p", "--provider", "litelm", "go").refusal()
    assert json.loads((zot.home / "config.json").read_text()) == {"provider": "anthropic"}


def test_rpc_lists_the_users_models_with_their_provider(zot, server):
    write(zot, models={"providers": {"vllm": {"baseUrl": server.base_url, "models": [{"id": "gpt-oss"}]}}})
    file = zot.folder / "requests"
    file.write_text('{"type":"get_models"}\n{"type":"get_state"}\n')
    with file.open() as requests:
        outcome = zot.run("--rpc", "--provider", "vllm", stdin=requests)
    models, state = [line["data"] for line in outcome.json_lines if line["type"] == "response"]
    by_id = {model["id"]: model for model in models["models"]}
    assert by_id["gpt-oss"] == {
        "id": "gpt-oss", "provider": "vllm", "context_window": 0, "max_output": 0, "reasoning": True,
    }  # fmt: skip
    assert by_id["claude-opus-5"]["provider"] == "anthropic"
    assert (state["provider"], state["model"]) == ("vllm", "gpt-oss")
