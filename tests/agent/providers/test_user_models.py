"""models.json becomes models and providers."""

from __future__ import annotations

import json

import pytest

from agent.model import catalogue
from agent.model.catalogue import CATALOGUE, Prices, Thinking
from agent.model.presets import PRESETS
from agent.providers.user_models import UserModelsError, load_user_models
from supervisor.discovery.environment import HOST_SECRETS
from tests.support.zot_process import ROOT


@pytest.fixture
def write(tmp_path):
    def written(**providers):
        (tmp_path / "models.json").write_text(json.dumps({"providers": providers}))
        return load_user_models(tmp_path)

    return written


@pytest.fixture
def used():
    yield catalogue.use
    catalogue.use(())


def test_without_the_file_there_is_what_is_packaged(tmp_path):
    known = load_user_models(tmp_path)
    assert "ollama" in known.providers
    assert known.models == ()


def test_a_new_model_has_what_its_entry_says_and_the_rest_is_unknown(write, used):
    known = write(ollama={"models": [{"id": "qwen3-coder", "contextWindow": 262_144}]})
    used(known.models, "ollama")
    info = catalogue.find("qwen3-coder")
    assert (info.provider, info.context_window, info.max_output, info.source) == (
        "ollama", 262_144, None, "models.json",
    )  # fmt: skip
    assert catalogue.max_tokens("qwen3-coder") == 8_192
    assert catalogue.cost_usd(info, {"input": 1}) is None, "unknown is not 0"


def test_a_price_of_0_is_free_and_a_cache_without_a_price_is_unknown(write, used):
    known = write(ollama={"models": [{"id": "q", "priceInput": 0, "priceOutput": 0}]})
    (info,) = known.models
    assert catalogue.cost_usd(info, {"input": 5, "output": 7}) == 0
    assert catalogue.cost_usd(info, {"input": 5, "output": 7, "cache_read": 1}) is None


def test_an_entry_for_a_packaged_model_overrides_what_it_names(write, used):
    known = write(anthropic={"models": [{"id": "claude-haiku-5-5", "priceOutput": 9, "maxTokens": 1000}]})
    used(known.models, "anthropic")
    ours, info = CATALOGUE["claude-haiku-5-5"], catalogue.find("claude-haiku-5-5")
    assert info.prices == Prices(ours.prices.input, 9, ours.prices.cache_read, ours.prices.cache_write)
    assert (info.context_window, info.max_output, info.thinking) == (ours.context_window, 1000, ours.thinking)
    assert info.long_prompt is None, "the file knows one price only"
    assert [one.source for one in catalogue.known() if one.id == "claude-haiku-5-5"] == ["models.json"]


def test_the_same_id_of_two_providers_is_two_models(write, used):
    known = write(
        litellm={"models": [{"id": "fast", "priceInput": 1, "priceOutput": 1}]},
        vllm={"models": [{"id": "fast", "priceInput": 2, "priceOutput": 2}]},
    )
    for provider, price in (("litellm", 1), ("vllm", 2)):
        used(known.models, provider)
        assert catalogue.cost_usd(catalogue.find("fast"), {"input": 1_000_000}) == price
    used(known.models, "anthropic")
    assert catalogue.find("fast") is None


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ({"id": "q", "reasoning": False}, Thinking.NONE),
        ({"id": "q", "reasoning": True}, Thinking.BUDGET),
        ({"id": "q"}, Thinking.BUDGET),
        ({"id": "anthropic/claude-sonnet-4.5"}, Thinking.BUDGET),
        ({"id": "anthropic/claude-opus-4.8"}, Thinking.ADAPTIVE),
        ({"id": "anthropic/claude-opus-9"}, Thinking.ADAPTIVE),
        ({"id": "claude-opus-5", "reasoning": False}, Thinking.NONE),
    ],
)
def test_how_a_model_is_asked_to_think(write, model, thinking):
    assert write(openrouter={"models": [model]}).models[0].thinking is thinking


def test_a_provider_of_the_users_own_has_an_address_and_a_variable(write):
    known = write(**{"my-company": {"api": "messages", "baseUrl": "https://llm.example/v1/", "auth": "none"}})
    preset = known.providers["my-company"]
    assert (preset.url, preset.key_variable, preset.needs_key) == ("https://llm.example", "MY_COMPANY_API_KEY", False)
    assert known.without_credential == {"my-company"}


def test_the_address_of_a_model_comes_before_that_of_its_provider(write):
    known = write(vllm={"baseUrl": "http://a:1", "models": [{"id": "x", "baseUrl": "http://b:2"}, {"id": "y"}]})
    assert (known.url("vllm", "x"), known.url("vllm", "y"), known.url("ollama", "y")) == (
        "http://b:2", "http://a:1", None,
    )  # fmt: skip


def test_providers_that_speak_another_api_are_left_out(write):
    known = write(google={"models": [{"id": "gemini"}]}, mine={"baseUrl": "http://x", "models": [{"id": "a"}]})
    assert known.unusable == {"google": "openai", "mine": "openai"}
    assert known.models == ()
    assert "mine" not in known.providers


@pytest.mark.parametrize(
    ("providers", "fault"),
    [
        ({"mine": {"api": "anthropic"}}, "providers.mine: baseUrl is required"),
        ({"vllm": {"baseUrl": "localhost:8000"}}, "providers.vllm.baseUrl: localhost:8000: must start with http://"),
        ({"vllm": {"models": [{"id": "a", "baseUrl": "http://"}]}}, "providers.vllm.models[0].baseUrl: http://"),
        ({"replay": {"api": "anthropic"}}, "providers.replay: replay is the provider of --replay"),
        ({"vllm": {"models": [{"id": 5}]}}, "models.json:1:"),
    ],
)
def test_a_fault_names_the_file_and_the_place(write, tmp_path, providers, fault):
    with pytest.raises(UserModelsError) as raised:
        write(**providers)
    assert str(tmp_path / "models.json") in str(raised.value)
    assert fault in str(raised.value)


def test_a_link_to_nothing_and_a_folder_are_faults(tmp_path):
    path = tmp_path / "models.json"
    path.symlink_to("gone")
    with pytest.raises(UserModelsError, match="is a link to gone, which is not there"):
        load_user_models(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(UserModelsError, match="cannot be read: Is a directory"):
        load_user_models(tmp_path)


def test_the_page_has_an_example_that_can_be_loaded_and_all_presets(tmp_path):
    page = (ROOT / "docs" / "models.md").read_text()
    (tmp_path / "models.json").write_text(page.split("```json\n")[1].split("```")[0])
    known = load_user_models(tmp_path)
    assert [(info.provider, info.id) for info in known.models] == [
        ("ollama", "qwen3-coder"), ("my-company", "house-1"), ("anthropic", "claude-opus-5"),
    ]  # fmt: skip
    assert known.remark == ""
    for preset in PRESETS.values():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{preset.name}` |")]
        assert all(f"`{name}`" in row for name in (preset.url, *preset.variables, preset.url_variable) if name)


def test_no_key_of_a_preset_reaches_a_child():
    assert {name for preset in PRESETS.values() for name in preset.variables} <= HOST_SECRETS
