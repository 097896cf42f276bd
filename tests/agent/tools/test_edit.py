"""The `edit` tool: what it accepts, what it refuses, and what it leaves alone."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent.tools import edit
from agent.tools.outcome import ToolError
from tests.support.file_tools import edited, refused_edit


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([], "at least one edit is required"),
        ([("", "x")], "edit 1: oldText must not be empty"),
        ([("b", "x"), ("c", "c")], "edit 2: oldText equals newText"),
        ([("zz", "x")], "edit 1: oldText not found in f"),
        ([("a", "x")], "edit 1: oldText matches 2 times (must be unique) in f"),
        ([("bc", "x"), ("ca", "y")], "edits overlap; merge them into one edit"),
        ([("bca", "x"), ("bca", "y")], "edits overlap; merge them into one edit"),
    ],
)
def test_edits_without_a_unique_match_are_refused(tmp_path: Path, edits: list[tuple[str, str]], message: str) -> None:
    assert refused_edit(tmp_path, b"abca", *edits) == message


def test_missing_special_and_large_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    args = {"path": "f", "edits": [{"oldText": "a", "newText": "b"}]}
    with pytest.raises(ToolError, match=r"^open /.*/f: no such file or directory$"):
        edit.run(args, str(tmp_path))
    with pytest.raises(ToolError, match=r"^/.* is a directory$"):
        edit.run({**args, "path": "."}, str(tmp_path))
    os.mkfifo(tmp_path / "f")
    with pytest.raises(ToolError, match=r"/f is a named pipe, not a regular file$"):
        edit.run(args, str(tmp_path))
    (tmp_path / "f").unlink()
    monkeypatch.setattr(edit, "MAX_FILE_BYTES", 3)
    assert refused_edit(tmp_path, b"abcd", ("a", "b")) == "f has more than 3 bytes, too many to edit; use bash"


def test_edits_are_found_in_the_file_as_it_was(tmp_path: Path) -> None:
    """No edit sees the text of another, in any order."""
    assert edited(tmp_path, b"one two", ("two", "one"), ("one", "two"))[0] == b"two one"


def test_neighbouring_edits_keep_their_order(tmp_path: Path) -> None:
    assert edited(tmp_path, b"ab\n", ("b", "xb"), ("a", "az"))[0] == b"azxb\n"


def test_the_byte_order_mark_and_foreign_bytes_stay(tmp_path: Path) -> None:
    content, diff = edited(tmp_path, b"\xef\xbb\xbfcaf\xe9 old\n", ("old", "new"))
    assert content == b"\xef\xbb\xbfcaf\xe9 new\n"
    assert diff == "-caf\ufffd old\n+caf\ufffd new\n"


def test_a_rewrite_of_every_line_of_a_large_file_is_not_quadratic(tmp_path: Path) -> None:
    old = "".join(f"{n}\n" for n in range(60_000))
    started = time.process_time()
    content, diff = edited(tmp_path, b"start\n" + old.encode() + b"end\n", (old, old.replace("\n", "x\n")))
    assert time.process_time() - started < 5
    assert content == b"start\n" + old.replace("\n", "x\n").encode() + b"end\n"
    assert diff.endswith("... [truncated at 51200 bytes]\n")


def test_a_failed_write_leaves_the_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ToolError("write f: no space left on device")

    monkeypatch.setattr(edit, "replace_file", refuse)
    assert refused_edit(tmp_path, b"abc", ("b", "x")) == "write f: no space left on device"


WORDS = st.lists(st.sampled_from(["a", "b", "é", " ", "\n", "\r\n", "x\n", "long word"]), max_size=30)


@given(WORDS, st.data())
def test_edits_do_what_replacing_in_the_unified_text_does(words: list[str], data: st.DataObject) -> None:
    """Modelled on text with LF only. The result may differ from the model only in the kind of its line ends."""
    content = "".join(words)
    unified = content.replace("\r\n", "\n")
    edits: list[tuple[str, str]] = []
    expected, position = "", 0
    while position < len(unified) and len(edits) < 4:
        start = data.draw(st.integers(position, len(unified) - 1))
        end = data.draw(st.integers(start + 1, len(unified)))
        old, new = unified[start:end], "".join(data.draw(WORDS))
        if sum(unified.startswith(old, at) for at in range(len(unified))) == 1 and old != new.replace("\r\n", "\n"):
            edits.append((old.replace("\n", data.draw(st.sampled_from(["\n", "\r\n"]))), new))
            expected += unified[position:start] + new.replace("\r\n", "\n")
            position = end
        else:
            break
    assume(edits)
    expected += unified[position:]
    body = content.encode()
    replacements = edit.plan(body, data.draw(st.permutations(edits)), "f")
    result = edit.apply(body, replacements).decode()
    assert result.replace("\r\n", "\n") == expected
    if "\r\n" not in content and "\n" in content:
        assert result == expected


@given(WORDS)
def test_lines_outside_of_an_edit_keep_their_bytes(words: list[str]) -> None:
    before, after = "".join(words).encode(), "".join(reversed(words)).replace("\r", "").encode()
    body = before + b"[unique]" + after
    replacements = edit.plan(body, [("[unique]", "[1]\n[2]")], "f")
    result = edit.apply(body, replacements)
    assert result.startswith(before + b"[")
    assert result.endswith(b"]" + after)
