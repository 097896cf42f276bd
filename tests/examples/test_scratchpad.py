"""The scratchpad example: notes for each project, on disk; and its JavaScript is what its TypeScript gives."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.extension_folder import EXAMPLES

SDK = Path(__file__).parents[2] / "sdk" / "typescript"
COMPILER = SDK / "node_modules" / "typescript" / "bin" / "tsc"


@pytest.fixture
def pad(supervise):
    return supervise("scratchpad")


def test_notes_are_kept_shown_read_and_forgotten(pad):
    assert pad.command("notes").display == "no notes yet"
    assert pad.command("note", " tests need node ").action == "noop"
    pad.command("note", "ask Ada")
    pad.until(lambda: len(pad.notes) == 2)
    assert pad.notes[0] == ("scratchpad", "success", "noted")
    assert pad.command("notes").display == "- tests need node\n- ask Ada"
    assert pad.text("read_notes", containing="ADA").endswith(" ask Ada")
    assert len(pad.text("read_notes").splitlines()) == 2
    assert pad.command("forget-notes").display == "forgot 2"
    assert pad.text("read_notes") == "no such notes"
    assert pad.command("note", " ").error == "what is to be noted? /note TEXT"
    pad.finish()


def test_notes_outlive_the_process_and_belong_to_a_project(supervise):
    first = supervise("scratchpad")
    first.command("note", "mine")
    first.finish()
    file = first.data / "notes.jsonl"
    with file.open("a") as notes:
        notes.write(json.dumps({"project": "/another", "at": "2026-01-02T03:04:05Z", "text": "another's"}) + "\n")
        notes.write('{"project": "/project", "at"')  # as a full disk leaves it
    second = supervise("scratchpad")
    assert second.command("notes").display == "- mine"
    assert second.command("forget-notes").display == "forgot 1"
    assert [json.loads(line)["text"] for line in file.read_text().splitlines()] == ["another's"]
    second.finish()


def test_a_folder_that_cannot_be_written_is_an_error_of_the_command(pad):
    (pad.data / "notes.jsonl").mkdir()
    assert "EISDIR" in pad.command("note", "x").error
    assert "EISDIR" in pad.command("notes").error


@pytest.mark.skipif(not COMPILER.exists(), reason="no TypeScript here: npm ci --prefix sdk/typescript --ignore-scripts")
@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_the_committed_javascript_is_what_the_source_gives(tmp_path):
    folder = EXAMPLES / "scratchpad"
    types = SDK / "node_modules" / "@types"
    compiled = subprocess.run(
        ["node", COMPILER, "-p", folder, "--outDir", tmp_path, "--typeRoots", types], capture_output=True, text=True
    )
    assert compiled.returncode == 0, compiled.stdout
    for name in ("index.js", "notes.js"):
        assert (folder / name).read_text() == (tmp_path / name).read_text(), f"{name}: run npm run build"
