"""Verdicts that cannot be made."""

from __future__ import annotations

import pytest

from zotext import replace_text


def test_an_empty_text_is_no_replacement():
    with pytest.raises(ValueError, match="use block"):
        replace_text("")
