"""Responses of commands."""

from __future__ import annotations

from typing import Any

import pytest

from zotext import CommandContext, Display, Error, Extension, Insert, Noop, Prompt
from zotext.testing import Harness


@pytest.mark.parametrize(
    ("value", "action", "text"),
    [
        ("shown", "display", "shown"),
        (None, "noop", ""),
        (Display("a"), "display", "a"),
        (Prompt("b"), "prompt", "b"),
        (Insert("c"), "insert", "c"),
        (Noop(), "noop", ""),
    ],
)
def test_what_a_command_returns(ext: Extension, value: Any, action: str, text: str):
    ext.command(name="do")(lambda: value)
    with Harness(ext) as host:
        answer = host.run_command("do", "unused")
    assert (answer.action, answer.text, answer.error, answer.panel) == (action, text, "", None)


def test_commands_get_what_was_typed_and_fail_cleanly(ext: Extension, capsys: Any):
    @ext.command
    def echo(args: str, ctx: CommandContext) -> str:
        """Say it again."""
        return f"{ctx.name} {args}"

    @ext.command
    def broken(kind: str = "") -> Any:
        if kind == "wrong":
            return 3
        if kind == "error":
            return Error("no")
        raise KeyError("x")

    with Harness(ext) as host:
        assert host.commands == {"echo": "Say it again.", "broken": ""}
        assert host.run_command("echo", "a b").text == "echo a b"
        assert host.run_command("broken").error == "KeyError: 'x'"
        assert host.run_command("broken", "error").error == "no"
        assert "returns a str, None or a response" in host.run_command("broken", "wrong").error
        assert host.run_command("nothing").error == "sample has no command 'nothing'"
    capsys.readouterr()
