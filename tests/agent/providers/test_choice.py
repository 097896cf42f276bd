"""Which provider and which model a run uses."""

from __future__ import annotations

import pytest

from agent.model.catalogue import DEFAULT_MODEL, ModelInfo, Prices, Thinking
from agent.providers.choice import ChoiceError, choose
from agent.providers.user_models import KnownModels
from supervisor.home.config import Config


def model(provider, model_id):
    return ModelInfo(model_id, None, None, Thinking.BUDGET, Prices(), provider=provider, source="models.json")


KNOWN = KnownModels(
    models=(model("ollama", "qwen"), model("ollama", "llama"), model("vllm", "gpt-oss"), model("litellm", "qwen"),
            model("litellm", "claude-opus-5")),
    unusable={"google": "openai"},
)  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "asked", "config", "expected"),
    [
        (None, None, {}, ("anthropic", DEFAULT_MODEL)),
        (None, "x", {}, ("anthropic", "x")),
        (None, None, {"model": "mine"}, ("anthropic", "mine")),
        (None, None, {"provider": "anthropic", "model": "mine"}, ("anthropic", "mine")),
        (None, None, {"provider": " Ollama ", "model": "llama"}, ("ollama", "llama")),
        (None, "gpt-oss", {}, ("vllm", "gpt-oss")),
        (None, "gpt-oss", {"provider": "ollama", "model": "llama"}, ("vllm", "gpt-oss")),
        (None, "qwen", {"provider": "ollama"}, ("ollama", "qwen")),
        (None, "claude-opus-5", {}, ("anthropic", "claude-opus-5")),
        ("litellm", "claude-opus-5", {}, ("litellm", "claude-opus-5")),
        ("anthropic", None, {"provider": "ollama", "model": "llama"}, ("anthropic", DEFAULT_MODEL)),
        ("vllm", None, {}, ("vllm", "gpt-oss")),
        ("ollama", None, {"provider": "ollama", "model": "llama"}, ("ollama", "llama")),
        ("ollama", None, {"model": "claude-opus-5"}, ("ollama", "")),
    ],
)
def test_flags_then_models_json_then_settings(provider, asked, config, expected):
    chosen = choose(provider, asked, Config(**config), KNOWN)
    assert (chosen.provider.name, chosen.model) == expected
    assert chosen.remarks == ()


def test_settings_of_a_zot_user_are_ignored_with_a_remark():
    chosen = choose(None, None, Config(provider="google", model="gemini"), KNOWN)
    assert (chosen.provider.name, chosen.model) == ("anthropic", DEFAULT_MODEL)
    (remark,) = chosen.remarks
    assert remark.startswith("config.json: ignored provider 'google' and model 'gemini': it speaks openai;")
    assert choose("anthropic", None, Config(provider="google"), KNOWN).remarks == ()


@pytest.mark.parametrize(
    ("provider", "asked", "fault"),
    [
        ("olama", None, "--provider: 'olama' is not one of anthropic, ollama, .*replay; did you mean 'ollama'?"),
        ("google", None, "--provider google: models.json says that it speaks openai"),
        (None, "qwen", "--model qwen: models.json has it for ollama and litellm; add --provider"),
        (
            "ollama",
            None,
            "--provider ollama has no default model: name one with --model ID: models.json has qwen, llama",
        ),
        ("openrouter", None, "--provider openrouter has no default model: name one with --model ID$"),
    ],
)
def test_what_cannot_be_chosen_is_an_error_that_says_what_to_do(provider, asked, fault):
    with pytest.raises(ChoiceError, match=fault):
        choose(provider, asked, Config(), KNOWN).named(KNOWN)
