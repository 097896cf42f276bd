"""The addresses that `--listen` takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.choices import CommandLineError
from cli.metrics.address import Address, parse_address


@pytest.mark.parametrize(
    ("text", "address", "is_loopback"),
    [
        ("127.0.0.1:9469", Address("127.0.0.1", 9469), True),
        ("127.1.2.3:0", Address("127.1.2.3", 0), True),
        ("localhost:80", Address("localhost", 80), True),
        ("[::1]:9469", Address("::1", 9469), True),
        ("0.0.0.0:9469", Address("0.0.0.0", 9469), False),
        ("[::]:9469", Address("::", 9469), False),
        ("my-box.local:65535", Address("my-box.local", 65535), False),
    ],
)
def test_good_ones(text: str, address: Address, is_loopback: bool):
    found = parse_address(text)
    assert found == address
    assert found.is_loopback is is_loopback
    assert str(found) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is missing"),
        ("9469", "is missing"),
        (":9469", "is missing"),
        ("127.0.0.1:", "is no port"),
        ("127.0.0.1:port", "is no port"),
        ("127.0.0.1:-1", "is no port"),
        ("127.0.0.1:65536", "is no port"),
        ("127.0.0.1:٤٢", "is no port"),
        ("::1:9469", "in brackets"),
        ("http://127.0.0.1:9469", "not a URL"),
        ("a b:9469", "is no host"),
        ("a/b:9469", "is no host"),
        ("[]:9469", "is no host"),
        ("\x1b[31m:9469", "is no host"),
    ],
)
def test_bad_ones(text: str, said: str):
    with pytest.raises(CommandLineError, match=said):
        parse_address(text)


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_is_refused(text: str):
    try:
        found = parse_address(text)
    except CommandLineError:
        return
    assert parse_address(str(found)) == found
