"""Completion for bash, zsh and fish offers the commands and the flags."""

from __future__ import annotations

import pytest

REQUESTS = {
    "bash": lambda line: {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)},
    "zsh": lambda line: {"_TYPER_COMPLETE_ARGS": line},
    "fish": lambda line: {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


def offered(zot, shell: str, line: str) -> str:
    env = {"_ZOT_COMPLETE": f"complete_{shell}", **REQUESTS[shell](line)}
    outcome = zot.run(env=env)
    assert outcome.stderr == ""
    return outcome.text


@pytest.mark.parametrize("shell", REQUESTS)
def test_commands_and_flags_are_offered(zot, shell):
    commands = offered(zot, shell, "zot ")
    assert "demo" in commands
    assert "schema" in commands
    flags = offered(zot, shell, "zot --re")
    for flag in ("--record", "--replay", "--reasoning"):
        assert flag in flags
    assert "--model" not in flags


def test_the_values_of_a_choice_are_offered(zot):
    assert {"low", "medium", "high"} <= set(offered(zot, "bash", "zot --reasoning ").split())


@pytest.mark.parametrize(
    ("shell", "needle"), [("bash", "complete -o default -F"), ("zsh", "compdef"), ("fish", "complete --command zot")]
)
def test_the_script_for_the_shell_is_printed(zot, shell, needle):
    env = {"_ZOT_COMPLETE": f"source_{shell}"}
    outcome = zot.run(env=env)
    assert needle in outcome.text
    assert "_ZOT_COMPLETE" in outcome.text
