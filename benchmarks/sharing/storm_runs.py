"""Some runs of a kill storm as the product makes them: supervisors whose extensions are a host's.

argv: as those of `storm_raw`, without extensions: a run takes all of its host.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from msgspec import Raw

from benchmarks.sharing.runs import HostedRun
from benchmarks.sharing.storm_book import Book, Call
from benchmarks.sharing.storm_raw import AT_ONCE, DIES, RETRY_S
from supervisor.loop.loop import Loop
from supervisor.sharing.find_host import NoHostError
from wire import frames

if TYPE_CHECKING:
    from supervisor.calls.guard_chain import Judgement
    from supervisor.calls.tool_call import ToolAnswer


class Session:
    """One run after another, each with a session and a secret of its own."""

    def __init__(self, book: Book, host_file: Path, folder: Path, loop: Loop) -> None:
        self._book = book
        self._host_file = host_file
        self._folder = folder
        self._loop = loop
        self._run: HostedRun | None = None
        self.open: dict[int, Call] = {}
        self._number = 0
        self._retry_at = 0.0
        self._is_dead = False

    def work(self) -> None:
        """Attaches if it is not attached, and begins calls until enough are under way."""
        run = self._run
        if run is not None and (not run.connection.is_open or not run.supervisor.registrations.tools()):
            if not self.open and (not run.connection.is_open or run.supervisor.is_settled):
                self._close()
            return
        if run is None:
            self._attach()
            return
        while len(self.open) < AT_ONCE and self._book.may_begin:
            self._begin(run)

    def _attach(self) -> None:
        if time.monotonic() < self._retry_at:
            return
        self._retry_at = time.monotonic() + RETRY_S
        self._id, self._secret = self._book.session()
        self._is_dead = False
        try:
            self._run = HostedRun(Path(self._host_file.read_text()), self._id, self._folder, self._loop)
        except (NoHostError, OSError):
            self._run = None

    def _begin(self, run: HostedRun) -> None:
        call, dice = self._book.begin(self._secret), self._book.dice
        self._number += 1
        number = self._number
        self.open[number] = call
        args = orjson.dumps({"secret": call.expected, "session": self._id})
        if dice.random() < 0.5:
            owned = dice.choice(list(run.supervisor.registrations.tools().values()))
            run.supervisor.begin_call(owned, args, partial(self._answered, run, number))
        else:
            event = frames.Event("tool_call", tool_id="t", tool_name="bash", tool_args=Raw(args))
            run.supervisor.begin_intercept(event, partial(self._judged, run, number))

    def _answered(self, run: HostedRun, number: int, answer: ToolAnswer) -> None:
        if self._is_dead or run is not self._run:
            return
        call = self.open.pop(number, None)
        if answer.frame is None or answer.frame.is_error:
            self._book.fail(call, answer.reason or str(answer.frame))
        else:
            assert answer.frame.content is not None
            self._book.answer(call, answer.frame.content[0].text or "")
        self._may_die()

    def _judged(self, run: HostedRun, number: int, judgement: Judgement) -> None:
        if self._is_dead or run is not self._run:
            return
        call = self.open.pop(number, None)
        if judgement.blocked_by is not None and "secret-" in judgement.reason:
            said = judgement.reason[judgement.reason.index("secret-") :]
            self._book.answer(call, said[: len(call.expected)] if call is not None else said)
        else:
            self._book.fail(call, judgement.reason or "no guard has answered")
        self._may_die()

    def _may_die(self) -> None:
        if self._run is not None and self._book.dice.random() < DIES:
            self._loop.call_later(0, self._die)

    def _die(self) -> None:
        """The run ends without a word: what it had under way ends with it."""
        if self._run is not None and not self._is_dead:
            self._is_dead = True
            self._run.connection.close()
            self._book.drop(len(self.open))
            self.open.clear()

    def _close(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.close()

    def close(self) -> None:
        self._close()


def main() -> None:
    file, seed, calls, count = sys.argv[1:]
    book, loop = Book(int(calls), int(seed)), Loop()
    with tempfile.TemporaryDirectory(prefix="zot-bench-") as folder:
        sessions = [Session(book, Path(file), Path(folder), loop) for _ in range(int(count))]
        while book.may_begin or any(session.open for session in sessions):
            for session in sessions:
                session.work()
                for call in session.open.values():
                    book.look(call)
            if book.counts:
                break
            loop.run_until(lambda: False, loop.clock() + 1e-3)
        for session in sessions:
            session.close()
    print(json.dumps(book.summary()), flush=True)


if __name__ == "__main__":
    main()
