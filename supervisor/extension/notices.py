"""Sends the notices about one extension, each fault once, and writes the host's remarks into its log; writes the text
of the notice about a worker that has ended."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import msgspec

from supervisor.accounting.fall import Fall
from supervisor.extension.restart import Decision, EndCause, GiveUp, RestartIn, WorkerEnding
from supervisor.loop.rate_limit import NOTE_LENGTH, TokenBucket
from supervisor.process.child import exit_words
from wire.framing import drop_lines
from wire.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.accounting.account import Account
    from supervisor.accounting.fall import FallKind
    from supervisor.extension.log import ExtensionLog
    from supervisor.loop.loop import Loop
    from wire import frames
    from wire.framing import Line, Oversize
    from wire.manifest import Manifest

WARNINGS_SHOWN = 10
"""Maximum number of faults of one extension that become a notice, each fault once. Later faults are only logged."""
NOTICE_LENGTH = 600
"""Maximum number of characters of the part of a notice that may quote the extension."""
REASON_LENGTH = 10_000
"""Maximum number of characters of the notice of a block or a question: its reason may quote a whole command."""
LINE_LENGTH = 1500
"""Maximum number of characters of a line for a person."""
REMARKS_BURST = 100
REMARKS_PER_SECOND = 20.0
"""Maximum number of remarks per second in the log, after a burst of `REMARKS_BURST`."""

NoticeKind = Literal[
    "started", "exited", "stopped", "restarted", "reloaded", "failed", "blocked", "no_verdict", "limit", "late",
    "warning", "remark", "asked", "context", "error_handling", "summary", "system_prompt",
]  # fmt: skip
AWAKE = "awake: a request or an event needs it"
"""The message of `started` about an extension that has slept: its tools were offered before."""
RECORDED_ONLY = frozenset({"started", "remark", "context", "summary"})
"""Kinds of notices for records and clients only: stderr does not show them."""
EventLevel = Literal["debug", "info", "warning", "error"]
_NOTICE_LEVELS: dict[str, EventLevel] = {
    "started": "debug", "remark": "debug", "restarted": "info", "reloaded": "info", "stopped": "info",
    "system_prompt": "info", "failed": "error",
}  # fmt: skip
_NOTE_LEVELS: dict[str, EventLevel] = {"debug": "debug", "warn": "warning", "warning": "warning", "error": "error"}
WHOLE = frozenset({"blocked", "asked"})
"""Kinds of notices that may have `REASON_LENGTH` characters."""


def level_of_notice(kind: str) -> EventLevel:
    """The level of a notice in a host's log and for an MCP client; warning for an unknown kind."""
    return _NOTICE_LEVELS.get(kind, "warning")


def level_of_note(level: str) -> EventLevel:
    """The level of a note that an extension sends, in the same words; info for an unknown level."""
    return _NOTE_LEVELS.get(level, "info")


def line_about(extension: str, kind: NoticeKind, message: str) -> str:
    """The line about a notice for a person. It is cut to `LINE_LENGTH`; records have the whole message."""
    said = f"{extension} {message}" if kind in WHOLE else f"extension {extension}: {message}"
    return f"zot: {one_line(said, LINE_LENGTH)}"


