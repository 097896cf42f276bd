"""The file of `--api-key-file`."""

from __future__ import annotations

import os
import threading

import pytest

from agent.providers import key_file
from agent.providers.key_file import KeyFileError, read_key


@pytest.fixture
def put(tmp_path):
    def write(content: bytes, mode: int = 0o600) -> str:
        path = tmp_path / "key"
        path.write_bytes(content)
        path.chmod(mode)
        return str(path)

    return write


@pytest.mark.parametrize("content", [b"sk-1", b"sk-1\n", b"sk-1\r\n", b"\n sk-1 \n\n"])
def test_white_space_around_the_key_is_no_part_of_it(put, content):
    assert read_key(put(content)) == ("sk-1", "")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_file_that_others_may_read_gives_one_warning(put, mode):
    path = put(b"sk-1\n", mode)
    key, warning = read_key(path)
    assert key == "sk-1"
    assert warning == f"--api-key-file {path}: other users may read it; chmod 600 makes it yours alone"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"sk-1\nsk-2\n", "more than one line"),
        (b"x" * (64 * 1024 + 1), "larger than 64 KiB"),
    ],
)
def test_what_is_no_key_is_an_error_that_names_the_file(put, content, reason):
    path = put(content)
    with pytest.raises(KeyFileError, match=reason) as caught:
        read_key(path)
    assert str(caught.value).startswith(f"--api-key-file {path}: ")
    assert "sk-" not in str(caught.value)


def test_a_file_that_is_not_there_a_folder_and_an_impossible_name(tmp_path):
    for path, reason in ((tmp_path / "none", "No such file"), (tmp_path, "is a folder"), ("a\0b", "null byte")):
        with pytest.raises(KeyFileError, match=reason):
            read_key(str(path))


def test_a_key_in_place_of_a_file_is_not_shown():
    with pytest.raises(KeyFileError, match="looks like a key") as caught:
        read_key("sk-ant-secret")
    assert "secret" not in str(caught.value)


def test_a_fifo_without_a_writer_is_an_error_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(key_file, "WAIT_S", 0.05)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(KeyFileError, match=r"within 0\.05 s; is there a program that writes it|is empty"):
        read_key(str(tmp_path / "fifo"))


def test_a_pipe_is_read_to_its_end(monkeypatch):
    reader, writer = os.pipe()
    with open(writer, "wb", buffering=0) as pipe:
        thread = threading.Thread(target=lambda: (pipe.write(b"sk-"), pipe.write(b"1\n"), pipe.close()))
        thread.start()
        assert read_key(f"/dev/fd/{reader}") == ("sk-1", "")
        thread.join()
    os.close(reader)
