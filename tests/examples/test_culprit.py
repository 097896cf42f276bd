"""The first run of docs/culprit.md: the example's fault is told, kept, replayed and found."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.support.extension_folder import EXAMPLES
from tests.support.zot_process import Zot

if TYPE_CHECKING:
    from pathlib import Path

CULPRIT = EXAMPLES.parent / "culprit"


EXTENSIONS = ("dictionary", "../extensions/guard", "../extensions/redactor")


@pytest.fixture
def zot(tmp_path: Path) -> Zot:
    return Zot(tmp_path)


@pytest.fixture
def commands(zot: Zot) -> list[str]:
    """The run of the page, in a copy of its folder."""
    folder = zot.folder / "examples" / "culprit"
    shutil.copytree(CULPRIT, folder)
    for name in ("guard", "redactor"):
        shutil.copytree(EXAMPLES / name, zot.folder / "examples" / "extensions" / name)
    zot.cwd = folder
    named = [word for name in EXTENSIONS for word in ("-e", name)]
    return ["-p", "--replay", "run.jsonl", "--no-ext", "--no-context-files", *named, "Count the letters."]


def test_the_run_tells_who_fell_and_the_commands_say_why(zot: Zot, commands: list[str]):
    ran = zot.run(*commands)
    assert ran.status == 1
    assert "extension dictionary: it ended (signal SIGSEGV) with 1 call pending" in ran.stderr
    assert "dictionary" in zot.run("runs", "--failed").text
    shown = zot.run("runs", "show", "last")
    assert "dictionary  crashed  signal SIGSEGV; 1 request lost" in shown.text
    (box,) = (zot.home / "runs").glob("*.dictionary.1.box.jsonl")
    assert str(box) in shown.text
    again = zot.run("ext", "replay", box, "./dictionary")
    assert (again.status, again.text) == (1, "falls again: signal SIGSEGV after frame 9 (tool_call lookup)\n")


def test_the_bisection_names_it(zot: Zot, commands: list[str]):
    found = zot.run("ext", "bisect", "--check-text", "SIGSEGV", "--", "zot", *commands)
    assert found.status == 0, found
    assert found.text.startswith("dictionary makes the run go bad, alone and without the 2 other extensions.\n")
