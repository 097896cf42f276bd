"""Kinds of failure by status and by name, and the pause that a server asks for."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.failure import LONGEST_RETRY_AFTER_S, ErrorKind, kind_of_status, kind_of_type, retry_after_s


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "20", "retry-after": "9"}, 0.02),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
    ],
)
def test_the_retry_after_header_gives_seconds(headers: dict, seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_a_retry_after_date_gives_seconds() -> None:
    from email.utils import formatdate

    seconds = retry_after_s({"retry-after": formatdate(time.time() + 100, usegmt=True)})
    assert seconds is not None
    assert 95 < seconds <= 100


@given(st.text(max_size=40) | st.floats().map(repr) | st.datetimes().map(lambda at: at.strftime("%a, %d %b %Y %T GMT")))
def test_any_header_gives_a_wait_that_is_believable_or_none(value: str) -> None:
    for name in ("retry-after", "retry-after-ms"):
        seconds = retry_after_s({name: value})
        assert seconds is None or 0 < seconds <= LONGEST_RETRY_AFTER_S


@given(st.integers(300, 599), st.none() | st.text(max_size=5))
def test_every_status_and_every_name_has_a_kind(status: int, name: str | None) -> None:
    assert kind_of_status(status, name)
    assert kind_of_type(name or "")


TOO_LONG = [
    "prompt is too long: 205668 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 182831 + 64000 > 200000, decrease input length or `max_tokens`"
    " and try again",
    "input length and max_tokens exceed context limit: 198981 + 21333 > 200000",
    "Input is too long for requested model.",
    "The model returned the following errors: prompt is too long: 903884 tokens > 200000 maximum",
    "prompt tokens (400007) exceed model maximum (278528) for openai.gpt-5.5",
    "litellm.BadRequestError: litellm.ContextWindowExceededError: AnthropicException - too many",
    "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the"
    " messages, 8192 in the completion). Please reduce the length of the messages or completion.",
    "This endpoint's maximum context length is 1048576 tokens. However, you requested about 1293741 tokens",
    "The decoder prompt (length 20000) is longer than the maximum model length of 16384.",
    "You passed 131073 input tokens and requested 0 output tokens. However, the model's context length is only 131072"
    " tokens, resulting in a maximum input length of 131072 tokens.",
    "request (24071 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length"
    " of only 7866 tokens, which is not enough.",
    "The number of tokens to keep from the initial prompt is greater than the context length.",
    "the input length exceeds the context length",
    "prompt too long; exceeded max context length by 1234 tokens",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "Prompt exceeds maximum context length",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
]
"""Messages that servers have sent: Anthropic, Bedrock, LiteLLM, vLLM, OpenRouter, llama.cpp, LM Studio, Ollama,
OpenAI, mlx-serve, Gemini."""
NOT_TOO_LONG = [
    "max_tokens: 16000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022",
    "max_tokens must be greater than thinking.budget_tokens",
    "messages: at least one message is required",
    "messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
    "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: t1",
    "The long context beta is not yet available for this subscription.",
    "tools.0.custom.name: String should have at most 128 characters",
    "model: claude-nope",
    "Your credit balance is too low to access the Anthropic API.",
]


@pytest.mark.parametrize("status", [400, 422, 500])
@pytest.mark.parametrize("message", TOO_LONG)
def test_a_request_that_is_too_long_is_told_by_the_words_of_its_server(status: int, message: str) -> None:
    assert kind_of_status(status, "invalid_request_error", message) is ErrorKind.TOO_LONG
    assert kind_of_type("invalid_request_error", message) is ErrorKind.TOO_LONG
    assert kind_of_type("BadRequestError", message.upper()) is ErrorKind.TOO_LONG


@pytest.mark.parametrize("message", NOT_TOO_LONG)
def test_other_requests_that_are_refused_are_not_too_long(message: str) -> None:
    assert kind_of_status(400, "invalid_request_error", message) is ErrorKind.INVALID_REQUEST
    assert kind_of_type("invalid_request_error", message) is ErrorKind.INVALID_REQUEST


@pytest.mark.parametrize("message", TOO_LONG)
def test_a_key_that_is_refused_and_a_limit_of_tokens_a_minute_stay_what_they_are(message: str) -> None:
    assert kind_of_status(401, None, message) is ErrorKind.AUTHENTICATION
    assert kind_of_status(429, None, message) is ErrorKind.RATE_LIMIT
    assert kind_of_type("rate_limit_error", message) is ErrorKind.RATE_LIMIT


def test_a_request_that_is_too_large_in_bytes_is_too_long() -> None:
    assert kind_of_status(413, "request_too_large") is ErrorKind.TOO_LONG
    assert kind_of_type("request_too_large") is ErrorKind.TOO_LONG
