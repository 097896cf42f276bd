"""The context of a call, for its handler: reports progress, and tells whether the call was cancelled."""

from __future__ import annotations

from .errors import Cancelled, print_traceback
from .sessions import current_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class CallContext:
    """One running call. The host cancels it when the run is aborted, its time limit has passed, or the extension is
    shut down. A return value after that is ignored."""

    def __init__(self, frame: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> None:
        import threading  # needed only while an extension runs

        self.id: str = frame["id"]
        self.name = str(frame.get("name"))
        """Name of the tool or the command."""
        self.session_id: str = frame["session_id"]
        """Id of the session that the call is for; "" if the host has named none."""
        self.cwd: str = frame.get("cwd") or ""
        """Folder of that session: a relative path in the arguments starts there."""
        self.answered = False
        """For the SDK."""
        self._send = send
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._reason = ""
        self._callbacks: list[Callable[[], object]] = []

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    @property
    def reason(self) -> str:
        """Why it was cancelled; empty if it was not, or if the host gave no reason."""
        return self._reason

    def wait(self, seconds: float) -> bool:
        """Sleeps for `seconds`, or until the call is cancelled. Returns True if it was cancelled."""
        return self._cancelled.wait(seconds)

    def raise_if_cancelled(self) -> None:
        """Raises `Cancelled` if the call was cancelled. The handler need not catch it."""
        if self.cancelled:
            raise Cancelled(self._reason)

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Calls `callback` once, on another thread, when the call is cancelled; at once if it already is. For work that
        cannot check `cancelled`: `ctx.on_cancel(process.kill)`."""
        with self._lock:
            if not self.cancelled:
                self._callbacks.append(callback)
                return
        _call(callback)

    def cancel(self, reason: str = "") -> None:
        """For the SDK."""
        with self._lock:
            if self.cancelled:
                return
            self._reason = reason
            self._cancelled.set()
            callbacks, self._callbacks = self._callbacks, []
        if callbacks:  # on a thread: a hanging callback must not stop the reading of frames
            import threading

            threading.Thread(
                target=_call_all, args=(self.session_id, callbacks), daemon=True, name="zotext on_cancel"
            ).start()


class ToolContext(CallContext):
    """The SDK passes it to a tool's parameter that is annotated with this class."""

    def progress(self, text: str) -> None:
        """Reports progress to the user, not to the model. A host without the feature `tool_progress` ignores it."""
        self._send({"type": "tool_progress", "id": self.id, "text": str(text)})


class CommandContext(CallContext):
    """The SDK passes it to a command's parameter that is annotated with this class."""


def _call_all(session_id: str, callbacks: list[Callable[[], object]]) -> None:
    current_session.set(session_id)
    for callback in callbacks:
        _call(callback)


def _call(callback: Callable[[], object]) -> None:
    try:
        callback()
    except Exception as error:
        print_traceback("what was to be done on a cancellation", error)
