"""The README from top to bottom: its commands in their order, in one shell with one home, in a copy of the checkout."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.messages_server import MessagesServer, text_reply
from tests.support.patience import PATIENCE_S
from tests.support.zot_fixtures import server
from tests.support.zot_process import Zot

__all__ = ["server"]

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NEEDED = ("Makefile", "pyproject.toml", "cli/version.py", "zotext", "examples")
"""Files of a checkout that the commands use; `zot` itself is the one that runs the tests."""
MARK = "-- ended with"
MOST_LINES = 140


def commands() -> list[tuple[str, list[str]]]:
    """Each command of the README with the lines that are shown of its output."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def same_each_time(line: str) -> str:
    """The line without numbers, units of time and runs of spaces."""
    line = re.sub(r"\d[\d.,:TZ+/-]*", "0", line.partition("…")[0])
    return " ".join(re.sub(r"0 ?(?:ms|s|min)\b", "0 s", line).split())


class Shell:
    """One bash that reads its commands from a pipe, so that they have no other standard input than the user's."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        script, self._commands = os.pipe()
        self._process = subprocess.Popen(
            ["bash", f"/dev/fd/{script}"],
            cwd=folder, env=environment, pass_fds=[script],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        os.close(script)

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._commands)
        self._process.communicate(timeout=PATIENCE_S)

    def run(self, command: str, last_words: str) -> tuple[str, int]:
        """The output of a command up to its last words, or to its end, and its exit status."""
        os.write(self._commands, f"{command}\necho '{MARK}' $?\n".encode())
        output = ""
        ended = re.compile(rf"^{MARK} (\d+)$", re.MULTILINE)
        while not (found := ended.search(output)) or last_words not in output:
            assert self._process.stdout
            assert select.select([self._process.stdout], [], [], PATIENCE_S)[0], f"{command}: {output}"
            read = os.read(self._process.stdout.fileno(), 1 << 16)
            assert read, f"{command}: {output}"
            output += read.decode()
        return output, int(found[1])


def checkout(folder: Path) -> Path:
    """A copy of the checkout's files with its environment in place, and one change that is not committed."""
    folder.mkdir()
    for name in NEEDED:
        (folder / name).parent.mkdir(exist_ok=True)
        copy: Any = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    for words in (["init", "-q"], ["add", "cli"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    shutil.copy2(ROOT / "LICENSE", folder / "cli" / "version.py")
    return folder


@pytest.mark.slow
def test_every_command_works_in_its_order_and_says_what_is_shown(tmp_path, server: MessagesServer):
    server.otherwise = lambda _request: text_reply("It adds up prices.")
    zot = Zot(tmp_path)
    environment = {
        **{name: value for name, value in zot.env.items() if name != "PYTHONPATH"},
        "HOME": str(tmp_path), "ANTHROPIC_API_KEY": "a key", "ANTHROPIC_BASE_URL": server.base_url,
    }  # fmt: skip
    with Shell(checkout(tmp_path / "checkout"), environment) as shell:
        # Tests install nothing: the environment is there, whatever make thinks of the age of its files.
        shell.run('make() { command make -o .venv/.python -o .venv/.installed "$@"; }', "")
        for command, shown in commands():
            output, status = shell.run(command, "")
            documented = re.search(r"# .*exit status (\d+)", command)
            assert status == int(documented[1] if documented else 0), f"{command}: {output}"
            said = {same_each_time(line) for line in output.splitlines()}
            for line in map(same_each_time, shown):
                assert any(each.startswith(line) for each in said), f"{command}: {line}: {output}"
    assert len(server.requests) == 4, "each command that says that it needs a key"
    assert '"type":"result"' in (tmp_path / "events.jsonl").read_text()
    assert (tmp_path / "runs" / "report.html").exists()


def test_it_is_short_and_each_door_has_six_commands():
    assert len(README.splitlines()) <= MOST_LINES
    doors = re.findall(r"^## I (.*?)(?=^## )", README, re.MULTILINE | re.DOTALL)
    assert [len([line for line in door.splitlines() if re.match(r"\$ (?!cd )", line)]) for door in doors] == [6, 6, 6]
