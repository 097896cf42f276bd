"""Logs are private and bounded; a log that cannot be written does no other harm."""

from __future__ import annotations

import os
import resource
import signal
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from supervisor.extension.log import BROKEN_PREFIX, HOST_PREFIX, LOG_LIMIT, LOGS_KEPT, ExtensionLog, PrefixFilter
from tests.support.set_clock import Clock
from wire.log_times import LogTimes, WriteMoment, times_name
from wire.text import one_line, printable

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_800_000_000.0


@pytest.fixture
def log(tmp_path: Path):
    made = ExtensionLog(tmp_path / "logs", "x")
    yield made
    made.close()


def files(log: ExtensionLog) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in log.path.parent.glob("*.log*")}


def times(log: Path, inode: int | None = None) -> LogTimes:
    """The times of a log file, as a reader finds them."""
    beside = log.with_name(times_name(log.name)).read_bytes()
    return LogTimes(beside, log.stat().st_ino if inode is None else inode)


def test_fields_are_written_until_the_line_is_full(log: ExtensionLog):
    written = []

    class Fields(dict):
        def items(self):
            for item in super().items():
                written.append(item)
                yield item

    log.add_frame("info", "m", Fields({f"field{n}": Raw(b'"value"') for n in range(1_000_000)}))
    assert len(log.path.read_text()) < 4100
    assert len(written) < 2000


def test_fields_are_shown_as_texts_or_as_json(log: ExtensionLog):
    shown = {"a": b'"plain"', "b": b'"two words"', "c": b'{"x": "\\u00e9"}', "d": b'"\xff"', "e": b"1e999", "f": b'""'}
    log.add_frame("info", "m", {name: Raw(value) for name, value in shown.items()})
    assert log.path.read_text() == '[info] m a=plain b="two words" c={"x":"é"} d="\ufffd" e=1e999 f=""\n'


def test_log_files_are_private(log: ExtensionLog):
    log.add("hello")
    assert log.path.stat().st_mode & 0o777 == 0o600
    assert log.path.parent.stat().st_mode & 0o777 == 0o700
    assert log.path.read_text() == "[zot] hello\n"


@pytest.mark.parametrize("piece", [1000, 65536, LOG_LIMIT, 3 * LOG_LIMIT + 1])
def test_a_flood_is_rotated_and_its_end_is_kept(log: ExtensionLog, piece: int):
    for number in range(8 * LOG_LIMIT // piece + 1):
        log.write(b"%08d" % number + b"x" * (piece - 9) + b"\n")
    sizes = files(log)
    assert set(sizes) == {"ext-x.log", *(f"ext-x.log.{n}" for n in range(1, LOGS_KEPT))}
    assert all(size <= LOG_LIMIT for size in sizes.values())
    assert sum(sizes.values()) > (LOGS_KEPT - 2) * LOG_LIMIT
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in log.path.parent.iterdir())


def test_rotation_keeps_the_order(log: ExtensionLog):
    for number in range(3):
        log.write(b"%d" % number * (LOG_LIMIT - 1) + b"\n")
    assert [log.path.with_name(f"ext-x.log{end}").read_bytes()[:1] for end in ("", ".1", ".2")] == [b"2", b"1", b"0"]


def test_an_earlier_log_is_kept_and_counts_against_the_limit(tmp_path: Path):
    (tmp_path / "ext-x.log").write_bytes(b"o" * (LOG_LIMIT - 10))
    log = ExtensionLog(tmp_path, "x")
    log.add("more than ten bytes")
    log.close()
    assert (tmp_path / "ext-x.log").read_text() == "[zot] more than ten bytes\n"
    assert (tmp_path / "ext-x.log.1").stat().st_size == LOG_LIMIT - 10


