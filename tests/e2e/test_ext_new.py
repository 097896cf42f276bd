"""A new extension works: its own tests pass, and `zot` finds no fault in it."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cli.ext.author.new import run_new
from cli.os_errors import UnableError
from wire.exit_codes import Status
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from pathlib import Path

NEEDED = {"python": "python3", "typescript": "node", "sh": "jq", "go": "go"}
NEXT = {
    language: ["zot ext test .", *own, 'zot -p -e . "/my-first"']
    for language, own in {
        "python": ["python3 -m unittest discover tests"],
        "typescript": ["npm test"],
        "sh": [],
        "go": ["go test ./..."],
    }.items()
}
BUILD = {"go": ["go", "build", "-o", "bin/my_first", "."]}
"""As its README says, at first and after each change."""


@pytest.fixture
def made(zot, tmp_path):
    """Makes an extension, called `my-first`, in this language."""

    def make(language: str) -> Path:
        outcome = zot.run("ext", "new", "my-first", "--lang", language, "--dir", tmp_path)
        assert outcome.status == 0, outcome.stderr
        lines = [line.strip() for line in outcome.text.splitlines()]
        assert lines[2] == f"cd {tmp_path / 'my-first'}"
        assert lines[-len(NEXT[language]) :] == NEXT[language]
        return tmp_path / "my-first"

    return make


def need(language: str) -> None:
    if shutil.which(NEEDED[language]) is None:
        pytest.skip(f"no {NEEDED[language]} here, which runs {language}")


def build(zot, language: str, folder: Path) -> None:
    if language in BUILD:
        subprocess.run(BUILD[language], cwd=folder, check=True, env=zot.env)


@pytest.mark.parametrize("language", NEEDED)
def test_a_new_extension_works(zot, made, language):
    folder = made(language)
    manifest = parse_manifest((folder / "extension.json").read_bytes())
    assert manifest.name == "my-first"
    for file in folder.rglob("*"):
        if file.is_file() and not {"zotext", "__pycache__"} & set(file.parts):
            assert not re.search(r"\{\{\w+\}\}", file.read_text()), file
            assert file.suffix != ".template"
    need(language)
    build(zot, language, folder)
    outcome = zot.run("ext", "test", ".", cwd=folder)
    assert outcome.status == 0, outcome.text
    assert "6 lines" in outcome.text
    doctor = zot.run("ext", "doctor", folder, "--json")
    assert doctor.status == 0
    record = json.loads(doctor.stdout)
    findings = [finding for finding in record["findings"] if finding["topic"] != "ready"]  # which a busy machine delays
    assert {finding["level"] for finding in findings} == {"ok"}, record
    assert (record["tools"], record["commands"]) == (["my_first_count"], ["my-first"])
    assert record["shutdown_ack"] is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "command"),
    [
        ("python", [sys.executable, "-m", "unittest", "discover", "tests"]),
        ("typescript", ["node", "--test", "tests/"]),
        ("go", ["go", "test", "./..."]),
    ],
)
def test_its_own_tests_pass_and_can_fail(made, zot, language, command):
    need(language)
    folder = made(language)
    env = {name: value for name, value in zot.env.items() if name != "PYTHONPATH"}  # the copy of the SDK is enough
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (program,) = (folder / name for name in ("main.py", "main.js", "main.go") if (folder / name).exists())
    program.write_text(program.read_text().replace("Hello", "Bye"))
    assert subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env).returncode != 0
    build(zot, language, folder)
    assert "Bye, Ada!" in zot.run("ext", "test", folder).text


def test_the_next_steps_and_the_readme_build_a_program_that_has_to_be_built(zot, tmp_path):
    for language, command in BUILD.items():
        outcome = zot.run("ext", "new", "my-first", "--lang", language, "--dir", tmp_path)
        assert outcome.text.splitlines()[3].strip() == " ".join(command)
        assert f"    {' '.join(command)}\n" in (tmp_path / "my-first" / "README.md").read_text()


def test_a_program_that_is_not_built_yet_is_said_to_be_missing(zot, made):
    folder = made("go")
    outcome = zot.run("ext", "test", folder)
    assert outcome.status == 1
    assert f"cannot start {folder / 'bin' / 'my_first'}: no such file" in outcome.text


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".hidden", "two words", "-x", "a.b", 'q"', "x" * 65, "ü"])
def test_unusable_names_are_refused(tmp_path, capsys, name):
    with pytest.raises(UnableError, match="cannot be the name of an extension") as caught:
        run_new(name, "sh", str(tmp_path), as_json=False)
    assert (caught.value.status, capsys.readouterr().out) == (Status.USAGE, "")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_looks_like_a_flag_is_refused(zot):
    assert zot.run("ext", "new", "--", "-x").status == 2


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path, monkeypatch):
    with pytest.raises(UnableError, match="no such folder"):
        run_new("x", "sh", str(tmp_path / "nix"), as_json=False)
    monkeypatch.setattr("cli.ext.author.new.write_templates", full_disk)
    with pytest.raises(UnableError, match=f"cannot make {tmp_path / 'x'}: No space left on device$") as caught:
        run_new("x", "sh", str(tmp_path), as_json=False)
    assert caught.value.status is Status.ERROR
    assert list(tmp_path.iterdir()) == []


def full_disk(_source, target: Path, _values) -> None:
    (target / "half").write_text("")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_json_names_the_folder(zot, tmp_path):
    outcome = zot.run("ext", "new", "hi", "--lang", "sh", "--dir", tmp_path, "--json")
    record = json.loads(outcome.stdout)
    assert record["folder"] == str(tmp_path / "hi")
    assert "main.sh" in record["files"]
    assert record["next"][-1] == 'zot -p -e . "/hi"'


def test_generated_python_is_tidy(made):
    folder = made("python")
    sources = [str(folder / "main.py"), str(folder / "tests" / "test_main.py")]
    ran = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F,W,UP,B", *sources],
        capture_output=True,
        text=True,
    )
    if "No module named ruff" in ran.stderr:
        pytest.skip("no ruff here")
    assert ran.returncode == 0, ran.stdout
