"""The lines of many logs are one sequence by time, and each log keeps its own order."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.logs.merged_logs import LineChoice, MergedLogs, names_of_logs
from supervisor.extension.log import ExtensionLog
from tests.support.set_clock import Clock

START = 1_800_000_000.0
ALL = LineChoice(None, None, None)


class Folder:
    """Logs on one clock. `write` appends a line to one of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = Clock(START)
        self.faults: list[str] = []
        self.lost: list[str] = []
        self._logs: dict[str, ExtensionLog] = {}
        self._merged: list[MergedLogs] = []

    def write(self, name: str, text: str, at_s: float) -> None:
        if name not in self._logs:
            self._logs[name] = ExtensionLog(self.path, name, 5 * 4096, clock=lambda: self.clock.now)
        self.clock.now = START + at_s
        self._logs[name].write(text.encode())

    def merged(self, choice: LineChoice = ALL) -> MergedLogs:
        merged = MergedLogs(
            self.path, names_of_logs(self.path), choice, has_times=True,
            on_fault=lambda log, _error: self.faults.append(log.name), on_lost=lambda log: self.lost.append(log.name),
            find=lambda: names_of_logs(self.path), clock=lambda: self.clock.now,
        )  # fmt: skip
        self._merged.append(merged)
        return merged

    def close(self) -> None:
        for log in (*self._logs.values(), *self._merged):
            log.close()


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path)
    yield made
    made.close()


def texts(lines):
    return [f"{line.name}:{line.line.text.decode().rstrip()}" for line in lines]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50)), max_size=40), st.none() | st.integers(0, 50))
def test_the_last_lines_are_those_of_all_in_the_order_of_their_times(written, last):
    with TemporaryDirectory() as path:
        folder = Folder(Path(path))
        now = 0.0
        for number, (name, step) in enumerate(written):
            now += 1 + step
            folder.write(name, f"{number}\n", now)
        found = texts(folder.merged(LineChoice(last, None, None)).lines(follow=False))
        wanted = [f"{name}:{number}" for number, (name, _) in enumerate(written)]
        assert found == (wanted if last is None else wanted[max(0, len(wanted) - last) :])
        folder.close()


def test_rotated_files_count_and_a_clock_that_was_set_back_changes_no_order_in_a_log(folder):
    for number in range(300):
        folder.write("a", f"{number} {'x' * 40}\n", number)
    folder.write("b", "between\n", 250.5)
    folder.write("a", "set back\n", 10)
    lines = texts(folder.merged(LineChoice(52, None, None)).lines(follow=False))
    assert lines[-1] == "a:set back"
    assert lines.index("b:between") == 1
    assert len(list(folder.path.glob("ext-a.log*"))) > 1


def test_since_and_run_choose_lines_of_all(folder):
    for at_s in range(4):
        folder.write("a", f"{at_s}\n", at_s)
        folder.write("b", f"{at_s}\n", at_s + 0.5)
    since = LineChoice(None, int((START + 2) * 1000), None)
    assert texts(folder.merged(since).lines(follow=False)) == ["a:2", "b:2", "a:3", "b:3"]
    assert texts(folder.merged(since._replace(last=1)).lines(follow=False)) == ["b:3"]
    assert texts(folder.merged(LineChoice(None, None, 1)).lines(follow=False)) == []


def test_following_reads_all_and_those_that_appear_later(folder):
    folder.write("a", "old\n", 0)
    merged = folder.merged()
    assert texts(merged.lines(follow=True)) == ["a:old"]
    folder.write("new", "first\n", 1)
    folder.write("a", "second\n", 2)
    folder.clock.now = START + 3
    assert (texts(merged.added()[0]), texts(merged.added()[0])) == (["new:first", "a:second"], [])


def test_a_line_waits_for_earlier_ones_of_logs_that_were_read_before_it(folder):
    folder.write("a", "old\n", 0)
    folder.write("b", "old\n", 0)
    merged = folder.merged()
    merged.lines(follow=True)
    folder.write("b", "late\n", 5)  # at the time of the look or after it: the look at `a` may have come too early
    assert texts(merged.added()[0]) == []
    folder.write("a", "early\n", 4)
    folder.clock.now = START + 6
    assert texts(merged.added()[0]) == ["a:early", "b:late"]


def test_a_time_in_the_future_holds_nothing_back_forever(folder):
    folder.write("a", "old\n", 0)
    folder.write("b", "old\n", 0)
    merged = folder.merged()
    merged.lines(follow=True)
    folder.write("a", "from the future\n", 10_000)
    folder.clock.now = START
    assert texts(merged.added()[0]) == []
    assert texts(merged.added()[0]) == ["a:from the future"]


def test_a_line_without_an_end_comes_with_its_end_or_when_nothing_more_does(folder):
    folder.write("a", "x", 0)
    folder.write("b", "y\n", 1)
    merged = folder.merged()
    assert texts(merged.lines(follow=True)) == ["b:y"]
    folder.write("a", "z\n", 2)
    folder.clock.now = START + 9
    assert texts(merged.added()[0]) == ["a:xz"]
    folder.write("a", "more", 10)
    folder.clock.now = START + 19
    assert merged.added() == ([], True)
    assert texts(merged.added()[0]) == ["a:more"]
    assert texts(folder.merged().lines(follow=False))[-1] == "a:more"


def test_one_that_cannot_be_read_does_not_hide_the_others(folder):
    folder.write("a", "fine\n", 0)
    (folder.path / "ext-broken.log").mkdir()
    merged = folder.merged()
    assert texts(merged.lines(follow=True)) == ["a:fine"]
    folder.write("a", "more\n", 1)
    folder.clock.now = START + 2
    assert texts(merged.added()[0]) == ["a:more"]
    assert folder.faults == ["broken"]


def test_lines_that_were_rotated_away_are_announced_by_name(folder):
    folder.write("a", "old\n", 0)
    merged = folder.merged()
    merged.lines(follow=True)
    for number in range(1000):
        folder.write("a", f"{number} {'x' * 100}\n", number)
    merged.added()
    assert folder.lost == ["a"]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["ext-a.log", "ext-a.log.1", "ext-a.times", "ext-ab.log"], ["a", "ab"]),
        (["ext-a.log.2"], ["a"]),
        (["ext-a.log.log", "ext-a.log.1.log"], ["a.log", "a.log.1"]),
        (["ext-.log", "ext-a.logs", "a.log", "ext-a.log.bak", "other"], []),
    ],
)
def test_names_that_look_like_others(tmp_path, files, names):
    for file in files:
        (tmp_path / file).touch()
    assert names_of_logs(tmp_path) == names
    assert names_of_logs(tmp_path / "missing") == []
