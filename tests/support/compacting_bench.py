"""Prompts that compact their conversation: a run with a scripted model of a small window, and what it says."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from agent.model import catalogue
from agent.model.catalogue import ModelInfo, Prices, Thinking
from agent.run.compaction import HEADING
from agent.transcript import Message, Text
from tests.support.run_bench import running
from tests.support.scripted_model import fails, says

WINDOW = 10_000
REFUSAL = "prompt is too long: 9 tokens > 8 maximum"
TOO_LONG = fails("too_long", REFUSAL)
SUMMARY = says("It was so.")
SUMMED_UP = f"{HEADING}It was so."
LONG = "go" + "word" * 7_000
FAILED = fails("server", "broken", 500)


def reply(text, *calls, tokens, stop=None):
    """A reply after which the conversation has so many tokens, most of them from the cache."""
    lines = says(text, *calls, stop=stop)
    lines[-1]["usage"] = {"input": 2, "output": 3, "cache_read": tokens - 5, "cache_write": 0}
    return lines


def call(number):
    return (f"t{number}", "nope", {})


def said(*tokens):
    return [
        Message("assistant" if number % 2 else "user", (Text(f"text {number}" + "word" * count),), "")
        for number, count in enumerate(tokens)
    ]


@pytest.fixture
def bench(tmp_path, monkeypatch):
    windows = {"m": WINDOW}
    monkeypatch.setattr(
        catalogue,
        "find",
        lambda model: (
            ModelInfo(model, windows[model], 1_000, Thinking.BUDGET, Prices(1, 1, 1, 1)) if model in windows else None
        ),
    )

    @contextmanager
    def make(*replies, before=(), **options):
        with running(tmp_path, *replies, **{"auto_compact": True, **options}) as made:
            made.windows, made.told = windows, []
            made.run._compactor._say = made.told.append
            made.conversation.transcript = list(before)
            made.observed = []
            monkeypatch.setattr(made.supervisor.observers, "tell", made.observed.append)
            yield made
            assert made.model.replies == [], "each reply was asked for"

    return make
