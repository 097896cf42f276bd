"""Completion offers commands, flags and names, in the protocol of each shell and in the shells themselves."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.extension_folder import extension
from tests.support.host_process import hosting
from tests.support.run_traces import BEGAN, write_run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot

REQUESTS = {
    "bash": lambda line: {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)},
    "zsh": lambda line: {"_TYPER_COMPLETE_ARGS": line},
    "fish": lambda line: {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


def offered(zot: Zot, shell: str, line: str) -> str:
    env = {"_ZOT_COMPLETE": f"complete_{shell}", **REQUESTS[shell](line)}
    outcome = zot.run(env=env)
    assert outcome.stderr == ""
    return outcome.text


def words(zot: Zot, line: str) -> list[str]:
    return offered(zot, "bash", line).split()


def install(parent: Path, name: str, *, enabled: bool = True) -> None:
    folder = parent / "extensions" / name.replace(" ", "_").replace("*", "_")
    folder.mkdir(parents=True)
    (folder / "extension.json").write_text(json.dumps({"name": name, "exec": "./run", "enabled": enabled}))


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
    assert {"low", "medium", "high"} <= set(words(zot, "zot --reasoning "))


def test_installed_extensions_are_offered_as_the_command_needs_them(zot):
    install(zot.home, "guard")
    install(zot.home, "gauge", enabled=False)
    install(zot.cwd / ".zot", "gate")
    for name in ("two words", "*", "-dash"):
        install(zot.home, name)
    (zot.home / "extensions" / "broken").mkdir()
    expected = {
        "zot ext info ": ["gate", "gauge", "guard"],
        "zot ext enable ": ["gauge"],
        "zot ext disable g": ["gate", "guard"],
        "zot ext update guard g": ["gate", "gauge"],
        "zot ext doctor gu": ["guard"],
        "zot ext trust ": ["gate"],
        "zot ext info nope": [],
    }
    assert {line: words(zot, line) for line in expected} == expected


def test_running_hosts_and_their_extensions_are_offered(zot, tmp_path):
    install(zot.home, "idle")
    with hosting(zot, extension(tmp_path, "echo.py"), flags=("--no-ext",)) as hosted:
        pid = str(hosted.running.pid)
        expected = {
            "zot ext stats ": ["echo"],
            "zot ext restart e": ["echo"],
            "zot ext reload ": ["echo"],
            "zot ext stop ": ["echo"],
            "zot ext start ": ["echo"],
            "zot ext limit ": ["echo"],
            "zot events ": [pid],
            "zot host health ": [pid],
            "zot top ": [pid],
            "zot stop ": [pid],
            "zot ext stats --host ": [pid],
        }
        assert {line: words(zot, line) for line in expected} == expected
    assert words(zot, "zot stop ") == []
    assert words(zot, "zot ext logs ") == ["echo"]


def test_models_schemas_and_the_words_of_help_are_offered(zot):
    assert "claude-sonnet-5-5" in words(zot, "zot --model claude-")
    assert words(zot, "zot schema manif") == ["manifest"]
    assert words(zot, "zot ext schema tool_c") == ["tool_call", "tool_cancel"]
    assert words(zot, "zot help ext lo") == ["logs"]
    assert "top" in words(zot, "zot help ")


def test_nothing_but_names_comes_out_if_a_home_cannot_be_read(zot):
    zot.home.write_text("not a folder")
    for line in ("zot ext info ", "zot ext logs ", "zot stop ", "zot ext nope x"):
        text = offered(zot, "zsh", line)
        assert "rror" not in text
        assert "Traceback" not in text


def test_names_are_found_without_the_sdk_and_without_rich(zot):
    from tests.cli.test_imports import TRACED, imported

    install(zot.home, "guard")
    env = {"_ZOT_COMPLETE": "complete_zsh", **REQUESTS["zsh"]("zot ext info ")}
    outcome = zot.run(env=env, command=TRACED)
    assert '"guard"' in outcome.text
    assert not imported(outcome.stderr) & {"anthropic", "rich", "pydantic", "agent"}


IN_A_SHELL = {
    "bash": """
        source ./completion; COMP_WORDS=(zot ext info gu); COMP_CWORD=3
        _zot_completion zot; printf '%s\\n' "${COMPREPLY[@]}"
    """,
    "zsh": """
        compdef() {}; _arguments() { print -r -- "$@" }; _files() { print files }
        source ./completion; words=(zot ext info gu); CURRENT=4; _zot_completion
    """,
    "fish": "source ./completion; complete -C 'zot ext info gu'",
}
"""Presses Tab after `zot ext info gu`. zsh completes within its line editor only, so its functions are replaced."""
PLAIN = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}


@pytest.mark.parametrize("shell", IN_A_SHELL)
def test_a_real_shell_gets_the_names(zot, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    install(zot.home, "guard")
    script = zot.run(env={"_ZOT_COMPLETE": f"source_{shell}"}).text
    (zot.cwd / "completion").write_text(script)
    programs = zot.folder / "programs"
    programs.mkdir()
    (programs / "zot").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pyzot "$@"\n')
    (programs / "zot").chmod(0o755)
    env = {**zot.env, "PATH": f"{programs}:{zot.env['PATH']}", "HOME": str(zot.folder), "TERM": "dumb"}
    command = [shell, *PLAIN[shell], "-c", IN_A_SHELL[shell]]
    done = subprocess.run(command, cwd=zot.cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert "guard" in done.stdout, done.stderr
    assert "rror" not in done.stdout + done.stderr


def test_the_ids_of_past_runs_and_their_extensions_are_offered(zot):
    older, newer = write_run(zot.home), write_run(zot.home, BEGAN + 60)
    assert words(zot, "zot runs show 2026") == [older.stem, newer.stem]
    assert words(zot, "zot ext history ") == ["crash", "guard"]
