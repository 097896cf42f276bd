"""The help of every command keeps to its width, and the parser takes its examples."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer

from cli.app import app
from cli.help.help_text import parse
from cli.help.page import render

ROOT = typer.main.get_command(app)


def contexts() -> dict[str, Any]:
    """The context of every command that is not hidden, by its path."""
    found = {}
    pending = [type_of_context(ROOT, "zot", None)]
    while pending:
        context = pending.pop()
        found[context.command_path] = context
        command: Any = context.command
        if hasattr(command, "list_commands"):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                if not inner.hidden:
                    pending.append(type_of_context(inner, name, context))
    return found


def type_of_context(command: Any, name: str, parent: Any) -> Any:
    return typer.Context(command, info_name=name, parent=parent, help_option_names=["-h", "--help"])


CONTEXTS = contexts()
EXAMPLES = [
    pytest.param(command, id=f"{path}: {command}")
    for path, context in CONTEXTS.items()
    for command, _word in parse(context.command.help or "").examples.rows
]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_each_page_fits_its_width(width):
    for context in CONTEXTS.values():
        copied = {command for command, _word in parse(context.command.help).examples.rows}
        for line in render(context, width=width, bold=False).split("\n"):
            assert len(line) <= width or line.strip() in copied, line
            assert line == line.rstrip()
            assert "[bold]" not in line
            assert "\x1b" not in line


@pytest.mark.parametrize("path", CONTEXTS)
def test_each_command_has_a_summary_and_an_example(path):
    text = parse(CONTEXTS[path].command.help)
    assert text.summary, path
    assert text.examples.rows, path
    page = render(CONTEXTS[path], width=100, bold=False).split("\n")
    for command, word in text.examples.rows:
        (line,) = (line for line in page if line.strip().startswith(command + "  ") or line.strip() == command)
        assert not word or line.endswith(word) or f"  {word}" in "\n".join(page)


def commands_of(line: str) -> list[list[str]]:
    """The words of each call of zot in a line for a shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    skip = False
    for word in lexer:
        if skip:
            skip = False
        elif set(word) <= set("<>"):
            skip = True
        elif set(word) <= set("|&;"):
            found.append([])
        else:
            found[-1].append(word)
    return [words[1:] for words in found if words[:1] == ["zot"]]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_parser_takes_each_example(example):
    calls = commands_of(example)
    assert calls, "an example is a call of zot"
    for words in calls:
        if not words:
            continue  # zot alone opens the screen
        context: Any = ROOT.make_context("zot", list(words))
        while context._protected_args:
            name, command, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
            context = command.make_context(name, rest, parent=context)
        if context.command is ROOT:
            is_screen = not context.obj and not context.params["image"]
            assert is_screen or any(context.params[mode] for mode in ("print", "json", "rpc")), example


def test_a_flag_shows_its_default_as_a_sentence_and_an_argument_no_braces():
    page = render(CONTEXTS["zot ext stats"], width=80, bold=False)
    assert "Usage: zot ext stats [OPTIONS] NAME\n" in page
    page = render(CONTEXTS["zot host"], width=80, bold=False)
    assert re.search(r"--log-level .*Default:\s+info\.", page, re.DOTALL)


def test_titles_and_names_are_bold_only_if_asked_for():
    assert "\x1b[1mOptions:\x1b[0m" in render(CONTEXTS["zot ps"], width=80, bold=True)