def test_two_hosts_with_one_log_rotate_it_once(tmp_path: Path):
    first, second = ExtensionLog(tmp_path, "x"), ExtensionLog(tmp_path, "x")
    half = b"h" * (LOG_LIMIT // 2 + 1)
    first.write(half)
    second.write(half)
    first.write(half)
    second.write(half)
    second.add("second")
    first.add("first")
    first.close()
    second.close()
    texts = {path.name: path.read_text() for path in tmp_path.glob("*.log*")}
    assert set(texts) == {"ext-x.log", *(f"ext-x.log.{number}" for number in range(1, 4))}
    assert [text.count("h") for text in texts.values()] == [len(half)] * 4, "nothing is lost, and no file is too large"
    assert "second" in texts["ext-x.log"]
    assert "first" in texts["ext-x.log.1"], "the other's new file is found at the next rotation"


def test_a_full_disk_is_survived(tmp_path: Path):
    (tmp_path / "ext-x.log").symlink_to("/dev/full")
    log = ExtensionLog(tmp_path, "x")
    log.write(b"last words\n")
    log.write(b"very last words\n")
    assert log.error == f"cannot write {log.path}: No space left on device"
    log.close()


def test_a_limit_on_file_size_is_survived(tmp_path: Path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    log = ExtensionLog(tmp_path, "x")
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        log.write(b"a" * 2000 + b"\n")
        log.write(b"last words\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
        log.close()
    assert log.error == f"cannot write {log.path}: File too large"


@pytest.mark.parametrize("obstacle", ["file", "folder"])
def test_a_place_that_cannot_be_written_is_survived(tmp_path: Path, obstacle: str):
    if obstacle == "file":
        (tmp_path / "logs").write_text("")
    else:
        (tmp_path / "logs" / "ext-x.log").mkdir(parents=True)
    log = ExtensionLog(tmp_path / "logs", "x")
    log.write(b"last words")
    log.add("a note")
    assert log.error is not None
    assert log.error.startswith(f"cannot write {log.path}: ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hgone", "gone"),
        ("\x1b[38:2:1:2:3mtrue\x1b[m colour", "true colour"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x1bcreset", "reset"),
        ("\x1b(Bset", "set"),
        ("\x1b[31", "31"),
        ("back\x08space\rreturn\x00nul\x7fdel", "backspacereturnnuldel"),
        ("right\u202eleft\u2066\u200f", "rightleft"),
        ("größe 日本 😀", "größe 日本 😀"),
    ],
    ids=repr,
)
def test_terminal_sequences_are_taken_out(text: str, shown: str):
    assert printable(text) == shown


@given(st.text(st.characters(max_codepoint=0xFF)))
def test_no_control_character_is_left(text: str):
    assert not [c for c in printable(text) if (ord(c) < 32 and c not in "\t\n") or 0x7F <= ord(c) <= 0x9F]


@given(st.text(), st.integers(2, 50))
def test_one_line_is_one_short_line(text: str, limit: int):
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line.splitlines() in ([], [line])


@pytest.mark.parametrize("text", ["\x1b[" * 500_000, "\x1b]" * 500_000, "\x9d" * 500_000, "\x1b[" + "0" * 1_000_000])
def test_no_text_takes_long_to_clean(text: str):
    started = time.process_time()
    printable(text)
    assert time.process_time() - started < 2.0


def test_a_closed_log_takes_notes_without_complaint(log: ExtensionLog):
    log.close()
    log.add("late")
    log.close()
    assert os.path.exists(log.path)


# --- times and levels ------------------------------------------------------------------------------------------


def test_each_line_has_its_time_and_level_beside_the_log(tmp_path: Path):
    clock = Clock(NOW)
    log = ExtensionLog(tmp_path, "x", clock=clock)
    lines = []
    for write, level in (
        (lambda: log.write(b"from stderr\n"), "stderr"),
        (lambda: log.add("from the host"), "zot"),
        (lambda: log.add_frame("warn", "from a frame"), "warn"),
        (lambda: log.add_frame("unheard of", "from a frame"), "info"),
        (lambda: log.add_frame("debug", "from a frame"), "debug"),
    ):
        clock.now += 1.0
        lines.append((log.path.stat().st_size, WriteMoment(int(clock.now * 1000), level, os.getpid())))
        write()
    log.close()
    found = times(log.path)
    assert [(start, found.at(start)) for start, _ in lines] == lines
    text = "from stderr\n[zot] from the host\n[warn] from a frame\n[info] from a frame\n[debug] from a frame\n"
    assert log.path.read_text() == text
    assert log.path.with_name("ext-x.times").stat().st_mode & 0o777 == 0o600


def test_a_line_that_comes_in_pieces_has_the_time_of_its_first_piece(tmp_path: Path):
    clock = Clock(NOW)
    log = ExtensionLog(tmp_path, "x", clock=clock)
    log.write(b"a\nbe")
    clock.now += 5
    log.write(b"gun\nc\n")
    log.close()
    found = times(log.path)
    at = [found.at(start).time_ms / 1000 - 1_800_000_000 for start in (0, 2, log.path.read_bytes().index(b"c"))]
    assert at == [0, 0, 5]


def test_lines_of_a_burst_share_an_entry_and_other_levels_do_not(tmp_path: Path):
    clock = Clock(NOW)
    log = ExtensionLog(tmp_path, "x", clock=clock)
    for _ in range(100):
        log.write(b"line\n")
    assert len(times(log.path)) == 1
    log.add("one")
    log.write(b"line\n")
    clock.now -= 3600  # the clock is set back
    log.write(b"line\n")
    log.close()
    assert [times(log.path).at(500 + end).level for end in (0, 10, 15)] == ["zot", "stderr", "stderr"]
    assert times(log.path).at(log.path.stat().st_size - 1).time_ms == int(clock.now * 1000)


def test_the_times_rotate_with_the_log_and_count_against_its_limit(tmp_path: Path):
    clock = Clock(NOW)
    log = ExtensionLog(tmp_path, "x", 5 * 4096, clock=clock)
    for number in range(5000):
        clock.now = 1_800_000_000.0 + number
        log.write(b"%d\n" % number)
    log.close()
    found = sorted(tmp_path.glob("ext-x.log*"))
    assert len(found) == LOGS_KEPT == len(list(tmp_path.glob("ext-x.times*")))
    for path in found:
        at, known = 0, times(path)
        for line in path.read_bytes().splitlines(keepends=True):
            assert known.at(at) == WriteMoment((1_800_000_000 + int(line)) * 1000, "stderr", os.getpid())
            at += len(line)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 5 * 4096 + 64


def test_two_hosts_with_one_log_know_the_times_of_each_others_lines(tmp_path: Path):
    clocks = Clock(NOW), Clock(1_800_000_500.0)
    logs = [ExtensionLog(tmp_path, "x", 5 * 4096, clock=clock) for clock in clocks]
    for number in range(600):
        for which in (0, 1):
            clocks[which].now += 1
            logs[which].write(b"%d %d\n" % (which, number))
    for log in logs:
        log.close()
    seen = 0
    for path in tmp_path.glob("ext-x.log*"):
        at, known = 0, times(path)
        for line in path.read_bytes().splitlines(keepends=True):
            which, number = map(int, line.split())
            assert known.at(at).time_ms == (1_800_000_001 + 500 * which + number) * 1000
            at += len(line)
            seen += 1
    assert seen > 200


def test_each_line_has_the_pid_of_the_run_that_wrote_it(tmp_path: Path):
    log = ExtensionLog(tmp_path, "x", clock=Clock(NOW))  # no time passes: only the other run's line ends an entry
    log.write(b"one\n")
    if (other := os.fork()) == 0:
        ExtensionLog(tmp_path, "x", clock=Clock(NOW)).write(b"two\n")
        os._exit(0)
    os.waitpid(other, 0)
    log.write(b"three\n")
    log.close()
    assert log.path.read_bytes() == b"one\ntwo\nthree\n"
    known = times(log.path)
    assert [known.at(at).pid for at in (0, 4, 8, 13)] == [os.getpid(), other, os.getpid(), os.getpid()]


def test_a_log_from_before_the_times_stays_without_and_goes_on_with_them(tmp_path: Path):
    (tmp_path / "ext-x.log").write_bytes(b"old\n")
    log = ExtensionLog(tmp_path, "x")
    log.write(b"new\n")
    log.close()
    assert times(log.path).at(0) is None
    assert times(log.path).at(4).level == "stderr"


def test_times_of_a_log_that_was_removed_are_not_those_of_the_next(tmp_path: Path):
    log = ExtensionLog(tmp_path, "x", clock=Clock(1000.0))
    log.write(b"first\nsecond\n")
    log.close()
    log.path.unlink()
    log = ExtensionLog(tmp_path, "x", clock=Clock(2000.0))
    log.write(b"a\n")
    log.close()
    assert {times(log.path).at(start).time_ms for start in (0, 6, 50)} == {2_000_000}
    assert len(times(log.path, inode=0)) == 0


def test_lines_whose_times_could_not_be_written_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    log = ExtensionLog(tmp_path, "x", clock=Clock(NOW))
    log.write(b"known\n")
    write = os.write

    def fail(fd: int, data: bytes) -> int:
        if b" s\n" in data:
            raise OSError(28, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr(os, "write", fail)
    log.add("known")
    log.write(b"not known\n")
    log.write(b"not known\n")
    monkeypatch.undo()
    log.write(b"known again\n")
    log.close()
    text = log.path.read_bytes()
    known = [times(log.path).at(text.index(word)) is not None for word in (b"known", b"[zot]", b"not known", b"again")]
    assert known == [True, True, False, True]


@pytest.mark.parametrize("obstacle", ["folder", "full disk"])
def test_times_that_cannot_be_written_cost_only_themselves(tmp_path: Path, obstacle: str):
    beside = tmp_path / "ext-x.times"
    beside.mkdir() if obstacle == "folder" else beside.symlink_to("/dev/full")
    log = ExtensionLog(tmp_path, "x")
    log.write(b"kept\n")
    log.close()
    assert (log.error, log.path.read_text()) == (None, "kept\n")


# --- lines of the host cannot be forged --------------------------------------------------------------------------


@given(st.lists(st.lists(st.sampled_from([b"[", b"[z", b"zo", b"t]", b"]", b"[zot]", b"x\n", b""])).map(b"".join)))
def test_the_prefix_is_kept_out_however_it_is_cut(pieces: list[bytes]):
    prefix_filter = PrefixFilter()
    cleaned = b"".join(map(prefix_filter.clean, pieces))
    assert cleaned == b"".join(pieces).replace(HOST_PREFIX, BROKEN_PREFIX)


FORGERIES = (
    b"[zot] forged\n", b"a\r[zot] forged\n", b"\x1b[2K\x1b[1G[zot] forged\n", b"\x1b[31m[zot] forged\n", b"[zo",
    b"t] forged\n", b"no end [z", b"\n", b"[", b"zot] forged\n", b"[z\x1b[0mot] forged\n", b"[z\x00ot] forged\n",
    b"no end",
)  # fmt: skip


def test_only_lines_of_the_host_begin_with_its_prefix(tmp_path: Path):
    log = ExtensionLog(tmp_path, "x")
    for piece in FORGERIES:
        log.write(piece)
    log.add("from the host")
    log.write(b"[zo")
    log.add_frame("info", "\n[zot] forged", {"[zot]": Raw(b'"[zot]"')})
    log.write(b"t] not forged, and no end")
    other = ExtensionLog(tmp_path, "x")  # of another host, or of the version after a reload
    other.add("from another host")
    log.write(b"no end")
    log.add("at the end")
    text = log.path.read_bytes()
    hosts = [b"[zot] from the host", b"[zot] from another host", b"[zot] at the end"]
    assert [line for line in text.split(b"\n") if HOST_PREFIX in line] == hosts
    levels = [written.level for line in hosts if (written := times(log.path).at(text.index(line)))]
    assert levels == ["zot"] * 3
    log.close()
    other.close()
