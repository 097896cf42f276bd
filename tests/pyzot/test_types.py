"""The verdict of type checkers on a program that uses the API, and of the API."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pyzot import AnyEvent, Event, TextDelta, UnknownEvent, events
from tests.support.zot_process import ROOT
from wire.events import AnyRecord

PROGRAM = Path(__file__).with_name("typed_program.py")


@pytest.mark.slow
def test_mypy_finds_the_mistakes_of_a_program_and_no_others():
    argv = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(PROGRAM)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_pyright_finds_the_same(tmp_path):
    if (pyright := shutil.which("pyright")) is None:
        pytest.skip("no pyright here")
    shutil.copy(PROGRAM, tmp_path)
    for package in ("pyzot", "zotext"):
        shutil.copytree(ROOT / package, tmp_path / package)
    settings = {
        "typeCheckingMode": "standard",
        "enableTypeIgnoreComments": False,
        "exclude": ["pyzot/__main__.py"],
        "ignore": ["zotext"],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    argv = [pyright, "--pythonpath", sys.executable, "--outputjson"]  # it finds the libraries of the screen
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
    found = set()
    for one in json.loads(done.stdout)["generalDiagnostics"]:
        file, line, end = Path(one["file"]), one["range"]["start"]["line"], one["range"]["end"]["line"]
        if file.name == PROGRAM.name:
            found.add(line)
        else:
            assert "type: ignore" in "".join(file.read_text().splitlines()[line : end + 1]), one
    assert found == {number for number, line in enumerate(PROGRAM.read_text().splitlines()) if "# type: ignore" in line}


def test_any_event_has_every_record():
    assert set(AnyEvent.__args__) == {*events.EVENTS.values(), UnknownEvent}
    assert set(events.EVENTS) == {record.__struct_config__.tag for record in AnyRecord.__args__}


def test_events_are_values():
    assert TextDelta("a") == TextDelta(delta="a") != TextDelta("b")
    assert hash(TextDelta("a")) == hash(TextDelta("a"))
    assert repr(TextDelta("a")) == "TextDelta(delta='a')"
    assert isinstance(TextDelta("a", prompt="p1"), Event)
    for wrong in (TextDelta, lambda: TextDelta("a", "b"), lambda: TextDelta("a", delta="b")):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(AttributeError, match="cannot be changed"):
        TextDelta("a").delta = "b"
    with pytest.raises(AttributeError, match="cannot be changed"):
        del TextDelta("a").delta
