"""What a handler can do about the call that it works on: tell how far it is, and notice that nobody waits any more."""

from __future__ import annotations

from .errors import Cancelled, print_traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class CallContext:
    """One call under way. Cancelled when the run was aborted, the host's time limit has passed, or the extension is
    shut down; what the handler returns after that is ignored."""

    def __init__(self, call_id: str, name: str, send: Callable[[dict[str, Any]], None]) -> None:
        import threading  # only a running extension needs it

        self.id = call_id
        self.name = name
        """Of the tool or command."""
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
        """Why it was cancelled; empty if it was not, or if the host did not say."""
        return self._reason

    def wait(self, seconds: float) -> bool:
        """Sleeps, but not longer than until it is cancelled. True if it was."""
        return self._cancelled.wait(seconds)

    def raise_if_cancelled(self) -> None:
        """Raises `Cancelled`, which needs not be caught."""
        if self.cancelled:
            raise Cancelled(self._reason)

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Calls this once, on another thread, when the call is cancelled; at once if it already was. For what cannot
        look at `cancelled`: `ctx.on_cancel(process.kill)`."""
        with self._lock:
            if not self.cancelled:
                self._callbacks.append(callback)
                return
        _call(callback)

    def cancel(self, reason: str = "") -> None:
        """Called by the SDK."""
        with self._lock:
            if self.cancelled:
                return
            self._reason = reason
            self._cancelled.set()
            callbacks, self._callbacks = self._callbacks, []
        if callbacks:  # not here: one that hangs would keep the host's frames from being read
            import threading

            threading.Thread(target=_call_all, args=(callbacks,), daemon=True, name="zotext on_cancel").start()


class ToolContext(CallContext):
    """Given to a tool's parameter that is annotated with this class."""

    def progress(self, text: str) -> None:
        """How far it has come, for whoever watches; not for the model. A host without the feature ignores it."""
        self._send({"type": "tool_progress", "id": self.id, "text": str(text)})


class CommandContext(CallContext):
    """Given to a command's parameter that is annotated with this class."""


def _call_all(callbacks: list[Callable[[], object]]) -> None:
    for callback in callbacks:
        _call(callback)


def _call(callback: Callable[[], object]) -> None:
    try:
        callback()
    except Exception as error:
        print_traceback("what was to be done on a cancellation", error)
