"""The images that a prompt names."""

from __future__ import annotations

import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyzot.screen.commands import images_in
from tests.pyzot.screen.view.test_text import any_text


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("a.png", "b.JPG", "my shot.webp", "text.txt", "home/c.gif", "sub/d.jpeg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "folder.png").mkdir()
    return str(tmp_path)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @a.png", ["a.png"]),
        ("@a.png and @b.JPG\n@sub/d.jpeg", ["a.png", "b.JPG", "sub/d.jpeg"]),
        ("@a.png, @b.JPG. (or\t@sub/d.jpeg)?", ["a.png", "b.JPG", "sub/d.jpeg"]),
        ("@a.png @a.png", ["a.png"]),
        ('compare @"my shot.webp" with it', ["my shot.webp"]),
        ("@my shot.webp", []),
        ("@~/c.gif", ["home/c.gif"]),
        ("a@a.png (@a.png @text.txt @missing.png @folder.png @ @\"\"", []),
        ('@"a.png', []),
        ("@~\0.png @a\0.png @~\ud800.png", []),
    ],
)  # fmt: skip
def test_images_by_their_names(folder, text, found):
    assert images_in(text, folder) == [os.path.join(folder, name) for name in found]


def test_an_absolute_path(folder):
    assert images_in(f"@{folder}/a.png", "/") == [f"{folder}/a.png"]


@given(any_text | st.lists(st.sampled_from(["@", "~", '"', "\0", "a.png", " ", "/", "\ud800"])).map("".join))
@example("@~\0")
def test_any_text(text):
    assert images_in(text, "/nowhere") == []
