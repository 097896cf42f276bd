"""Lines with their times: whatever the time zone, the pieces and the rotations."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.choices import CommandLineError
from cli.logs.log_tail import Piece, all_since, rotation, tail
from cli.logs.timed_lines import (
    LONGEST_PARTIAL,
    LineReader,
    TerminalText,
    TimedLine,
    TimesBeside,
    last_timed_lines,
    local_time,
    since_ms,
    with_time,
)
from supervisor.extension.log import ExtensionLog
from tests.support.set_clock import Clock
from wire.log_times import WriteMoment

START = 1_800_000_000


@pytest.fixture(params=["UTC", "Asia/Tokyo", "America/St_Johns"])
def zone(request, monkeypatch):
    monkeypatch.setenv("TZ", {"UTC": "UTC0", "Asia/Tokyo": "JST-9", "America/St_Johns": "NST3:30"}[request.param])
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def written(folder: Path, count: int, step_s: float = 1.0) -> Path:
    """A log with rotations, whose n-th line is written `step_s` seconds after the one before."""
    clock = Clock(float(START))
    log = ExtensionLog(folder, "one", 5 * 4096, clock=clock)
    for number in range(count):
        log.write(b"line %d\n" % number)
        clock.now += step_s
    log.close()
    return log.path


@pytest.mark.parametrize("count", [0, 1, 7, 300])
def test_the_last_lines_have_their_times_across_rotations(tmp_path, count):
    log = written(tmp_path, 900)
    assert len(rotation(log)) > 3
    lines = last_timed_lines(log, count)
    assert [line.text for line in lines] == [b"line %d\n" % number for number in range(900 - count, 900)]
    assert [line.written for line in lines] == [
        WriteMoment((START + number) * 1000, "stderr", os.getpid()) for number in range(900 - count, 900)
    ]


@pytest.mark.parametrize("since", [850, 400, 899.5, 900])
def test_what_came_since_a_moment_is_read_from_there(tmp_path, since):
    log = written(tmp_path, 900)
    times = TimesBeside(log)
    times.refresh()
    since_when = int((START + since) * 1000)
    pieces = list(all_since(log, lambda inode: times.of(inode).first_since(since_when)))
    data = b"".join(piece.data for piece in pieces)
    assert data == b"".join(b"line %d\n" % number for number in range(900) if number >= since)


@given(st.lists(st.binary(max_size=5), max_size=6), st.integers(1, 4))
def test_lines_are_the_same_in_whatever_pieces_they_come(parts, size):
    data = b"\n".join(parts)
    reader = LineReader(TimesBeside(Path("nowhere")))
    lines = [
        line for at in range(0, len(data), size) for line in reader.feed(Piece(1, at, data[at : at + size]))
    ] + list(reader.flush())
    assert [line.text for line in lines] == [line + b"\n" for line in data.split(b"\n")[:-1]] + [
        rest for rest in data.split(b"\n")[-1:] if rest
    ]


def test_a_line_without_end_is_not_kept_forever():
    reader = LineReader(TimesBeside(Path("nowhere")))
    lines = [line for at in range(3) for line in reader.feed(Piece(1, at * 60_000, b"x" * 60_000))]
    assert [len(line.text) for line in lines] == [120_000]
    assert LONGEST_PARTIAL < 120_000


def test_a_log_without_times_and_times_without_a_log(tmp_path):
    log = written(tmp_path, 3)
    times = log.with_name("ext-one.times")
    times.unlink()
    assert [line.written for line in last_timed_lines(log, 2)] == [None, None]
    log = written(tmp_path / "other", 3)
    log.unlink()
    assert last_timed_lines(log, 2) == []


def test_times_that_were_rotated_a_moment_before_the_log_are_found(tmp_path):
    log = written(tmp_path, 3)
    log.with_name("ext-one.times").rename(log.with_name("ext-one.times.1"))
    assert all(line.written for line in last_timed_lines(log, 3))


@given(st.binary(max_size=60), st.integers(0, 60))
def test_damaged_times_do_no_harm(junk, keep):
    with TemporaryDirectory() as folder:
        log = written(Path(folder), 5)
        times = log.with_name("ext-one.times")
        times.write_bytes(times.read_bytes()[:keep] + junk)
        assert [line.text for line in last_timed_lines(log, 9)] == [b"line %d\n" % number for number in range(5)]


def test_the_time_is_local_with_its_offset(zone):
    shown = with_time(TimedLine(b"[warn] low\x1b[31m on disk\n", WriteMoment(START * 1000 + 7, "warn", 4711)))
    moment, level, pid, text = shown.split(maxsplit=3)
    assert datetime.fromisoformat(moment).timestamp() == START + 0.007
    assert datetime.fromisoformat(moment).utcoffset() == datetime.fromtimestamp(START, UTC).astimezone().utcoffset()
    assert (len(moment), level, pid, text) == (29, "warn", "4711", "low on disk")
    assert with_time(TimedLine(b"[warn] it says\n", WriteMoment(0, "stderr"))).endswith("stderr -       [warn] it says")
    assert with_time(TimedLine(b"old\n", None)).split() == ["-", "-", "-", "old"]
    assert local_time(9_999_999_999_999_999) == "-"


@pytest.mark.parametrize(("text", "seconds"), [("10m", 600), ("2h", 7200), ("90", 90), ("1h30m", 5400)])
def test_since_takes_a_length_of_time(text, seconds):
    assert since_ms(text, now=START) == (START - seconds) * 1000


def test_since_takes_a_moment(zone):
    local = datetime.fromtimestamp(START, UTC).astimezone().replace(tzinfo=None)
    assert since_ms(local.isoformat()) == START * 1000
    assert since_ms(local.isoformat(" ")) == START * 1000
    tokyo = datetime.fromtimestamp(START, timezone(timedelta(hours=9)))
    assert since_ms(tokyo.isoformat()) == START * 1000
    midnight = local.replace(hour=0, minute=0, second=0)
    assert since_ms(local.date().isoformat()) == int(midnight.timestamp() * 1000)


@pytest.mark.parametrize("text", ["", "yesterday", "10 minutes", "2026-13-01", "-5m"])
def test_since_says_what_it_takes(text):
    with pytest.raises(CommandLineError, match=r"is neither a length of time .* nor a moment"):
        since_ms(text)


def test_the_end_of_the_newest_file_may_be_given(tmp_path):
    log = written(tmp_path, 3)
    assert b"".join(piece.data for piece in all_since(log, lambda _inode: 0, end=7)) == b"line 0\n"
    assert b"".join(piece.data for piece in tail(log, 9, end=7)) == b"line 0\n"


def test_without_its_control_characters_no_text_looks_like_a_line_of_the_host():
    shown = TerminalText()
    pieces = (
        b"[zot] from the host\n", b"[z\x1b[0mot] forged\n", b"[z\rot] forged\n", b"[z", b"\x00ot] forged\n",
        b"no end, ",
        b"\x1b]0;[zot]\x07[\x9bmzot] forged\n", b"[zot] from the host\n",
    )  # fmt: skip
    lines = "".join(map(shown.text, pieces)).splitlines()
    assert [line for line in lines if "[zot]" in line] == ["[zot] from the host"] * 2
    assert not set("\x1b\x00\r\x9b") & set("".join(lines))
