"""Lines from a pipe, a file and /dev/null."""

from __future__ import annotations

import os

import pytest

from agent.rpc.stdin_lines import StdinLines
from tests.support.patience import PATIENCE_S


def lines_of(loop, fd):
    got, ends = [], []
    stdin = StdinLines(loop, fd, lambda line: got.append(bytes(line)), lambda: ends.append(True))
    stdin.start()
    assert loop.run_until(lambda: bool(ends), loop.clock() + PATIENCE_S)
    stdin.stop()
    assert ends == [True]
    return got


@pytest.mark.parametrize("data", [b"", b"a\nb\n", b"a\nhalf", b"\n\n", b"x" * 200_000 + b"\n"], ids=len)
@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_every_line_is_passed_on_with_or_without_its_end(loop, tmp_path, data, kind):
    (tmp_path / "file").write_bytes(data)
    if kind == "file":
        with open(tmp_path / "file", "rb") as file:
            assert lines_of(loop, file.fileno()) == data.split(b"\n")[: None if data[-1:] not in (b"\n", b"") else -1]
        return
    reading, writing = os.pipe()
    child = os.posix_spawn(
        "/bin/cat", ["cat", str(tmp_path / "file")], {}, file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1)]
    )
    os.close(writing)
    got = lines_of(loop, reading)
    os.waitpid(child, 0)
    os.close(reading)
    assert got == data.split(b"\n")[: None if data[-1:] not in (b"\n", b"") else -1]


def test_dev_null_ends_at_once(loop):
    with open(os.devnull, "rb") as null:
        assert lines_of(loop, null.fileno()) == []


def test_the_mode_of_the_descriptor_stays(loop):
    reading, writing = os.pipe()
    os.close(writing)
    lines_of(loop, reading)
    assert os.get_blocking(reading)
    os.close(reading)


def test_a_line_that_stops_the_reading_is_the_last(loop):
    reading, writing = os.pipe()
    got, ends = [], []

    def on_line(line):
        got.append(bytes(line))
        stdin.stop()

    stdin = StdinLines(loop, reading, on_line, lambda: ends.append(True))
    stdin.start()
    os.write(writing, b"a\nb\n")
    loop.run_until(lambda: bool(got), loop.clock() + PATIENCE_S)
    os.close(writing)
    loop.run_until(lambda: False, loop.clock() + 0.01)
    assert (got, ends) == ([b"a"], [])
    os.close(reading)
