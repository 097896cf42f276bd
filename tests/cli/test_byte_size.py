"""Sizes on the command line."""

from __future__ import annotations

import pytest

from cli.byte_size import bytes_from


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512MB", 512_000_000),
        ("512MiB", 512 << 20),
        ("512M", 512 << 20),
        ("1.5g", 3 << 29),
        ("1 KB", 1000),
        ("1048576", 1 << 20),
        ("10b", 10),
        (".5K", 512),
        ("2TiB", 2 << 40),
    ],
)
def test_a_size(text, size):
    assert bytes_from(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1M", "M", "1 2", "12XB", "1e3", "inf", "0.1", "\u0661M", "1MMB"])
def test_what_is_no_size_says_what_is(text):
    with pytest.raises(ValueError, match="is not a size above zero: write bytes"):
        bytes_from(text)
