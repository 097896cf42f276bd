"""What is said of one extension: to a user in single lines, each fault once, and in its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from supervisor.loop.rate_limit import LENGTH, TokenBucket
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.accounting.account import Account
    from supervisor.extension.log import ExtensionLog
    from supervisor.loop.loop import Loop
    from wire import frames

WARNINGS_SHOWN = 10
"""Different faults of one extension that a user is told of, each once; the log has the others."""
NOTICE_LENGTH = 600
REMARKS_BURST = 100
REMARKS_PER_SECOND = 20.0
"""Lines that the host writes into the log about what an extension says, once it has said that much wrong."""

Kind = Literal["started", "exited", "restarted", "reloaded", "failed", "no_verdict", "limit", "late", "warning"]


class Notices:
    """`on_notice` hears a kind and a line, `on_note` a level and what the extension itself wants said."""

    def __init__(
        self,
        loop: Loop,
        log: ExtensionLog,
        account: Account,
        *,
        on_notice: Callable[[Kind, str], None],
        on_note: Callable[[str, str], None],
    ) -> None:
        self._loop = loop
        self._log = log
        self._account = account
        self._on_notice = on_notice
        self._on_note = on_note
        self._note_gate = TokenBucket(loop.clock())
        self._remark_gate = TokenBucket(loop.clock(), REMARKS_BURST, REMARKS_PER_SECOND)
        self._remarks_left_out = 0
        self._warned: set[str] = set()

    def tell(self, kind: Kind, message: str, evidence: str = "") -> None:
        """A line for the user. What an extension may have had a hand in is cut to `NOTICE_LENGTH` characters."""
        self._on_notice(kind, one_line(message, NOTICE_LENGTH) + evidence)

    def warn(self, key: str, message: str) -> None:
        """Tells the user once for each key, and of `WARNINGS_SHOWN` of them; the log has the others."""
        if key in self._warned or len(self._warned) > WARNINGS_SHOWN:
            self.remark(message)
            return
        self._log.note(message)
        self._warned.add(key)
        if len(self._warned) > WARNINGS_SHOWN:
            self.tell("warning", "has more faults than are shown here", f" (log: {self._log.path})")
        else:
            self.tell("warning", message)

    def has_warned(self, key: str) -> bool:
        return key in self._warned

    def remark(self, text: str) -> None:
        """A line in the log about what it said; not more of them than a reader or a disk can take."""
        if not self._remark_gate.admits(self._loop.turn_time):
            self._remarks_left_out += 1
            return
        self._own_up()
        self._log.note(text)

    def _own_up(self) -> None:
        if self._remarks_left_out:
            self._log.note(f"{self._remarks_left_out} more such lines were left out here")
            self._remarks_left_out = 0

    def note(self, frame: frames.Notify) -> None:
        """It wants something said; not without end."""
        if self._note_gate.admits(self._loop.turn_time):
            message = frame.message or ""
            shown = message if len(message) <= LENGTH else message[: LENGTH - 2] + " …"
            self._on_note((frame.level or "info")[:20], shown)
            return
        if not self._account.notes_dropped:
            self.warn("notes", "sends notes faster than they can be shown; the rest are counted, not shown")
        self._account.notes_dropped += 1

    def log_failed(self, reason: str) -> None:
        """Its log cannot be written."""
        self.tell("warning", f"{reason}; what it says on stderr is not kept")

    def last_words(self) -> str:
        """The last line on its stderr, as the end of a sentence."""
        last = self._log.last_line()
        return f': "{last}"' if last else ""

    def close(self) -> None:
        self._own_up()
        self._log.close()
