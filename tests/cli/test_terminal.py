"""The width and the colours that the command line uses for a terminal."""

from __future__ import annotations

import os
import pty
import sys

import pytest

from cli.terminal import is_screen, page_width, table_width, wants_style


@pytest.fixture
def terminal():
    reader, opened = pty.openpty()
    yield opened
    os.close(reader)
    os.close(opened)


@pytest.mark.parametrize(
    ("columns", "width"), [("", 80), ("72", 72), ("500", 100), ("3", 40), ("wide", 80), ("0", 80), ("-5", 80)]
)
def test_the_width_is_that_of_columns_within_bounds(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "__stdout__", None)
    assert page_width() == width
    assert table_width() is None, "stdout is no terminal here"


@pytest.mark.parametrize(
    ("env", "of_a_terminal", "of_a_pipe"),
    [
        ({"TERM": "xterm"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({}, False, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_colours_are_for_terminals_unless_the_user_says_otherwise(
    monkeypatch, terminal, tmp_path, env, of_a_terminal, of_a_pipe
):
    for name in ("FORCE_COLOR", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert wants_style(terminal) is of_a_terminal
    with open(tmp_path / "file", "wb") as file:
        assert wants_style(file.fileno()) is of_a_pipe
        assert not is_screen(file.fileno())
