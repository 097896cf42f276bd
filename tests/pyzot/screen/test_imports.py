"""The libraries of the screen are imported by the screen alone, and by no run."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.cli.test_imports import TRACED, modules
from tests.support.replay_script import Script
from tests.support.zot_fixtures import zot
from tests.support.zot_process import ROOT

__all__ = ["zot"]

PACKAGES = ("wire", "supervisor", "agent", "cli", "pyzot", "zotext")
USES = {
    "prompt_toolkit": {"pyzot/screen/terminal", "pyzot/screen/view/text.py", "pyzot/typed_lines.py"},
    "rich": {
        "cli/batch/output/live.py", "cli/batch/output/progress.py", "cli/batch/output/summary.py", "cli/columns.py",
        "cli/run/run_view.py", "cli/styled_lines.py", "cli/top/live.py", "cli/top/screen.py",
        "pyzot/screen/view/markdown.py",
    },
}  # fmt: skip
"""The places that import a library: files, and rooms with all their files."""


def imported_by(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module


@pytest.mark.parametrize("library", USES)
def test_a_library_is_imported_where_it_belongs(library):
    users = {
        path.relative_to(ROOT)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if any(name.partition(".")[0] == library for name in imported_by(path))
    }
    assert {str(user) for user in users if not {str(user), str(user.parent)} & USES[library]} == set()
    assert all(any(str(user).startswith(place) for user in users) for place in USES[library]), "a place uses it no more"


@pytest.mark.parametrize("mode", ["-p", "rpc"])
def test_a_run_imports_neither(zot, mode):
    cassette = Script(zot.cwd).answer("Done.").write(zot.folder / "cassette.jsonl")
    words = [mode, "--replay", cassette, *(["go"] if mode == "-p" else [])]
    outcome = zot.run(*words, command=TRACED)
    assert outcome.status == 0, outcome.stderr
    seen = modules(outcome.stderr)
    assert "msgspec" in seen  # the trace is there
    assert {name for name in seen if name.partition(".")[0] in USES} == set()


def test_only_the_view_of_a_terminal_imports_prompt_toolkit():
    """Plain lines need it for the width of letters that are not ASCII."""
    code = "import pyzot.screen.plain, sys; print([name for name in sys.modules if name.split('.')[0] in sys.argv[1:]])"
    done = subprocess.run([sys.executable, "-c", code, *USES], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
