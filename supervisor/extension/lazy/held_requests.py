"""Keeps the requests and events for a worker whose process does not run yet, in order.

It stands in for the session of the worker: a frame can be written only once the session knows what the process has
said. The requests themselves are pending in `PendingRequests` from the beginning: they end there if they are cancelled,
run out of time, or if the process dies at its start.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from wire.dialects.base import UnsendableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.accounting.account import Account
    from supervisor.extension.connection.pending_requests import RequestSession
    from wire import frames
    from wire.dialects.base import PanelChange, RunSession
    from wire.trace_context import TraceContext

COUNT_LIMIT = 1000
"""Maximum number of requests and events that wait for one process."""
SIZE_LIMIT = 16 * 2**20
"""Maximum of their arguments and contents together, in bytes. One alone may have any size."""
FULL = "it is starting, and too many requests wait for it"


class HeldRequests:
    """Requests and events that wait for a process. `on_need` is called for each that needs one, and gets whether it is
    a request, whose sender waits."""

    def __init__(self, session: RequestSession, account: Account, on_need: Callable[[bool], None]) -> None:
        self._session = session
        self._account = account
        self._on_need = on_need
        self._begins: dict[str | None, frames.Event] = {}
        """The `session_start` of each session, which go first."""
        self._held: list[tuple[str, Callable[[], bytes]]] = []
        self._size = 0

    # --- as a session ---------------------------------------------------------------------------------------

    def ask(self, call_id: str, event: frames.Event) -> bytes:
        """Keeps a question to a guard. This, `call` and `invoke` raise `UnsendableError` if too much waits."""
        return self._hold(call_id, partial(self._session.ask, call_id, event), _size_of(event))

    def call(
        self, call_id: str, tool: str, args: bytes, tool_id: str = "", run: RunSession | None = None,
        context: TraceContext | None = None,
    ) -> bytes:  # fmt: skip
        encode = partial(self._session.call, call_id, tool, args, tool_id, run, context)
        return self._hold(call_id, encode, len(args))

    def invoke(self, call_id: str, command: str, args: str, run: RunSession | None = None) -> bytes:
        return self._hold(call_id, partial(self._session.invoke, call_id, command, args, *_about(run)), len(args))

    def _hold(self, call_id: str, encode: Callable[[], bytes], size: int) -> bytes:
        if not self._fits(size):
            raise UnsendableError(FULL)
        self._held.append((call_id, encode))
        self._on_need(True)
        return b""

    def cancel(self, call_id: str, reason: str) -> bytes:  # noqa: ARG002
        self._held = [each for each in self._held if each[0] != call_id]
        return b""

    def tell(self, event: frames.Event) -> bytes:
        """Keeps an event. The start of a session needs no process: it is told first once one runs; and its end is told
        only to a process that is needed anyway."""
        if event.event == "session_start" and len(self._begins) < COUNT_LIMIT:
            self._begins[event.session_id] = event
        elif event.event == "session_end" and not self._held:
            self._begins.pop(event.session_id, None)
        elif self._fits(_size_of(event)):
            self._held.append(("", partial(self._session.tell, event)))
            self._on_need(False)
        else:
            self._account.events_dropped += 1
        return b""

    def panel(self, change: PanelChange) -> bytes:  # noqa: ARG002
        """A process that has not started has no panel."""
        return b""

    def ping(self, ping_id: str) -> bytes:  # noqa: ARG002
        return b""

    def _fits(self, size: int) -> bool:
        if self._held and (len(self._held) >= COUNT_LIMIT or self._size + size > SIZE_LIMIT):
            return False
        self._size += size
        return True

    # --- as the carrier of a link ---------------------------------------------------------------------------

    is_open = True
    queued = 0
    stuck_since = None

    def frame(self, extension: str, frame: bytes) -> None:
        """Nothing can be sent yet."""

    def ended(self, extension: str, reason: str) -> None:
        """There is nobody to tell."""

    # --- at the start of the process ------------------------------------------------------------------------

    @property
    def has_waiting(self) -> bool:
        """Whether a request or an event waits that needs a process."""
        return bool(self._held)

    def take(self) -> list[tuple[str, Callable[[], bytes]]]:
        """Returns all that waits, in order: the id of a request, empty for an event, and the function that writes its
        frame, which may raise `UnsendableError`."""
        first = [("", partial(self._session.tell, event)) for event in self._begins.values()]
        held, self._held, self._begins, self._size = self._held, [], {}, 0
        return [*first, *held]


def _about(run: RunSession | None) -> tuple[RunSession, ...]:
    """A session that serves one run need not know of it."""
    return () if run is None else (run,)


def _size_of(event: frames.Event) -> int:
    return len(msgspec.json.encode(event))
