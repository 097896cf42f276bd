"""An extension in the process of its host: the host carries the frames itself, without pipes and signals."""

from __future__ import annotations

import threading
import time

from . import coroutines
from .errors import print_traceback
from .server import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any, Protocol

    from .host import HostInfo
    from .registry import Registry

    class Attachable(Protocol):
        """The part of `Extension` that this module uses."""

        registry: Registry

        @property
        def threads(self) -> int: ...
        def connect(self, send: Callable[[dict[str, Any]], None]) -> None: ...
        def greeted_by(self, host: HostInfo) -> None: ...
        def disconnect(self) -> None: ...


LAST_S = 0.5
"""Seconds for the handlers of `on_shutdown`, after the wait for running handlers."""


class Attachment:
    """Serves one extension from `begin` to `close`. The handlers run in threads, as in a process."""

    def __init__(
        self,
        extension: Attachable,
        send: Callable[[dict[str, Any]], None],
        loop: asyncio.AbstractEventLoop | None,
        on_thread: Callable[[], None] | None,
    ) -> None:
        def begin_thread() -> None:
            coroutines.run_in(loop, self._coroutines)
            if on_thread is not None:
                on_thread()

        self._extension = extension
        self._send = send
        self._begin_thread = begin_thread
        self._coroutines = coroutines.RunningCoroutines()
        self._closing = threading.Lock()
        self._server: Server | None = None
        """The server while the extension serves, else None."""

    def begin(self) -> None:
        """Sends hello, all registrations so far, and ready. Raises `RuntimeError` if the extension already runs."""
        extension = self._extension
        self._server = Server(
            extension.registry, self._send, extension.greeted_by, extension.threads, self._begin_thread
        )
        try:
            extension.connect(self._send)
        except BaseException:
            self._server = None
            raise

    def handle(self, frame: dict[str, Any]) -> None:
        """Takes a frame of the host. Waits for no handler and raises nothing: faults of a frame are written to stderr.
        For a shutdown, the host calls `close`."""
        if (server := self._server) is None:
            return
        try:
            server.handle(frame)
        except Exception as error:
            print_traceback("reading a frame of the host", error)

    def close(self, wait_s: float = 1.2) -> bool:
        """Cancels the running calls and coroutines, waits up to `wait_s` seconds for all handlers, runs those of
        `on_shutdown`, and releases the extension, which then can run again. Returns False if a handler still runs: its
        thread ends with it, and does not keep the process alive. A second call waits for the first."""
        with self._closing:
            if (server := self._server) is None:
                return True
            server.cancel_all("shutdown")
            self._coroutines.cancel_all()  # including those of guards and events, which have no context
            done = server.wait_idle(time.monotonic() + wait_s)
            server.close()
            server.cancel_all("shutdown")
            self._coroutines.admit()  # those of `on_shutdown`
            done = server.run_shutdown_handlers(time.monotonic() + LAST_S) and done
            self._server = None
            self._extension.disconnect()
            return done
