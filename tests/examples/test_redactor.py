"""The redactor example: what it replaces, what it leaves alone, what it tells the user."""

from __future__ import annotations

import pytest

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"
SECRETS = [
    ("the key is sk-ant-api03-abcDEF123_456-xyz.", "the key is [redacted:anthropic-key].", "1 anthropic-key"),
    ("sk-proj-abcdefghij0123456789", "[redacted:api-key]", "1 api-key"),
    ("ghp_" + "a1B2" * 9, "[redacted:github-token]", "1 github-token"),
    ("github_pat_" + "a1B2_" * 6, "[redacted:github-token]", "1 github-token"),
    ("id=AKIAIOSFODNN7EXAMPLE!", "id=[redacted:aws-key-id]!", "1 aws-key-id"),
    (f"see:\n{PEM}\nend", "see:\n[redacted:private-key]\nend", "1 private-key"),
    (PEM[:50], "[redacted:private-key]", "1 private-key"),
    ("-----BEGIN PRIVATE KEY-----\nabc", "[redacted:private-key]", "1 private-key"),
    ("password=hunter2, ok", "password=[redacted:password], ok", "1 password"),
    ("DB_PASSWORD = 'two words' x", "DB_PASSWORD = [redacted:password] x", "1 password"),
    ('passwd="a;b"; next', "passwd=[redacted:password]; next", "1 password"),
    ('password="cut off', "password=[redacted:password]", "1 password"),
    ("password=sk-ant-api03-abcDEF123456", "password=[redacted:password]", "1 password"),
    (f"password={PEM}", "password=[redacted:private-key]", "1 private-key"),
]
HARMLESS = [
    "plain text",
    "the password: see the vault",
    "if password == other:",
    "password=",
    "a risk-free-and-very-long-word-1234567890",
    "sk-learn",
    "sk-all-words-and-no-digits-here",
    "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
    "password=[redacted:password]",
    "",
]


@pytest.fixture(scope="module")
def redactor(shared):
    return shared("redactor")


def ask(redactor, **fields):
    redactor.send("event_intercept", id="9", event="assistant_message", **fields)
    return redactor.frame()


def is_still_working(redactor):
    """True if its next frame is the answer, so it said nothing unasked."""
    return ask(redactor, text="plain") == {"type": "event_intercept_response", "id": "9"}


@pytest.mark.parametrize(("text", "visible", "kinds"), SECRETS)
def test_replaces_a_secret_and_warns_without_repeating_it(text, visible, kinds, redactor):
    assert ask(redactor, text=text) == {"type": "event_intercept_response", "id": "9", "replace_text": visible}
    assert redactor.frame() == {"type": "notify", "level": "warn", "message": f"redacted 1 secret: {kinds}"}
    assert is_still_working(redactor)


@pytest.mark.parametrize("text", HARMLESS)
def test_leaves_other_text_alone(text, redactor):
    assert ask(redactor, text=text) == {"type": "event_intercept_response", "id": "9"}
    assert is_still_working(redactor)


def test_a_question_without_text_is_answered(redactor):
    assert is_still_working(redactor)
    assert ask(redactor) == {"type": "event_intercept_response", "id": "9"}
