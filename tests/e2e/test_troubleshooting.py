"""Each message of docs/troubleshooting.md is what a user sees who does what its situation does, and none is untold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.situations import SITUATIONS, Stage

PAGE = Path(__file__).parents[2] / "docs" / "troubleshooting.md"
HEADINGS = re.findall(r"^### `(.+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("message", HEADINGS)
def test_the_message_is_what_a_user_sees(message, zot, server):
    seen = SITUATIONS[message](Stage(zot, server))
    pattern = ".*?".join(re.escape(part) for part in message.split("…"))
    assert re.search(pattern, " ".join(seen.split()), re.DOTALL), seen


def test_each_situation_is_told_on_the_page():
    assert sorted(SITUATIONS) == sorted(HEADINGS)
    assert len(HEADINGS) > 30


def test_each_message_says_what_it_means_and_what_to_do():
    text = PAGE.read_text(encoding="utf-8")
    for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        told = section.partition("\n")[2].split("\n## ")[0].strip()
        assert len(told.split()) >= 12, f"says too little: {section}"