class Notices:
    """`on_notice` gets the kind and line of each notice, `on_note` the level and text of each note."""

    def __init__(
        self,
        loop: Loop,
        log: ExtensionLog,
        account: Account,
        *,
        on_notice: Callable[[NoticeKind, str], None],
        on_note: Callable[[str, str], None],
    ) -> None:
        self._loop = loop
        self._log = log
        self._account = account
        self._on_notice = on_notice
        self._on_note = on_note
        self._note_gate = TokenBucket(loop.clock())
        self._notes_wait_until = 0.0
        self._remark_gate = TokenBucket(loop.clock(), REMARKS_BURST, REMARKS_PER_SECOND)
        self._remarks_left_out = 0
        self._warned: set[str] = set()

    def begin(self, manifest: Manifest) -> None:
        """Logs that the extension with this manifest starts, and tells of a log or a manifest with a fault."""
        words = ("starting", manifest.name, manifest.version, f"for the run of process {os.getpid()}")
        self._log.add(" ".join(filter(None, words)))
        if self._log.error is not None and not self._log.lacks_descriptors:
            self.log_failed(self._log.error)
        self._log.on_error = self.log_failed
        if manifest.remark:
            self.warn("manifest", manifest.remark)

    def tell(self, kind: NoticeKind, message: str, evidence: str = "") -> None:
        """Sends a notice. `message` may quote the extension and is cut to `NOTICE_LENGTH`, or to `REASON_LENGTH` if it
        is about a block or a question; `evidence` is not cut."""
        self._on_notice(kind, one_line(message, REASON_LENGTH if kind in WHOLE else NOTICE_LENGTH) + evidence)

    def warn(self, key: str, message: str) -> None:
        """Logs and sends a warning, once for each key, for at most `WARNINGS_SHOWN` keys. Others are only logged."""
        if key in self._warned or len(self._warned) > WARNINGS_SHOWN:
            self.remark(message)
            return
        self._log.add(message)
        self._warned.add(key)
        if len(self._warned) > WARNINGS_SHOWN:
            self.tell("warning", "has more faults than are shown here", f" (log: {self._log.path})")
        else:
            self.tell("warning", message)

    def take_over(self, before: Notices) -> None:
        """The faults that `before` has told are not told again."""
        self._warned = before._warned

    def has_warned(self, key: str) -> bool:
        return key in self._warned

    def remark(self, text: str) -> None:
        """Writes a line into the log. Lines above `REMARKS_PER_SECOND` are left out and counted."""
        if not self._remark_gate.admits(self._loop.pass_time):
            self._remarks_left_out += 1
            return
        self._log_left_out()
        self._log.add(text)

    def _log_left_out(self) -> None:
        if self._remarks_left_out:
            self._log.add(f"{self._remarks_left_out} more such lines were skipped here")
            self._remarks_left_out = 0

    def drop_notes(self, lines: list[Line | Oversize], heads: tuple[bytes, ...]) -> None:
        """While notes come too fast, removes and counts the lines that begin like a note: to decode each one takes five
        times as long."""
        if heads and self._loop.pass_time < self._notes_wait_until:
            self._account.notes_dropped += drop_lines(lines, heads)

    def note(self, frame: frames.Notify) -> None:
        """Passes on a note from the extension. Notes that come too fast are dropped and counted."""
        if (now := self._loop.pass_time) < self._notes_wait_until:  # the path of a flood
            self._account.notes_dropped += 1
            return
        if self._note_gate.admits(now):
            message = frame.message or ""
            shown = message if len(message) <= NOTE_LENGTH else message[: NOTE_LENGTH - 2] + " …"
            self._on_note((frame.level or "info")[:20], shown)
            return
        if not self._account.notes_dropped:
            self.warn("notes", "sends notes faster than they can be shown; the rest are counted, not shown")
        self._notes_wait_until = self._note_gate.next_at()
        self._account.notes_dropped += 1

    def log_failed(self, reason: str) -> None:
        """Warns that the log cannot be written."""
        self.tell("warning", f"{reason}; its stderr is not kept")

    def close(self) -> None:
        self._log_left_out()
        self._log.close()


class ExitMessage(msgspec.Struct, frozen=True):
    """The parts of a notice. `message` may quote the extension and is shortened; `evidence` is not shortened."""

    kind: NoticeKind
    message: str
    evidence: str
    failure: str
    """The reason with which requests fail from now on."""


def exit_message(
    extension: str,
    ending: WorkerEnding,
    decision: Decision,
    *,
    reason: str,
    full_reason: str,
    exit_status: str | None,
    last_words: str,
    log: str,
    is_silent: bool,
) -> ExitMessage:
    """Returns the notice about a worker that has ended for `reason`. `full_reason` is `reason` with the number of
    pending requests. `last_words` is the error or the last lines of its stderr, as the end of a sentence.
    With `is_silent` the message does not say why the worker is not restarted."""
    place = f" (log: {log})"
    if isinstance(decision, GiveUp):
        last = exit_status if ending.cause is EndCause.EXIT else reason
        failure = f"{counted(decision.exits, 'exit')} in {decision.span_s:.0f} s, last {last}{last_words}"
        return ExitMessage("failed", failure, f"; given up: zot ext restart {extension} tries again{place}", failure)
    if isinstance(decision, RestartIn):
        wait = f"{decision.delay_s:.1f} s"
        kind: NoticeKind = "limit" if ending.cause is EndCause.OVER_LIMIT else "exited"
        evidence = f"{last_words}; restarting it in {wait}{place}"
        return ExitMessage(kind, full_reason, evidence, f"{reason}{last_words}; it is restarted in {wait}")
    then = "" if is_silent else f"; not restarted: {decision.why}"
    kind = "exited" if ending.was_ready and ending.cause is EndCause.EXIT else "failed"
    if ending.cause is EndCause.OVER_LIMIT:
        kind = "limit"
    return ExitMessage(kind, full_reason, f"{last_words}{then}{place}", reason + last_words)


_FALLS: dict[EndCause, FallKind] = {EndCause.OVER_LIMIT: "limit", EndCause.STALLED: "hung"}


def fall_of(ending: WorkerEnding, decision: Decision, reason: str, pid: int | None, pending: int) -> Fall:
    """The end of a worker as a fall. `reason` is told only where the host alone has worded it. `pending`: the number of
    its requests that failed with it."""
    if ending.cause is EndCause.EXIT:
        kind: FallKind = "crashed" if ending.code else "ended"
        cause = exit_words(ending.code or 0) + ("" if ending.was_ready else ", before it was ready")
    else:
        kind = _FALLS.get(ending.cause, "refused")
        cause = f"{ending.cause.value}" if kind == "refused" else reason
    if isinstance(decision, GiveUp):
        cause = f"{counted(decision.exits, 'exit')} in {decision.span_s:.0f} s, the last: {cause}"
        return Fall("given_up", cause, pid, pending)
    return Fall(kind, cause, pid, pending)
