"""`Extension`: the decorators, the calls that speak to the host, and `run`."""

from __future__ import annotations

import sys

from .decorators import Decorators
from .errors import Cancelled, RegistrationError, print_line
from .responses import OpenPanel, panel_lines
from .sessions import stamp
from .tool_calls import ToolCalls, current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future
    from threading import Event as Flag
    from typing import Any, Literal

    from .attachment import Attachment
    from .content import Result
    from .host import HostInfo

    Send = Callable[[dict[str, Any]], None]
    NoteLevel = Literal["info", "success", "warn", "error"]
    LogLevel = Literal["debug", "info", "warn", "error"]


class Extension(Decorators):
    """One extension. `name` is the one in its manifest.

    Up to `threads` tools (default 8) run at the same time; further calls wait. Registrations and messages are possible
    before `run` and during it, from any thread. Earlier messages are sent at the start of `run`. With `late_prompts`, a
    run waits at its end for prompts that the extension may still `submit`.
    """

    def __init__(self, name: str, version: str = "0.0.0", *, threads: int = 8, late_prompts: bool = False) -> None:
        if not name or not isinstance(name, str):
            raise RegistrationError("an extension needs a name: that of its manifest")
        if threads < 1:
            raise RegistrationError(f"threads is at least 1, not {threads}")
        super().__init__(name, version, ("submit",) if late_prompts else ())
        self.name = name
        self.version = version
        self._threads = threads
        self._send: Send | None = None
        self._early: list[dict[str, Any]] = []
        self._host: HostInfo | None = None
        self._greeted: Flag | None = None
        """A flag that the first `wait_for_host` makes."""

    # --- messages -----------------------------------------------------------------------------------------

    def notify(self, level: NoteLevel, message: str) -> None:
        """Shows the user a note: info, success, warn or error. The next prompt removes it."""
        self._tell({"type": "notify", "level": str(level), "message": str(message)})

    def clear_notes(self) -> None:
        """Removes the notes of this extension."""
        self._tell({"type": "clear_notes"})

    def log(self, message: str, /, level: LogLevel = "info", **fields: object) -> None:
        """Writes a line with fields to the extension's log. Without the host's feature `log`, the line goes to stderr,
        which is the same file."""
        if self._host is None or "log" not in self._host.features:
            print_line(" ".join([f"[{level}]", str(message), *(f"{name}={value!r}" for name, value in fields.items())]))
            return
        frame: dict[str, Any] = {"type": "log", "level": str(level), "message": str(message)}
        if fields:
            frame["fields"] = {name: _loggable(value) for name, value in fields.items()}
        self._say(frame)

    def render_panel(
        self, panel_id: str, lines: Iterable[str], *, title: str | None = None, footer: str | None = None
    ) -> None:
        """Shows these lines in an open panel. A `title` or `footer` of None stays unchanged."""
        frame: dict[str, Any] = {"type": "panel_render", "panel_id": str(panel_id), "lines": panel_lines(lines)}
        frame.update({name: str(text) for name, text in (("title", title), ("footer", footer)) if text is not None})
        self._tell(frame)

    def close_panel(self, panel_id: str) -> None:
        """Closes an open panel."""
        self._tell({"type": "panel_close", "panel_id": str(panel_id)})

    def open_panel(self, panel_id: str, lines: Iterable[str] = (), *, title: str = "", footer: str = "") -> None:
        """Opens a panel, as an `OpenPanel` response does, but at any time."""
        panel = OpenPanel(panel_id, lines, title=title, footer=footer).as_json()["open_panel"]
        self._tell({"type": "open_panel", "panel": panel})

    def submit(self, text: str) -> None:
        """Sends a prompt to the agent, at any time. It runs after the prompts that wait."""
        if not isinstance(text, str):
            raise TypeError(f"submit() takes a str, not {type(text).__name__}")
        if not text.strip():
            raise ValueError("submit(): the prompt is blank, which a host ignores")
        self._tell({"type": "submit", "text": text})

    # --- tools of others ----------------------------------------------------------------------------------

    def call_tool(self, name: str, args: Mapping[str, Any] | None = None) -> Result:
        """Has the host call a tool, of the agent or of another extension, and waits for the result. In a tool's handler
        the call is a part of its own call, and is cancelled with it: `Cancelled` is raised. A tool that fails, or is
        refused, gives a result with `is_error`. Raises `RuntimeError` in a guard, in a coroutine (`call_tool_async` is
        for these), and if the host calls no tools for extensions."""
        asyncio = sys.modules.get("asyncio")
        if asyncio is not None and asyncio._get_running_loop() is not None:
            raise RuntimeError(f"call_tool({name!r}) would stop all coroutines: use `await ext.call_tool_async(...)`")
        from concurrent.futures import CancelledError

        try:
            return self._begin_call(name, args).result()
        except CancelledError:
            raise Cancelled(getattr(current.get(), "reason", "")) from None

    async def call_tool_async(self, name: str, args: Mapping[str, Any] | None = None) -> Result:
        """`call_tool` for coroutines."""
        import asyncio

        return await asyncio.wrap_future(self._begin_call(name, args))

    # --- the host -----------------------------------------------------------------------------------------

    @property
    def host(self) -> HostInfo:
        """The host of this extension. Known in every handler; raises `RuntimeError` before the host's hello."""
        if self._host is None:
            raise RuntimeError("the host has not said hello yet; handlers know it, other threads can wait_for_host()")
        return self._host

    def wait_for_host(self, timeout_s: float = 10.0) -> HostInfo:
        """Waits until the host has said hello, and returns it; for your own threads. Raises `TimeoutError` after
        `timeout_s` seconds."""
        import threading

        with self._lock:
            self._greeted = greeted = self._greeted or threading.Event()
            if self._host is not None:
                greeted.set()
        if not greeted.wait(timeout_s):
            raise TimeoutError(f"no host has said hello within {timeout_s} s; is ext.run() running?")
        return self.host

    def run(self) -> None:
        """Serves the host on stdin and stdout, and returns when the host ends the run. The last line of an extension's
        program."""
        from .stdio_run import run

        run(self.registry, self._threads, self.connect, self.greeted_by)

    def attach(
        self, send: Send, *, loop: AbstractEventLoop | None = None, on_thread: Callable[[], None] | None = None
    ) -> Attachment:
        """Serves a host in this process, which carries the frames itself; stdin, stdout and signals stay with the
        program. Of the returned object, `begin` sends the hello and all registrations, `handle` takes the host's
        frames, and `close` ends it. `send` gets each frame of the extension, from any thread; it raises `TypeError` or
        `ValueError` for a frame that JSON cannot hold. Coroutines run on `loop`, which runs in a thread of the host, or
        on one that all extensions share. `on_thread` is called at the start of each thread for handlers."""
        from .attachment import Attachment

        return Attachment(self, send, loop, on_thread)

    # --- for the SDK --------------------------------------------------------------------------------------

    @property
    def threads(self) -> int:
        return self._threads

    def connect(self, send: Send) -> None:
        """Sends the hello and all registrations, then earlier messages."""
        with self._lock:
            if self._send is not None:
                raise RuntimeError(f"{self.name} already runs: an Extension serves one host at a time")
            self.registry.tool_calls = ToolCalls()
            for frame in (*self.registry.greeting(), *self._early):
                send(frame)
            self._early.clear()
            self._send = send

    def disconnect(self) -> None:
        with self._lock:
            self._send = self._host = self._greeted = None

    def greeted_by(self, host: HostInfo) -> None:
        with self._lock:
            self._host = host
            if self._greeted is not None:
                self._greeted.set()

    def _tell(self, frame: dict[str, Any]) -> None:
        """Sends a frame about the session of the handler that runs here."""
        self._say(stamp(frame))

    def _say(self, frame: dict[str, Any]) -> None:
        with self._lock:
            if (send := self._send) is None:
                self._early.append(frame)
                return
        send(frame)

    def _begin_call(self, name: str, args: Mapping[str, Any] | None) -> Future[Result]:
        return self.registry.tool_calls.begin(self._say, self.host, name, args)

    def _declare(self, frame: dict[str, Any]) -> None:
        """Sends a registration. Does nothing before `connect`: the greeting then has all registrations."""
        if self._send is not None:
            self._send(frame)


def _loggable(value: object) -> object:
    """Returns the value if JSON can hold it, else its `repr`."""
    import json

    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return repr(value)
    return value
