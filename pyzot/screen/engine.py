"""The engine of the screen: a `zot rpc` process, started again with the same session when it dies."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from ..answers import SessionFile
from ..async_runtime import AsyncRuntime
from ..errors import RuntimeDied, ZotError
from ..events import AnyEvent, PermissionAsked
from ..flags import RUN

DRAIN_S = 30.0
"""Seconds that the running prompt has to end after the screen was killed."""
WAITING_LIMIT = 20_000
"""Maximum of records that wait for the screen; the oldest go first."""
AT_ONCE = 200
"""Records that are taken between two keys."""
QUICK_S = 10.0
"""An engine that dies within these seconds of its start counts as one that does not start."""
STARTS = 3
"""Maximum of starts in a row of engines that do not start."""
_OF_SESSION = ("continue_", "resume", "session", "fork")


class Engine:
    """Starts the engine and passes on what comes from it, in the loop of the screen: to `on_event` records that belong
    to no prompt, to `on_stderr` lines for a person, to `on_death` the reason of each unasked end. `permission` decides
    for a guard that wants a person to."""

    def __init__(
        self, options: Mapping[str, Any], *, permission: Callable[[PermissionAsked], Coroutine[Any, Any, bool | str]]
    ) -> None:
        self.on_event: Callable[[AnyEvent], None] = lambda _event: None
        self.on_stderr: Callable[[str], None] = lambda _line: None
        self.on_death: Callable[[ZotError], None] = lambda _error: None
        self.runtime: AsyncRuntime | None = None
        """The engine; None before its start and after its end."""
        self.session: SessionFile | None = None
        """The session that a new engine continues; None before the state is known, and without one."""
        self.quick_deaths = 0
        """Number of engines in a row that died soon after their start."""
        self.has_died = False
        self._options = {name: value for name, value in options.items() if name in RUN or name == "api_key"}
        self._keeps_session = not options.get("no_session")  # no flag of `zot rpc`
        self._permission = permission
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[AnyEvent | str] = deque(maxlen=WAITING_LIMIT)
        self._is_scheduled = False
        self._started = 0.0
        self._is_closing = False

    async def start(self) -> AsyncRuntime:
        """Starts an engine and waits for its greeting. Raises `OSError`, `TypeError` and `ZotError`."""
        options: dict[str, Any] = {"drain_timeout": DRAIN_S, **self._options}
        if options.get("resume") == "":  # chosen on the screen
            del options["resume"]
        if self.session is not None:
            for name in _OF_SESSION:
                options.pop(name, None)
            if os.path.exists(self.session.path):  # from the first message on
                options["resume"] = self.session.id
        if self._keeps_session:
            options["save_session"] = True
        self._started = self._loop.time()
        runtime = AsyncRuntime(
            **options, on_event=self._put, on_stderr=self._put, permission=self._permission,
        )  # fmt: skip
        runtime._client.process.ended.on_come(lambda: self._soon(self._died, runtime))
        runtime._client.send("hello", quiet=True)
        await runtime
        self.runtime = runtime
        return runtime

    async def close(self) -> None:
        """Ends the engine and its extensions."""
        self._is_closing = True
        runtime, self.runtime = self.runtime, None
        if runtime is not None:
            await runtime.close()

    def notice_end(self) -> None:
        """Tells the end of the process at once, if it has ended: an answer may say so first."""
        if self.runtime is not None and self.runtime._client.end is not None:
            self._died(self.runtime)

    def _died(self, runtime: AsyncRuntime) -> None:
        if self._is_closing or runtime is not self.runtime:
            return
        self.runtime = None
        self._ending = self._loop.create_task(runtime.close())
        is_quick = self._loop.time() - self._started < QUICK_S
        self.quick_deaths = self.quick_deaths + 1 if is_quick else 0
        self.has_died = True
        self.on_death(runtime._client.end or RuntimeDied(1, ()))

    # --- from the reading thread ------------------------------------------------------------------------------

    def _soon(self, callback: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            return  # the screen has ended

    def _put(self, item: AnyEvent | str) -> None:
        self._waiting.append(item)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._soon(self._take)

    def take_waiting(self) -> None:
        """Passes on all records that came before an answer."""
        while self._waiting:
            self._take()

    def _take(self) -> None:
        """Passes on some records; keys come before the next ones."""
        self._is_scheduled = False
        for _ in range(min(AT_ONCE, len(self._waiting))):
            item = self._waiting.popleft()
            if isinstance(item, str):
                self.on_stderr(item)
            else:
                self.on_event(item)
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._take)
