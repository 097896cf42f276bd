"""The file with all output of a command."""

import re
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.tools.shell import full_log
from agent.tools.shell.full_log import FullLog
from agent.tools.shell.output_window import MAX_BYTES, MAX_LINES


def test_output_that_fits_makes_no_file(tmp_path: Path) -> None:
    log = FullLog(tmp_path)
    log.feed(b"x" * MAX_BYTES)
    log.close()
    assert log.path is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("output", [b"x" * (MAX_BYTES + 1), b"\n" * MAX_LINES + b"x"])
def test_the_file_holds_everything_from_the_first_byte(tmp_path: Path, output: bytes) -> None:
    log = FullLog(tmp_path)
    for n in range(0, len(output), 1000):
        log.feed(output[n : n + 1000])
    log.feed(b"more")
    log.close()
    log.close()
    assert log.path
    assert log.path.parent == tmp_path
    assert re.fullmatch(r"zot-bash-[0-9a-f]{12}\.log", log.path.name)
    assert log.path.read_bytes() == output + b"more"
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_bytes_above_the_cap_are_counted_at_the_end(tmp_path: Path) -> None:
    log = FullLog(tmp_path, max_bytes=60_000)
    log.feed(b"a" * 59_999)
    log.feed(b"bbb")
    log.feed(b"ccc")
    log.close()
    assert log.path
    assert log.path.read_bytes() == b"a" * 59_999 + b"b\n... [log full; 5 more bytes were not kept]\n"


def test_a_directory_that_cannot_be_written_loses_only_the_log(tmp_path: Path) -> None:
    log = FullLog(tmp_path / "gone")
    log.feed(b"x" * 60_000)
    log.feed(b"x")
    log.close()
    assert log.path is None
    assert isinstance(log.error, FileNotFoundError)


def test_a_disk_that_fills_up_removes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = FullLog(tmp_path)
    log.feed(b"x" * 60_000)
    assert log.path
    full = OSError(28, "No space left on device")

    def refuse(*_: object) -> int:
        raise full

    monkeypatch.setattr(full_log.os, "write", refuse)
    log.feed(b"x")
    log.feed(b"x")
    log.close()
    assert log.path is None
    assert log.error is full
    assert not list(tmp_path.iterdir())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(st.binary(max_size=10).map(lambda data: data * 3_000), max_size=10))
def test_chunking_makes_no_difference(tmp_path: Path, chunks: list[bytes]) -> None:
    split, whole = FullLog(tmp_path, max_bytes=80_000), FullLog(tmp_path, max_bytes=80_000)
    for chunk in chunks:
        split.feed(chunk)
    whole.feed(b"".join(chunks))
    split.close()
    whole.close()
    contents = [log.path.read_bytes() if log.path else None for log in (split, whole)]
    assert contents[0] == contents[1]
