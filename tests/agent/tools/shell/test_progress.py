"""Which pieces of a command's output are shown while it runs."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from agent.tools.shell.command import Progress
from supervisor.extension.connection.pending_requests import PROGRESS_BURST, PROGRESS_LENGTH, PROGRESS_PER_SECOND

NOTE = re.compile(r"\.\.\. \[(\d+) characters are not shown\]\n")


class StoppedLoop:
    """A loop whose time a test sets; it runs timers when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list = []

    def clock(self) -> float:
        return self.now

    def call_at(self, when, callback):
        timer = Timer(when, callback)
        self.timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due, self.timers = self.timers, []
        for timer in due:
            if timer.when > self.now:
                self.timers.append(timer)
            elif not timer.cancelled:
                timer.callback()


class Timer:
    def __init__(self, when, callback) -> None:
        self.when, self.callback, self.cancelled = when, callback, False

    def cancel(self) -> None:
        self.cancelled = True


def test_what_fits_is_shown_at_once_and_as_it_came():
    shown: list[str] = []
    progress = Progress(StoppedLoop(), shown.append)
    for text in ("one\n", "", "two\n"):
        progress.add(text)
    progress.end()
    assert shown == ["one\n", "two\n"]


def test_a_quiet_command_shows_its_last_words_without_more_output():
    loop, shown = StoppedLoop(), []
    progress = Progress(loop, shown.append)
    for number in range(PROGRESS_BURST + 3):
        progress.add(f"{number}\n")
    assert len(shown) == PROGRESS_BURST
    loop.advance(1 / PROGRESS_PER_SECOND + 0.001)
    assert shown[PROGRESS_BURST:] == ["50\n51\n52\n"]
    assert loop.timers == []


def test_a_flood_is_cut_and_its_gaps_are_counted():
    loop, shown = StoppedLoop(), []
    progress = Progress(loop, shown.append)
    chunk, seconds = "\0" * 65536, 10
    for _ in range(seconds * 100):
        progress.add(chunk)
        loop.advance(0.01)
    progress.end()
    assert len(shown) <= PROGRESS_BURST + seconds * PROGRESS_PER_SECOND + 1
    counted = sum(int(found[1]) for piece in shown if (found := NOTE.match(piece)))
    assert counted + sum(piece.count("\0") for piece in shown) == seconds * 100 * len(chunk)


@given(st.lists(st.tuples(st.text("ab\n", max_size=3).map(lambda text: text * 3000), st.sampled_from([0, 0.01, 1]))))
def test_every_character_is_shown_or_counted(outputs):
    loop, shown = StoppedLoop(), []
    progress = Progress(loop, shown.append)
    for text, pause in outputs:
        progress.add(text)
        loop.advance(pause)
    progress.end()
    rest = "".join(text for text, _ in outputs)
    for piece in shown:
        found = NOTE.match(piece)
        rest = rest[int(found[1]) if found else 0 :]
        text = piece[found.end() if found else 0 :]
        assert 1 <= len(text) <= PROGRESS_LENGTH
        assert rest.startswith(text)
        rest = rest[len(text) :]
    assert rest == ""
