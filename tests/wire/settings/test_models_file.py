"""The fields of models.json, and the messages about faults in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_json import json_values
from wire.settings.models_file import ModelsFileError, parse


def test_all_fields_of_zot_are_taken_and_those_without_a_meaning_here_are_no_fault():
    model = {
        "id": "m", "name": "M", "reasoning": True, "contextWindow": 5, "maxTokens": 4, "priceInput": 0,
        "priceOutput": 1.5, "priceCacheRead": 0.1, "priceCacheWrite": 2, "baseUrl": "http://m", "input": ["text"],
        "output": ["text"], "type": "chat", "api": "anthropic", "compat": {"supportsOpenAIGrammarTools": True},
        "reasoningLevelMap": {"low": "medium"},
    }  # fmt: skip
    provider = {"baseUrl": "http://p", "api": "anthropic", "auth": "none", "discover": True, "models": [model]}
    file, remark = parse(json.dumps({"$schema": "x", "providers": {"p": provider}}).encode())
    assert remark == ""
    (read,) = file.providers["p"].models
    assert (read.id, read.context_window, read.max_tokens, read.price_input, read.price_output) == ("m", 5, 4, 0, 1.5)
    assert read.base_url == "http://m"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "1:2: it ends in the middle"),
        ("[]", "it must be an object"),
        ('{"providers": []}', "1:2: providers: must be an object"),
        ('{"provider": {}}', "1:2: provider: no such field; did you mean 'providers'?"),
        ('{"providers": {"o": 5}}', "1:16: providers.o: must be an object"),
        ('{"providers": {" o": {}}}', "' o' is no name of a provider"),
        ('{"providers": {"o": {"models": {}}}}', "providers.o.models: must be a list"),
        ('{"providers": {"o": {"url": "x"}}}', "providers.o.url: no such field; did you mean 'baseUrl'?"),
        ('{"providers": {"o": {"api": "grpc"}}}', "providers.o.api: 'grpc' is not one of anthropic"),
        ('{"providers": {"o": {"auth": "basic"}}}', "providers.o.auth: 'basic': must be none, or be left out"),
        ('{"providers": {"o": {"models": [{"name": "a"}]}}}', "providers.o.models[0]: id is required"),
        ('{"providers": {"o": {"models": [{"id": ""}]}}}', "providers.o.models[0].id: expected str of length >= 1"),
        (
            '{"providers": {"o": {"models": [{"id": "a"}, {"id": "a"}]}}}',
            "providers.o.models[1].id: 'a' is there twice",
        ),
        (
            '{"providers": {"o":\n {"models": [{"id": "a", "contextWindow": "5"}]}}}',
            "2:26: providers.o.models[0].contextWindow: expected int | null, got str",
        ),
        (
            '{"providers": {"o": {"models": [{"id": "a", "context_window": 5}]}}}',
            "providers.o.models[0].context_window: no such field; did you mean 'contextWindow'?",
        ),
        ('{"providers": {"o": {"models": [{"id": "a", "priceInput": -1}]}}}', "priceInput: expected float >= 0.0"),
        ('{"providers": {"o": {"models": [{"id": "a", "inputPrice": 1}]}}}', "did you mean 'priceInput'?"),
    ],
)
def test_a_fault_is_named_with_its_place(text, fault):
    with pytest.raises(ModelsFileError) as raised:
        parse(text.encode())
    assert fault in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_field_that_nothing_reads_is_named_and_harms_nothing():
    file, remark = parse(b'{"providers": {"o": {"models": [{"id": "a", "colour": "red"}]}}}')
    assert file.providers["o"].models[0].id == "a"
    assert remark == "nothing reads the field 'providers.o.models[0].colour'"


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=2) | json_values)
def test_any_json_is_read_or_refused(value):
    for text in (value, {"providers": value}, {"providers": {"o": value}}, {"providers": {"o": {"models": [value]}}}):
        try:
            parse(json.dumps(text).encode())
        except ModelsFileError as error:
            assert str(error).isprintable()  # noqa: PT017
