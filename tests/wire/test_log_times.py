"""The entries beside a log: what is torn, foreign or out of order never gives a wrong time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.log_times import LETTERS, UNKNOWN, LogTimes, WriteMoment, entry, header, times_name

INODE = 7
entries = st.lists(
    st.tuples(
        st.integers(1, 50),
        st.integers(-(10**12), 10**13),
        st.sampled_from(sorted({*LETTERS} - {UNKNOWN})),
        st.none() | st.integers(1, 2**22),
    ),
    max_size=20,
)


def test_the_file_with_the_times_has_the_name_of_its_log():
    assert [times_name(name) for name in ("ext-a.log", "ext-a.log.12", "ext-x.log.log")] == [
        "ext-a.times",
        "ext-a.times.12",
        "ext-x.log.times",
    ]


@given(entries)
def test_each_byte_has_the_time_of_the_entry_before_it(pieces):
    data, expected, position = header(INODE), {}, 0
    for length, time_ms, level, pid in pieces:
        data += entry(position, time_ms, LETTERS[level], pid)
        expected |= dict.fromkeys(range(position, position + length), WriteMoment(time_ms, level, pid))
        position += length
    times = LogTimes(data, INODE)
    assert {at: times.at(at) for at in range(position)} == expected
    assert LogTimes(data, INODE + 1).at(0) is None


@given(entries, st.integers(0, 40))
def test_a_torn_end_costs_the_torn_entry_only(pieces, cut):
    written = [entry(10 * n, time_ms, LETTERS[level], pid) for n, (_, time_ms, level, pid) in enumerate(pieces)]
    data = header(INODE) + b"".join(written)
    data = data[: max(len(header(INODE)), len(data) - cut)]
    whole = [line for n, line in enumerate(written) if len(data) >= len(header(INODE) + b"".join(written[: n + 1])) - 1]
    times = LogTimes(data + header(INODE) + entry(1000, 5, "z"), INODE)
    assert times.at(999) == LogTimes(header(INODE) + b"".join(whole), INODE).at(999)
    assert times.at(1000) == WriteMoment(5, "zot")


def test_what_was_written_without_entries_has_no_time():
    times = LogTimes(header(INODE) + entry(0, 1, "s") + entry(10, 0, "u") + entry(20, 3, "s"), INODE)
    assert [times.at(position) for position in (9, 10, 20)] == [
        WriteMoment(1, "stderr"),
        None,
        WriteMoment(3, "stderr"),
    ]


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(data):
    LogTimes(data, INODE).at(0)


@pytest.mark.parametrize("line", [b"1 2", b"1 2 q", b"x", b"-1 5 z", b"1 2 z 3", b"1" * 30 + b" 2 z", b""])
def test_what_is_no_entry_is_skipped(line):
    assert len(LogTimes(header(INODE) + line + b"\n", INODE)) == 0


def test_what_is_about_an_emptied_log_is_forgotten():
    data = header(INODE) + entry(0, 1, "s") + entry(50, 2, "s") + entry(0, 3, "s")
    assert LogTimes(data, INODE).at(50) == WriteMoment(3, "stderr")


def test_a_clock_that_went_back_hides_nothing():
    times = LogTimes(header(INODE) + entry(0, 100, "s") + entry(5, 20, "s") + entry(9, 60, "s"), INODE)
    assert [times.first_since(since) for since in (0, 60, 100, 101)] == [0, 0, 0, None]
    assert LogTimes(header(INODE) + entry(0, 5, "s") + entry(5, 60, "s"), INODE).first_since(60) == 5


def test_streams():
    assert [WriteMoment(0, level).stream for level in ("stderr", "zot", "debug", "error")] == [
        "stderr",
        "zot",
        "log",
        "log",
    ]
