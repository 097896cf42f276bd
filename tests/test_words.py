"""The check of wording finds each kind of place that it is for, and lets good wording pass."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("words", ROOT / "docs/words.py")
assert spec
assert spec.loader
words = importlib.util.module_from_spec(spec)
spec.loader.exec_module(words)


@pytest.mark.parametrize(
    "text",
    [
        "What the host sends.",
        "Ends the run. Those that are left are killed.",
        "Reads one line.\n\n    Who has a name keeps it.",
        "Either of:\n- Nobody is asked.",
        "**So many** lines: no.\nSo many as fit.",
        "It is not shown any more.",
        "A status that is none of these.",
    ],
)
def test_a_place_that_breaks_a_rule_is_found(text):
    assert list(words.in_text(text))
    assert list(words.in_python(f'"""{text}"""', all_strings=False))
    assert list(words.in_markdown(text))
    if "\n" not in text:
        assert list(words.in_python(f"x = 1  # {text}", all_strings=False))
        assert list(words.in_python(f"x = {text!r}", all_strings=True))
        assert not list(words.in_python(f"x = {text!r}", all_strings=False))


@pytest.mark.parametrize(
    "text",
    [
        "What is in force? `zot doctor` says it.",
        "Returns what was read; those that are left stay.",
        "Takes no longer than a turn, or any more than that.",
    ],
)
def test_good_wording_passes(text):
    assert not list(words.in_text(text))
    assert not list(words.in_markdown(text))


def test_a_sentence_that_goes_over_two_comments_is_read_as_one():
    assert list(words.in_python("x = 1\n# Reads a line.\n# Those that are long are cut.\n", all_strings=False))
    assert not list(
        words.in_python("x = 1\n# Reads a line, and of\n# those the first\n# What next?\n", all_strings=False)
    )


def test_code_headings_and_quotations_are_not_worded_by_us():
    assert not list(
        words.in_markdown('```\nWhat a line.\n```\n# What is here\nIt says "Nobody is there." `Who is it.`\n')
    )


@pytest.mark.parametrize(
    ("module", "fits"),
    [
        ("restart", True),
        ("merged_names", True),
        ("own_files", True),
        ("judged", False),
        ("files_kept", False),
        ("what", False),
    ],
)
def test_the_name_of_a_module_is_a_noun(module, fits):
    assert words.is_noun(module) is fits


def test_the_line_of_a_place_is_told():
    [(line, text)] = words.in_python('x = 1\n\n"""Reads.\n\nThose are left.\n"""\n', all_strings=False)
    assert (line, text) == (5, "Those are left.")
