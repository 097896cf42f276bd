"""Which text is a slash command, and which a prompt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.run.slash_commands import Invocation, parse


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("/note", Invocation("note", "")),
        ("/note  buy milk ", Invocation("note", "buy milk")),
        ("/note a\n\tb", Invocation("note", "a\n\tb")),
        ("/a-b_1 /c", Invocation("a-b_1", "/c")),
        ("/git:commit.all -m x", Invocation("git:commit.all", "-m x")),
        ("/über", Invocation("über", "")),
        ("/* what is this? */", None),
        ("/usr/bin is full", None),
        ("/", None),
        ("/ note", None),
        (" /note", None),
        ("what is /note", None),
        ("/notiz: x", None),
        ("//note", None),
    ],
)
def test_what_is_a_command(prompt: str, expected: Invocation | None):
    assert parse(prompt) == expected


@given(st.from_regex(r"[A-Za-z0-9_-]+", fullmatch=True), st.text())
def test_every_command_can_be_written_and_its_arguments_are_kept(name: str, args: str):
    assert parse(f"/{name} {args}") == Invocation(name, args.strip())


@given(st.text())
def test_a_leading_space_makes_text_of_everything(prompt: str):
    assert parse(f" {prompt}") is None
