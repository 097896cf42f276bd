"""Line ends of an edit: they match either way, and become those of the file."""

from pathlib import Path

import pytest

from tests.support.file_tools import edited, refused_edit


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("new_end", ["\n", "\r\n"])
@pytest.mark.parametrize("file_end", ["\n", "\r\n"])
def test_line_ends_match_either_way_and_become_those_of_the_file(
    tmp_path: Path, end: str, new_end: str, file_end: str
) -> None:
    content = f"a{file_end}b{file_end}c{file_end}".encode()
    old, new = f"a{end}b{end}", f"a{new_end}x{new_end}y{new_end}"
    assert edited(tmp_path, content, (old, new))[0] == f"a{file_end}x{file_end}y{file_end}c{file_end}".encode()


def test_mixed_line_ends_outside_of_the_change_stay(tmp_path: Path) -> None:
    content, diff = edited(tmp_path, b"a\r\nb\nc\r\nd\n", ("a\nb\nc\nd", "a\nB\nc\nd"))
    assert content == b"a\r\nB\nc\r\nd\n"
    assert diff == " a\n-b\n+B\n c\n d\n"


def test_new_lines_take_the_line_end_of_the_place_they_are_put_at(tmp_path: Path) -> None:
    content = b"a\r\nb\nc\r\n"
    assert edited(tmp_path, content, ("b", "b\nx"))[0] == b"a\r\nb\nx\nc\r\n"
    assert edited(tmp_path, content, ("c", "c\nx"))[0] == b"a\r\nb\nc\r\nx\r\n"
    assert edited(tmp_path, content, ("a\n", "a\nx\n"))[0] == b"a\r\nx\r\nb\nc\r\n"


def test_without_any_line_end_in_the_file_new_ones_are_kept_as_given(tmp_path: Path) -> None:
    assert edited(tmp_path, b"ab", ("b", "b\r\nc"))[0] == b"ab\r\nc"


def test_lone_carriage_returns_are_text(tmp_path: Path) -> None:
    assert edited(tmp_path, b"a\rb\n", ("\rb", "\rc"))[0] == b"a\rc\n"


def test_a_change_of_line_ends_alone_is_refused(tmp_path: Path) -> None:
    message = refused_edit(tmp_path, b"a\nb\n", ("a\n", "a\r\n"))
    assert message.startswith("edit 1: oldText equals newText except for line ends")


def test_a_crlf_file_shows_only_the_changed_line(tmp_path: Path) -> None:
    content = "".join(f"line {n}\r\n" for n in range(1000)).encode()
    new, diff = edited(tmp_path, content, ("line 500", "LINE 500"))
    assert new == content.replace(b"line 500", b"LINE 500")
    assert diff == "".join(
        [
            " line 497\n",
            " line 498\n",
            " line 499\n",
            "-line 500\n",
            "+LINE 500\n",
            " line 501\n",
            " line 502\n",
            " line 503\n",
        ]
    )
