"""The lines of `zot ext stats` about the model."""

from __future__ import annotations

import pytest

from cli.ext.live.stats import _lines
from tests.support.recorded_stats import extension_stats


@pytest.mark.parametrize(
    ("figures", "line"),
    [
        ({"model_tokens": 1_234, "model_usd": 0.5}, "model       1,234 tokens of its definitions and results, $0.5"),
        ({"model_tokens": 1}, "model       1 token of its definitions and results, cost unknown"),
        ({}, None),
    ],
)
def test_the_tokens_and_dollars_at_the_model_are_shown(figures, line) -> None:
    shown = [text for text in _lines("a", 1, extension_stats(**figures)) if text.startswith("model")]
    assert shown == ([] if line is None else [line])
