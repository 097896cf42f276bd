"""One rule says which session a word names, and which is the newest."""

from __future__ import annotations

import os
import shutil

import pytest

from agent.sessions.find import NoSuchSessionError, find, newest, session_ids
from agent.sessions.rows import Meta, meta_line, usage_line
from tests.support.session_files import ID, session_rows, short_session, write_session
from wire.events import Totals

OTHER = "3a3effff-0000-4000-8000-000000000000"
THIRD = "77777777-0000-4000-8000-000000000000"
NAME = f"20260102-030405-{ID[:8]}"


@pytest.mark.parametrize("word", [ID, ID.upper(), ID[:8], ID[:5], f" {ID}\n", NAME, f"{NAME}.jsonl"])
def test_an_id_its_beginning_and_the_name_of_the_file_find_a_session(tmp_path, word):
    path = short_session(tmp_path, "/one", "a", ID)
    short_session(tmp_path, "/one", "b", OTHER)
    for cwd in ("/one", "/two"):
        assert find(tmp_path, cwd, word) == path


def test_the_digits_of_a_file_find_it_though_its_row_has_another_id(tmp_path):
    path = short_session(tmp_path, "/one", "a", ID)
    renamed = path.with_name("20260102-030405-ABCD1234.jsonl")
    path.rename(renamed)
    for word in (ID[:8], "abcd1234", "abcd", "20260102-030405-ABCD1234"):
        assert find(tmp_path, "/one", word) == renamed


def test_a_path_is_taken_as_it_is(tmp_path, monkeypatch):
    path = short_session(tmp_path, "/one", "a", ID)
    assert find(tmp_path, "/x", str(path)) == path
    assert find(tmp_path, "/x", f"./{path.name}", base=str(path.parent)) == path
    assert find(tmp_path, "/x", "/nowhere/x.jsonl").name == "x.jsonl"
    for name in ("here.jsonl", "here.zotsession"):
        shutil.copy(path, tmp_path / name)
        assert find(tmp_path, "/x", name, base=str(tmp_path)) == tmp_path / name
    monkeypatch.chdir(tmp_path)
    assert find(tmp_path, "/x", "here.jsonl").samefile(tmp_path / "here.jsonl")


def test_the_sessions_of_the_folder_go_before_all_others(tmp_path):
    mine = short_session(tmp_path, "/one", "a", ID)
    other = short_session(tmp_path, "/two", "b", OTHER)
    assert find(tmp_path, "/one", "3a3e") == mine
    assert find(tmp_path, "/two", "3a3e") == other
    with pytest.raises(NoSuchSessionError, match="may be"):
        find(tmp_path, "/three", "3a3e")


def test_a_whole_id_is_not_the_beginning_of_another_one(tmp_path):
    path = write_session(tmp_path, "/one", [meta_line(Meta(id="abcd"))], "one.jsonl")
    write_session(tmp_path, "/one", [meta_line(Meta(id="abcdef"))], "two.jsonl")
    assert find(tmp_path, "/one", "abcd") == path


@pytest.mark.parametrize("named", ["", "--resume"])
@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("3a3e", f"'3a3e' may be .*{ID}.*; give more of it, or the path"),
        ("3a3", "'3a3' is too short: give 4 characters"),
        ("", "the id is empty"),
        ("a\0b/c", "the id has a NUL character"),
        ("ffff", "there is no session 'ffff'; zot session list --all names all"),
        ("x" * 500, "there is no session 'x{80}'; "),
    ],
)
def test_what_finds_none_or_several_is_an_error_that_helps(tmp_path, word, said, named):
    short_session(tmp_path, "/one", "a", ID)
    short_session(tmp_path, "/one", "b", OTHER)
    with pytest.raises(NoSuchSessionError, match=f"^{named}{': ' if named else ''}{said}"):
        find(tmp_path, "/one", word, named=named)


def test_copies_of_one_file_are_named_by_their_paths(tmp_path):
    path = short_session(tmp_path, "/one", "a", ID)
    (path.parent / "copy.jsonl").write_bytes(path.read_bytes())
    with pytest.raises(NoSuchSessionError, match=r"copy\.jsonl"):
        find(tmp_path, "/one", ID)
    assert find(tmp_path, "/one", "copy").name == "copy.jsonl"


def test_a_byte_order_mark_is_left_out(tmp_path):
    path = write_session(tmp_path, "/one", [b"\xef\xbb\xbf", *session_rows()])
    assert find(tmp_path, "/one", ID) == path


def test_what_cannot_be_read_is_in_nobodys_way(tmp_path):
    path = short_session(tmp_path, "/one", "a", ID)
    os.mkfifo(path.parent / "fifo.jsonl")
    (path.parent / "loop.jsonl").symlink_to("loop.jsonl")
    (path.parent / ".hidden.jsonl").write_bytes(path.read_bytes())
    (path.parent / "shut.jsonl").write_bytes(path.read_bytes())
    (path.parent / "shut.jsonl").chmod(0)
    (path.parent / "notes.jsonl").write_text("notes")
    os.utime(path, (4_000_000_000, 4_000_000_000))
    if not os.access(path.parent / "shut.jsonl", os.R_OK):
        assert find(tmp_path, "/one", ID) == path
    assert find(tmp_path, "/one", "notes").name == "notes.jsonl"
    assert newest(tmp_path, "/one") == path


def test_the_newest_has_a_message_and_is_not_hidden(tmp_path):
    hidden = Meta(id=THIRD, cwd="/one", hide_from_sessions=True)
    paths = [
        short_session(tmp_path, "/one", "old", OTHER),
        short_session(tmp_path, "/one", "wanted", ID),
        write_session(tmp_path, "/one", [meta_line(hidden), *session_rows()[1:]], "hidden.jsonl"),
        write_session(tmp_path, "/one", [meta_line(Meta(id=THIRD)), usage_line(Totals(0, 0, 0, 0, 0.0))], "new.jsonl"),
        write_session(tmp_path, "/one", [], "empty.jsonl"),
    ]
    for age, path in enumerate(reversed(paths)):
        os.utime(path, (1_700_000_000 - age,) * 2)
    assert newest(tmp_path, "/one") == paths[1]
    with pytest.raises(NoSuchSessionError, match="no session of /two to resume"):
        newest(tmp_path, "/two")


def test_the_ids_of_a_folder_are_the_newest_first(tmp_path):
    for age, (name, number) in enumerate([("a", ID), ("b", OTHER)]):
        os.utime(short_session(tmp_path, "/one", name, number), (1_700_000_000 - age,) * 2)
    short_session(tmp_path, "/two", "c", THIRD)
    assert session_ids(tmp_path, "/one") == [ID, OTHER]
