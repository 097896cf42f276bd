"""The session that a handler works for, and state for each session.

A process that several runs share gets the session and the folder of the run with each frame. A process of one run gets
them with events, and one that runs lease with `lease_begin`: there, frames without them are about the last one named.
"""

from __future__ import annotations

from _thread import RLock
from contextvars import ContextVar

from .errors import RegistrationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    StateT = TypeVar("StateT")

current_session: ContextVar[str | None] = ContextVar("zotext_session", default=None)
"""Id of the session whose handler runs here; "" if the host has named none, None outside of handlers. The handler's
coroutine has it, too."""
NAMING = ("hello_ack", "event", "lease_begin")
"""Frames that name the session, or the folder, of later frames without one."""
NO_SESSION = "the state of a session is known in handlers only: read it there, and pass it on to your own threads"


class Sessions:
    """The sessions of one process."""

    def __init__(self) -> None:
        self._id = self._cwd = ""
        self._states: list[dict[str, Any]] = []
        self._lock = RLock()

    def complete(self, frame: dict[str, Any]) -> None:
        """Gives a frame of the host the `session_id` and the `cwd` that it lacks; "" if they are unknown."""
        session_id, cwd = _text(frame, "session_id"), _text(frame, "cwd")
        if frame["type"] in NAMING:
            self._cwd = cwd or ("" if session_id else self._cwd)
            self._id = session_id or self._id
        frame["session_id"] = session_id or self._id
        if not cwd and frame["session_id"] == self._id:
            frame["cwd"] = self._cwd

    def state(self, factory: Callable[[], StateT]) -> Callable[[], StateT]:
        """Returns a function that returns the state of the handler's session, made by `factory` at its first call."""
        if not callable(factory):
            raise RegistrationError(f"session_state() takes a function or a class, not {factory!r}")
        states: dict[str, StateT] = {}
        self._states.append(states)

        def state() -> StateT:
            if (session_id := current_session.get()) is None:
                raise RuntimeError(NO_SESSION)
            with self._lock:
                if session_id not in states:
                    states[session_id] = factory()
                return states[session_id]

        return state

    def forget(self, session_id: str) -> None:
        """Drops all state of a session that has ended."""
        with self._lock:
            for states in self._states:
                states.pop(session_id, None)


def in_session(session_id: str, job: Callable[[], None]) -> Callable[[], None]:
    """Returns a job that does `job` for a session."""

    def work() -> None:
        current_session.set(session_id)
        job()

    return work


def stamp(frame: dict[str, Any]) -> dict[str, Any]:
    """Returns a frame of the extension with the session of the handler that sends it, if the host has named one."""
    return {**frame, "session_id": session_id} if (session_id := current_session.get()) else frame


def _text(frame: dict[str, Any], field: str) -> str:
    value = frame.get(field)
    return value if isinstance(value, str) else ""
