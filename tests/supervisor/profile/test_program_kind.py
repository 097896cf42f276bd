"""The kind of a program decides whether and how its process is profiled."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from supervisor.profile.program_kind import ProgramKind, RunningProgram, running_program


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/usr/bin/python3.11", ProgramKind.PYTHON),
        ("/opt/python/bin/python3.13t", ProgramKind.PYTHON),
        ("/usr/bin/python3.12 (deleted)", ProgramKind.PYTHON),
        ("/Library/Python.app/Contents/MacOS/Python", ProgramKind.PYTHON),
        ("/usr/bin/node", ProgramKind.NODE),
        ("nodejs", ProgramKind.NODE),
        ("/usr/bin/node_exporter", None),
        ("/usr/bin/python3-config", None),
        ("/usr/bin/bun", None),
        ("/bin/dash", None),
        ("", None),
    ],
)
def test_the_kind_is_told_by_the_name_of_the_programs_file(path: str, kind: ProgramKind | None):
    assert RunningProgram(path, ()).kind is kind


@pytest.mark.parametrize(
    ("words", "is_launcher"),
    [
        (("node", "/usr/bin/npx", "-y", "server"), True),
        (("node", "/usr/lib/node_modules/npm/bin/npx-cli.js", "server"), True),
        (("python3", "-m", "pipx", "run", "server"), True),
        (("node", "server.js", "npx"), False),
        (("python3", "main.py"), False),
        (("python3",), False),
        ((), False),
    ],
)
def test_a_launcher_is_told_by_its_script(words: tuple[str, ...], is_launcher: bool):
    assert RunningProgram("/usr/bin/node", list(words)).is_launcher is is_launcher


def test_a_process_is_looked_at():
    found = running_program(os.getpid())
    assert found is not None
    assert os.path.realpath(found.path) == os.path.realpath(sys.executable)
    assert found.kind is ProgramKind.PYTHON
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert running_program(ended.pid) is None
