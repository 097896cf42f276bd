"""One run of an extension: takes stdin and stdout, serves the host until it ends the run, and stops in order."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from enum import Enum

from .connection import Connection, decode
from .errors import print_line, print_traceback
from .server import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .host import HostInfo
    from .registry import Registry

    Send = Callable[[dict[str, Any]], None]

ENDING = (signal.SIGTERM, signal.SIGINT)
LAST_S = 0.5
"""Seconds for the handlers of `on_shutdown`, after the wait for running handlers."""

ACK_S = 0.2
"""Seconds for the last frame, if the host does not read."""


class End(Enum):
    """Why the run ends, and the seconds that running calls may still take. A host waits 2 s after its `shutdown` and 1
    s after SIGTERM. At the end of input no host waits, and a user may have piped frames in, so there is more time."""

    SHUTDOWN = 1.2
    END_OF_INPUT = 5.0
    URGENT = 0.4
    """A signal came, or the host no longer reads."""


def run(
    registry: Registry, threads: int, on_connect: Callable[[Send], None], on_greeted: Callable[[HostInfo], None]
) -> None:
    """Calls `on_connect` at the start with the function that sends a frame, and `on_greeted` when the host has said
    hello. Returns when everything is done. If a handler is stuck, or a thread of the extension would keep the process
    alive, it does not return: the process exits with status 0."""
    if sys.stdin is not None and sys.stdin.isatty():
        print_line(
            f"{registry.name} is an extension and waits for frames on stdin; run it with `zot -e FOLDER`, or drive it "
            "with `zot ext drive FOLDER`"
        )
    connection = Connection(*_take_stdio())
    restore = _watch_signals(connection)
    server = Server(registry, connection.send, on_greeted, threads)
    on_connect(connection.send)
    end = _serve(connection, server)
    deadline = time.monotonic() + end.value
    if end is End.END_OF_INPUT:
        server.end_tool_calls("the host has gone")
    else:
        server.cancel_all("shutdown")
    done = _wait(server, connection, deadline)
    server.close()
    server.cancel_all("shutdown")
    done = server.run_shutdown_handlers(time.monotonic() + LAST_S) and done
    if end is End.SHUTDOWN:
        connection.send_within({"type": "shutdown_ack"}, ACK_S)
    _flush()
    if not done or _others_run():
        os._exit(0)
    restore()


def _serve(connection: Connection, server: Server) -> End:
    for line in connection.lines():
        try:
            frame = decode(line)
            if frame["type"] == "shutdown":
                return End.SHUTDOWN
            server.handle(frame)
        except ValueError as error:
            print_line(f"skipped a line of the host: {error}: {line[:200]!r}")
        except Exception as error:
            print_traceback("reading a frame of the host", error)
    return End.URGENT if connection.woken else End.END_OF_INPUT


class _Hurry(BaseException):
    """SIGTERM or SIGINT came during the wait for running handlers."""


def _hurry(_number: int, _frame: object) -> None:
    raise _Hurry


def _wait(server: Server, connection: Connection, deadline: float) -> bool:
    """Waits for running handlers. Returns True if they ended before the deadline and before a signal."""
    if threading.current_thread() is not threading.main_thread():
        return server.wait_idle(deadline)
    try:
        for number in ENDING:
            signal.signal(number, _hurry)
        if connection.is_woken():  # a signal came before these handlers were set
            return False
        return server.wait_idle(deadline)
    except _Hurry:
        return False
    finally:
        for number in ENDING:
            signal.signal(number, _do_nothing)


def _take_stdio() -> tuple[int, int]:
    """Moves the protocol to its own descriptors, out of reach of `print`, `input` and child processes: these then write
    to stderr and find no input. Text in Python's buffer of stdout goes to stderr, too."""
    reading, writing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    if sys.stdout is not None:
        reconfigure = getattr(sys.stdout, "reconfigure", None)  # a test may have replaced it
        if reconfigure is not None:
            reconfigure(line_buffering=True)
    return reading, writing


def _watch_signals(connection: Connection) -> Callable[[], None]:
    """Makes SIGTERM and SIGINT end the run in order, and SIGQUIT print all stacks. Returns a function that undoes
    this."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    before = {number: signal.signal(number, _do_nothing) for number in ENDING}
    woken = signal.set_wakeup_fd(connection.wake_fd, warn_on_full_buffer=False)
    _dump_on_quit()

    def restore() -> None:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)

    return restore


def _dump_on_quit() -> None:
    """Prints stacks on SIGQUIT, which a host sends to a hanging extension, to log where it hangs."""
    import faulthandler

    try:
        faulthandler.register(signal.SIGQUIT, all_threads=True)
    except (AttributeError, OSError, ValueError, RuntimeError):  # no such signal, or no usable stderr
        pass


def _do_nothing(_number: int, _frame: object) -> None:
    """A handler without an effect: without any, the signal is not written to the wake-up descriptor."""


def _others_run() -> bool:
    """Whether a thread of the extension keeps Python from exiting."""
    ours = (threading.main_thread(), threading.current_thread())
    return any(thread not in ours and not thread.daemon for thread in threading.enumerate())


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass
