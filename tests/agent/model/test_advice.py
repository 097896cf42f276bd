"""The advice for the user about each failure."""

from __future__ import annotations

import pytest

from agent.model.access import find_access
from agent.model.advice import FailedRequest, advice
from agent.model.failure import ErrorKind

OFFICIAL = "https://api.anthropic.com"
GATEWAY = "http://gateway:8080"


def said(
    status: int | None = None,
    message: str = "",
    *,
    kind: str = "invalid_request",
    model: str = "claude-sonnet-5-5",
    environ: dict[str, str] | None = None,
    **more: object,
) -> str:
    line = {"type": "error", "status": status, "message": message, "kind": kind, **more}
    return advice(FailedRequest(line, model, find_access({"ANTHROPIC_API_KEY": "k"} if environ is None else environ)))


def test_401_says_which_key_from_where():
    assert said(401).startswith(f"the key from ANTHROPIC_API_KEY was refused by {OFFICIAL}: see that it is complete")
    both = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": f"{GATEWAY}"}
    assert f"was refused by {GATEWAY}" in said(401, environ=both)
    assert said(401, environ=both).endswith("; ANTHROPIC_AUTH_TOKEN was not used")
    assert said(401, environ={"ANTHROPIC_BASE_URL": GATEWAY}).startswith(
        f"{GATEWAY} wants a credential, and none was sent: run zot login, set ANTHROPIC_API_KEY"
    )


def test_404_says_which_model_at_which_endpoint():
    typo = said(404, model="claude-sonet-5-5")
    assert typo == f"--model claude-sonet-5-5: {OFFICIAL} does not offer it; did you mean 'claude-sonnet-5-5'?"
    assert said(404, model="claude-sonnet-5-5") == f"--model claude-sonnet-5-5: {OFFICIAL} does not offer it"
    assert said(404, model="llama", environ={"ANTHROPIC_BASE_URL": GATEWAY}) == (
        f"--model llama: {GATEWAY} does not offer it, or has no Messages API: see --model and the address"
        " (from ANTHROPIC_BASE_URL)"
    )
    assert said(404, environ={"ANTHROPIC_BASE_URL": f"{GATEWAY}/v1/"}) == (
        f"zot adds /v1/messages to {GATEWAY}/v1 (from ANTHROPIC_BASE_URL): leave the end of that address out"
    )


@pytest.mark.parametrize(
    ("status", "message", "words"),
    [
        (400, "model: not known", "--model llama: "),
        (400, "Your credit balance is too low", "the account of the key from ANTHROPIC_API_KEY has no credit left"),
        (400, "tools.0: bad", "refuses this request for llama, and would again"),
        (402, "", "has no credit left"),
        (403, "", "but may not use llama"),
        (408, "", "try again"),
        (409, "", "try again"),
        (413, "", "too large"),
        (422, "", "refuses this request"),
        (429, "", "limits the account of the key from ANTHROPIC_API_KEY: try again in a minute"),
        (500, "", "the fault is at"),
        (502, "", "not in the request"),
    ],
)
def test_each_status_has_its_sentence(status, message, words):
    assert words in said(status, message, model="llama")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Input is too long for requested model."),
        (500, "the request exceeds the available context size"),
        (None, "prompt is too long: 3 tokens > 2 maximum"),
    ],
)
def test_a_conversation_that_is_too_long_is_said_to_be_so_whatever_the_status(status, message):
    words = said(status, message, kind="too_long", model="llama", environ={"ANTHROPIC_BASE_URL": GATEWAY})
    assert words.startswith(f"the conversation is longer than llama can read at {GATEWAY}: begin a new one")


@pytest.mark.parametrize("status", [None, 400, 503, 529])
def test_a_server_that_is_overloaded_has_too_much_to_do_whatever_the_status(status):
    assert "has too much to do, for everybody" in said(status, kind="overloaded")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "in 1 s"), (90, "in 90 s"), (3600, "in 60 min"), (9e4, "in 25 h")]
)
def test_429_says_when_to_try_again(seconds, words):
    assert f"try again {words}," in said(429, retry_after_s=seconds)


def test_a_redirect_says_the_address_itself():
    assert said(307) == ""


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("refused", "nothing listens at http://gateway:8080 (from ANTHROPIC_BASE_URL): start the server"),
        ("unknown_host", "no host has the name in http://gateway:8080"),
        ("tls", "TLS failed with http://gateway:8080"),
        ("other", "see whether http://gateway:8080"),
    ],
)
def test_a_connection_that_fails_names_the_endpoint_and_its_source(fault, words):
    assert said(kind="connection", fault=fault, environ={"ANTHROPIC_BASE_URL": GATEWAY}).startswith(words)


@pytest.mark.parametrize("kind", [*ErrorKind, "worker", "cassette"])
@pytest.mark.parametrize("status", [None, 300, 400, 401, 403, 404, 413, 418, 429, 500, 529])
def test_no_advice_shows_a_secret_or_fails(kind, status):
    environ = {"ANTHROPIC_API_KEY": "secret", "ANTHROPIC_BASE_URL": "http://u:secret@h/v1"}
    text = said(status, kind=kind, environ=environ)
    assert "secret" not in text
    assert "\n" not in text


def test_a_litellm_proxy_without_a_database_does_not_know_the_key():
    assert "is not its master key: run zot login" in said(400, "No connected db.")
    assert "if no key was sent: run zot login" in said(400, "No connected db.", environ={"ANTHROPIC_BASE_URL": GATEWAY})
