"""The history of entered lines in a file: private, bounded, and lost if there is no disk for it."""

from __future__ import annotations

import errno
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.history import FileHistory

from pyzot.screen.terminal.history import LINE_LIMIT, LONGEST, UserHistory
from tests.pyzot.screen.view.test_text import any_text


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def lines():
    return UserHistory().load_history_strings()


def enter(*texts):
    history = UserHistory()
    history.load_history_strings()
    for text in texts:
        history.store_string(text)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_newest_line_comes_first(home):
    assert lines() == []
    enter("one", "two\nlines")
    enter("three")
    assert lines() == ["three", "two\nlines", "one"]
    assert mode(home / "history") == 0o600
    assert mode(home) == 0o700


def test_a_file_that_is_too_long_begins_anew_and_stays_private(home):
    enter("x")
    with (home / "history").open("ab") as file:
        file.write(b"#" * LONGEST)
    assert lines() == []
    enter("new")
    assert lines() == ["new"]
    assert mode(home / "history") == mode(home / "history.old") == 0o600


def test_a_long_line_is_cut(home):
    enter("x" * (LINE_LIMIT + 1))
    assert lines() == ["x" * LINE_LIMIT]


def test_a_folder_that_cannot_be_used(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "file"))
    enter("lost")
    assert lines() == []


def test_a_folder_in_its_place(home):
    (home / "history").mkdir(parents=True)
    enter("lost")
    assert lines() == []


def test_a_full_disk_loses_the_line(home, monkeypatch):
    def fail(history, text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(FileHistory, "store_string", fail)
    enter("lost")
    assert lines() == []


def test_a_file_of_other_bytes(home):
    home.mkdir()
    (home / "history").write_bytes(b"\xff\xfe\n+\xff\n\n\0\n+ok")
    assert lines()[1:] == ["\ufffd"]


@given(st.lists(any_text, max_size=5))
def test_any_lines_come_back(tmp_path_factory, texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZOT_HOME", str(tmp_path_factory.mktemp("home")))
        enter(*texts)
        assert lines() == [text.encode("utf-8", "replace").decode() for text in reversed(texts)]
