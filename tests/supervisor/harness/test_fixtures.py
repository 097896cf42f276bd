"""The files of a test project: laid as they are given, and never outside of the project."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from supervisor.harness.script import FixtureError, ScriptError, check, lay, parse_script

if TYPE_CHECKING:
    from pathlib import Path


def test_files_are_written_with_their_folders_and_bytes(tmp_path: Path):
    project = {"a.txt": "one\r\ntwo", "src/deep/b.py": "ü\n", "empty": ""}
    check(project, tmp_path)
    lay(project, tmp_path, tmp_path / "target")
    assert (tmp_path / "target" / "a.txt").read_bytes() == b"one\r\ntwo"
    assert (tmp_path / "target" / "src" / "deep" / "b.py").read_text(encoding="utf-8") == "ü\n"
    assert (tmp_path / "target" / "empty").read_bytes() == b""


def test_a_folder_beside_the_script_is_copied(tmp_path: Path):
    (tmp_path / "shop" / "src").mkdir(parents=True)
    (tmp_path / "shop" / "src" / "x").write_text("x")
    (tmp_path / "shop" / "link").symlink_to("src/x")
    (tmp_path / "target").mkdir()
    check("shop", tmp_path)
    lay("shop", tmp_path, tmp_path / "target")
    assert (tmp_path / "target" / "src" / "x").read_text() == "x"
    assert os.readlink(tmp_path / "target" / "link") == "src/x"


def test_no_project_is_an_empty_one(tmp_path: Path):
    check(None, tmp_path)
    lay(None, tmp_path, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["", ".", "..", "../x", "a/../../x", "/etc/passwd", "a/", "a\0b"])
def test_a_path_that_leaves_the_project_is_refused(tmp_path: Path, path):
    with pytest.raises(FixtureError, match="is not a file within the project"):
        check({path: ""}, tmp_path)
    with pytest.raises(FixtureError):
        lay({path: "x"}, tmp_path, tmp_path / "target")
    assert list(tmp_path.iterdir()) == []


def test_a_file_cannot_be_the_folder_of_another(tmp_path: Path):
    with pytest.raises(FixtureError, match="'a' cannot be a file and the folder of 'a/b'"):
        check({"a": "", "a/b": ""}, tmp_path)


@pytest.mark.parametrize("name", ["", ".", "..", "../other", "/", "shop/../.."])
def test_a_folder_that_is_not_beside_the_script_is_refused(tmp_path: Path, name):
    beside = tmp_path / "tests"
    beside.mkdir()
    (tmp_path / "other").mkdir()
    with pytest.raises(FixtureError, match="is not a folder beside the script"):
        check(name, beside)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path):
    beside = tmp_path / "tests"
    beside.mkdir()
    (beside / "shop").symlink_to(tmp_path)
    with pytest.raises(FixtureError, match="is not a folder beside the script"):
        check("shop", beside)


def test_a_folder_that_cannot_be_copied_is_named(tmp_path: Path):
    (tmp_path / "shop").mkdir()
    os.mkfifo(tmp_path / "shop" / "pipe")
    with pytest.raises(FixtureError, match=r"shop/pipe.* cannot be copied"):
        lay("shop", tmp_path, tmp_path / "target")


@pytest.mark.parametrize(
    ("project", "said"),
    [
        ('{"../x": ""}', "line 1: project: '../x' is not a file within the project"),
        ('"shop"', "line 1: project: there is no folder 'shop' beside the script"),
        ('{"x": 1}', "line 1: about: project"),
        ("7", "line 1: about: project"),
    ],
)
def test_a_script_with_a_bad_project_names_the_line(tmp_path: Path, project, said):
    with pytest.raises(ScriptError) as caught:
        parse_script(f'{{"about": {{"project": {project}}}}}'.encode(), str(tmp_path / "test.jsonl"))
    assert said in str(caught.value)
