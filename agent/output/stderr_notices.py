"""What a run tells a person on stderr, and everybody who follows it, about its extensions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent.output.fd_writer import FdWriter
from wire import events
from wire.text import printable, valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.output.event_writer import EventWriter
    from supervisor.extension.extension import Extension
    from supervisor.extension.notices import NoticeKind
    from supervisor.loop.loop import Loop

FLUSH_S = 0.5
_FIGURES = re.compile(r"[\d(]")


class StderrNotices:
    """Lines for a person, each once; the event stream has each instance."""

    def __init__(
        self, loop: Loop, reporter: EventWriter, *, stderr: int, before_line: Callable[[], None] | None = None
    ) -> None:
        self.has_begun = False
        """Whether the first request is under way."""
        self.followers: list[Callable[[Extension, NoticeKind, str], None]] = []
        """Who else hears what happens to extensions."""
        self._loop = loop
        self._reporter = reporter
        self._before_line = before_line
        self._stderr = FdWriter(loop, stderr, _nothing, lossy=True)
        self._said: set[str] = set()

    def say(self, line: str) -> None:
        """One line for a person, on stderr."""
        if self._before_line is not None:
            self._before_line()
        self._stderr.write(printable(line.replace("\n", " ")).encode("utf-8", "replace") + b"\n")

    def notice(self, extension: Extension, kind: NoticeKind, message: str) -> None:
        """Something happened to an extension."""
        if kind == "started" and self.has_begun:
            kind, message = "late", "ready after the first request; its tools join in the next turn"
        self.report(extension.name, kind, message)
        for follower in self.followers:
            follower(extension, kind, message)
        if kind != "started" and self._is_news(extension, kind, message):
            self.say(f"zot: extension {extension.name}: {message}")

    def report(self, name: str, kind: NoticeKind, message: str) -> None:
        """For the event stream only."""
        self._reporter.post(events.Extension(valid_text(name), kind, valid_text(message)))

    def note(self, extension: Extension, level: str, message: str) -> None:
        """An extension wants something said."""
        self.say(f"[{extension.name}] {level}: {message}")

    def _is_news(self, extension: Extension, kind: NoticeKind, message: str) -> bool:
        """A guard that fails on every call says so once for each way of failing."""
        what = message
        if kind == "no_verdict":
            what = _FIGURES.split(message.partition(": ")[2])[0]
        key = f"{extension.name} {kind} {what}"
        known = key in self._said
        self._said.add(key)
        return not known

    def close(self) -> None:
        """After the last line; gives a slow reader a moment."""
        self._loop.run_until(lambda: self._stderr.is_flushed, self._loop.clock() + FLUSH_S)
        self._stderr.close()


def _nothing(_reason: str) -> None:
    """Nobody reads stderr any more; the run does not depend on it."""
