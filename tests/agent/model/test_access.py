"""Which endpoint and which credential a run uses, by flags, key file and variables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.access import (
    Access,
    AccessError,
    CredentialKind,
    Endpoint,
    find_access,
    hide_credentials,
    lacks_credentials,
)

KEY, TOKEN, URL = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"
IDLE = "ZOT_MODEL_IDLE_TIMEOUT"


def test_without_flags_and_variables_it_is_the_provider_and_there_is_no_credential():
    access = find_access({KEY: "", TOKEN: "", URL: ""})
    assert access == Access()
    assert access.is_missing
    assert (access.endpoint.url, access.endpoint.source) == ("https://api.anthropic.com", "")


@pytest.mark.parametrize(
    ("environ", "flags", "kind", "value", "source", "unused"),
    [
        ({KEY: "k", TOKEN: "t"}, {}, "key", "k", KEY, (TOKEN,)),
        ({TOKEN: "t"}, {}, "token", "t", TOKEN, ()),
        ({KEY: "", TOKEN: "t"}, {}, "token", "t", TOKEN, ()),
        ({KEY: "k"}, {"api_key": "f"}, "key", "f", "--api-key", (KEY,)),
        ({KEY: "k"}, {"file_key": "f", "file_name": "--api-key-file x"}, "key", "f", "--api-key-file x", (KEY,)),
        ({TOKEN: "t"}, {"api_key": "f"}, "key", "f", "--api-key", (TOKEN,)),
    ],
)
def test_flags_come_before_variables_and_the_key_before_the_token(environ, flags, kind, value, source, unused):
    credential = find_access(environ, **flags).credential
    found = (credential.kind, credential.value, credential.source, credential.unused)
    assert found == (CredentialKind(kind), value, source, unused)


def test_the_flag_for_the_address_comes_before_the_variable():
    environ = {URL: "http://gateway:1/x"}
    assert find_access(environ).endpoint == Endpoint("http://gateway:1/x", URL)
    assert find_access(environ, base_url="http://other").endpoint == Endpoint("http://other", "--base-url")
    assert not find_access(environ).is_missing, "a gateway may need no key"


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "x:80", "http://", "https:///path", "http://h:0", "http://h:x", "http://[::", "http://h/a b", "\udcff"],
)
@pytest.mark.parametrize("source", [URL, "--base-url"])
def test_an_address_that_is_none_names_its_source(url, source):
    flag = url if source != URL else None
    with pytest.raises(AccessError, match=rf"^{source} "):
        find_access({URL: url}, base_url=flag)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:pass@h:8/x", "http://h:8/x"),
        ("https://user:p%40ss@h", "https://h"),
        ("http://h/?key=pass", "http://h"),
        ("http://h?key=pass", "http://h"),
        ("http://h/v1/#pass", "http://h/v1"),
        ("http://[::1]:80", "http://[::1]:80"),
    ],
)
def test_a_password_in_an_address_is_not_shown(url, shown):
    endpoint = find_access({URL: url}).endpoint
    assert endpoint.shown == shown
    assert "pass" not in repr(endpoint)


@pytest.mark.parametrize(
    "url",
    [
        "user:pass@h",
        "http://user:pass@h:x",
        "http://user:pass@h:0",
        "http://u:pass@h/a b",
        "http://u:pass@h\u2100",
        "http://u:pa/pass@h",
    ],
)
def test_an_address_that_is_none_does_not_show_its_password(url):
    with pytest.raises(AccessError) as caught:
        find_access({URL: url})
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://h/v1?u=http://a:b@c", "https://h/v1?u=http://a:b@c"),
        ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
        ("https://token@h", "https://***@h"),
        ("https://u:pass@h:80/v1", "https://***@h:80/v1"),
        ("https://u:p@ss@h", "https://***@h"),
        ("http://u:pa/ss@h/v1", "http://***@h/v1"),
        ("u:pass@h", "***@h"),
    ],
)
def test_an_address_is_kept_without_its_user_name_and_password(url, kept):
    assert hide_credentials(url) == hide_credentials(kept) == kept
    assert lacks_credentials(kept) is (kept != url)
    assert not lacks_credentials(url)


def test_the_idle_timeout_is_five_minutes_or_what_the_variable_says():
    assert [find_access({IDLE: text}).idle_timeout_s for text in ("", "1800", "0.5")] == [300, 1800, 0.5]


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "5m", "86401", " ", "\udcff"])
def test_an_idle_timeout_that_is_none_is_refused(text):
    with pytest.raises(AccessError, match=rf"^{IDLE} .* must be seconds, from 0.1 to 86400$"):
        find_access({IDLE: text})


@given(st.text(min_size=1).filter(lambda text: not (text.isascii() and text.isprintable())))
def test_a_key_that_no_header_can_carry_names_its_source_and_nothing_of_itself(key):
    with pytest.raises(AccessError) as caught:
        find_access({KEY: key})
    assert str(caught.value) == "the key from ANTHROPIC_API_KEY has characters that no HTTP header can carry"


def test_no_credential_is_in_a_repr():
    access = find_access({KEY: "sk-secret", URL: "http://u:sk-secret@h"}, api_key="sk-secret2")
    assert "sk-secret" not in repr(access)
