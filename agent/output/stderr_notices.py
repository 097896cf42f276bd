"""Notices of a run: lines for a person on stderr, and records about extensions in the event stream."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent.output.fd_writer import FdWriter
from supervisor.extension.notices import AWAKE, REASON_LENGTH, RECORDED_ONLY, line_about
from wire import events
from wire.suggestions import join_names
from wire.text import one_line, printable, valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.output.event_writer import EventWriter
    from supervisor.extension.extension import Extension
    from supervisor.extension.notices import NoticeKind
    from supervisor.loop.loop import Loop

FLUSH_S = 0.5
"""Maximum wait of `close` for a slow reader, in seconds."""
_DELAY = re.compile(r" in \d+\.\d s(?= \(log: |$)")
_FIGURES = re.compile(r"[\d(]")
_HANDLER_FAILED = re.compile(r": (?:the )?guard .{1,80} failed: \w+|: intercept panic: ")
"""The beginning of an SDK's reason for a block by a failed handler."""


class StderrNotices:
    """Writes each notice to stderr once, and to the event stream and the followers every time. Lines begin with `who`,
    if stderr is that of several runs."""

    def __init__(
        self,
        loop: Loop,
        event_writer: EventWriter,
        *,
        stderr: int,
        before_line: Callable[[], None] | None = None,
        who: str = "",
    ) -> None:
        self.is_read = False
        """Whether a reader shows each record to a person: then stderr says only what no record says."""
        self.has_begun = False
        """Whether an extension that becomes ready now is late for the first request."""
        self.followers: list[Callable[[Extension, NoticeKind, str], None]] = []
        """Called with the extension, the kind and the message of each notice."""
        self._loop = loop
        self._event_writer = event_writer
        self._before_line = before_line
        self._who = who
        self._stderr = FdWriter(loop, stderr, _nothing, lossy=True)
        self._said: set[str] = set()
        self._last_block = ""
        self._gathered: dict[str, list[tuple[str, str]]] | None = None
        """While the extensions start: the names and messages of failed starts by trouble."""

    def say(self, line: str) -> None:
        """Writes one line to stderr."""
        self.tell_gathered(go_on=self._gathered is not None)
        if self._before_line is not None:
            self._before_line()
        if self._who:
            line = f"{self._who}: {line.removeprefix('zot: ')}"
        self._stderr.write(printable(line.replace("\n", " ")).encode("utf-8", "replace") + b"\n")

    def notice(self, extension: Extension, kind: NoticeKind, message: str) -> None:
        """Reports an event of an extension, such as a crash."""
        if kind == "started" and message != AWAKE and self.has_begun and extension.found.link is None:
            kind, message = "late", "ready after the first request; its tools join in the next turn"
        self.report(extension.name, kind, message)
        for follower in self.followers:
            follower(extension, kind, message)
        if kind == "blocked":
            self._last_block = message
        if self.is_read or kind in RECORDED_ONLY or not self._is_news(extension, kind, message):
            return
        if self._gathered is not None and kind in ("exited", "failed"):
            self._gathered.setdefault(_trouble(extension.name, message), []).append((extension.name, message))
        else:
            self.say(line_about(extension.name, kind, message))

    def gather(self) -> None:
        """Keeps lines about failed starts until `tell_gathered` or another line: extensions with the same trouble then
        share a line."""
        self._gathered = {}

    def tell_gathered(self, *, go_on: bool = False) -> None:
        """Writes the kept lines. With `go_on`, later ones are kept, too."""
        gathered, self._gathered = self._gathered or {}, None
        for trouble, told in gathered.items():
            names = list(dict.fromkeys(name for name, _ in told))
            if len(names) == 1:
                self.say(line_about(names[0], "failed", told[-1][1]))
            else:
                self.say(f"zot: extensions {join_names(names)}: {trouble}")
        self._gathered = {} if go_on else None

    def has_told_block(self, reason: str) -> bool:
        """Whether the last line about a block gave this reason."""
        return self._last_block.endswith(f": {one_line(reason, REASON_LENGTH)}")

    def report(self, name: str, kind: NoticeKind, message: str) -> None:
        """Reports a notice in the event stream only."""
        self._event_writer.post(events.Extension(valid_text(name), kind, valid_text(message)))

    def note(self, extension: Extension, level: str, message: str) -> None:
        """Writes a note of an extension to stderr."""
        if not self.is_read:
            self.say(f"[{extension.name}] {level}: {message}")

    def _is_news(self, extension: Extension, kind: NoticeKind, message: str) -> bool:
        """Whether stderr has no such line yet. A guard that fails on every call gets one line per kind of failure."""
        text = message
        if kind == "no_verdict":
            text = _FIGURES.split(message.partition(": ")[2])[0]
        elif kind == "blocked" and (failed := _HANDLER_FAILED.search(message)):
            text = failed[0]
        key = f"{extension.name} {kind} {text}"
        known = key in self._said
        self._said.add(key)
        return not known

    def close(self) -> None:
        """Waits up to `FLUSH_S` for a slow reader, then stops writing."""
        self.tell_gathered()
        self._loop.run_until(lambda: self._stderr.is_flushed, self._loop.clock() + FLUSH_S)
        self._stderr.close()


def _trouble(name: str, message: str) -> str:
    """The message without the parts that differ between extensions with the same trouble."""
    for text in ("/{}/", "ext-{}.log", "restart {} "):
        message = message.replace(text.format(name), text.format("NAME"))
    return _DELAY.sub("", message)


def _nothing(_reason: str) -> None:
    """Does nothing: a run goes on without a reader of stderr."""
