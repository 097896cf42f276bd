"""Profiles a Node process by its inspector, which SIGUSR1 opens on a port of this machine, and closes it again.

One that is open already, as a profiler that was killed leaves it, is used without the signal.
"""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from supervisor.process.table import ON_LINUX, is_alive, send_signal
from supervisor.profile.errors import ProfileError
from supervisor.profile.program_kind import ProgramKind, running_program
from supervisor.profile.websocket import WebSocket, WebSocketError, get

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.process.table import Identity

OPEN_S = 5.0
"""Maximum number of seconds from SIGUSR1 until the inspector is open, unless the profile is longer, and for each of its
answers. A process that waits outside of JavaScript opens it only afterwards."""
STOP_S = 30.0
"""Maximum number of seconds for the profile itself: a long one is large."""
LATE_S = 1.0
"""Seconds in which an inspector is looked for once more, after Ctrl-C or `OPEN_S`, so that it does not stay open."""
CLOSE_S = 3.0
"""Maximum number of seconds until the inspector is closed."""
POLL_S = 0.02
LOOPBACK = "127.0.0.1"
_OPENS = re.compile(r"--inspect(-brk|-wait)?(=.*)?")
"""An option with which Node opens its inspector at once. `--inspect-port` only says where it would open."""
INTERVAL_US = 10_000
"""Microseconds between two samples, as py-spy has them."""
CLOSE = "(process.getBuiltinModule ? process.getBuiltinModule('inspector') : require('inspector')).close()"


def record(target: Identity, seconds: float) -> tuple[Any, str]:
    """The profile of these seconds, as the inspector gives it, and a warning or "". Raises `ProfileError`. In any case,
    also after Ctrl-C, the inspector is closed again, unless the process was started with an open one."""
    _check(target)
    before = _ports(target.pid)
    port, has_client = _open_inspector(target.pid)
    stays_open = port is not None and was_started_with_inspector(target.pid)
    if has_client and not stays_open:
        raise ProfileError(f"pid {target.pid} is being profiled already, or a debugger is connected to its inspector")
    if port is None:
        _signal(target)
    warning = ""
    try:
        if port is None:
            port = _wait_for_port(target, before, open_s := max(OPEN_S, seconds))
        if port is None:
            raise ProfileError(
                f"pid {target.pid} has opened no inspector within {open_s:g} s: its port is in use, or the process"
                " waits outside of JavaScript; it may open later"
            )
        with _Session(port) as session:
            session.ask("Profiler.enable")
            # V8 counts a function that it has inlined before as its caller: precise coverage drops optimized code.
            session.ask("Profiler.startPreciseCoverage", callCount=True)
            session.ask("Profiler.stopPreciseCoverage")
            session.ask("Profiler.setSamplingInterval", interval=INTERVAL_US)
            session.ask("Profiler.start")
            time.sleep(seconds)
            profile = session.ask("Profiler.stop", within_s=STOP_S).get("profile")
    except WebSocketError as error:
        why = f"the inspector does not make a profile: {error}" if is_alive(target) else "it has ended"
        raise ProfileError(f"pid {target.pid}: {why}") from None
    finally:
        if not stays_open:
            warning = _close(target, _wait_for_port(target, before, LATE_S) if port is None else port)
    return profile, warning


def _check(target: Identity) -> None:
    """Raises `ProfileError` unless the process is Node."""
    program = running_program(target.pid)
    if program is None or not is_alive(target):
        raise ProfileError("its process has ended")
    if program.kind is not ProgramKind.NODE:
        raise ProfileError(f"pid {target.pid} is not Node: {program.path}")


def handles(status: str, number: signal.Signals) -> bool:
    """Whether a process with this /proc/PID/status has a handler for a signal. Pure."""
    mask = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")), "0")
    return bool(int(mask, 16) >> (number - 1) & 1)


def _status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""


def _signal(target: Identity) -> None:
    """Sends SIGUSR1. Raises `ProfileError` if the process has no handler of it: the signal would end it."""
    if ON_LINUX and not handles(_status(target.pid), signal.SIGUSR1):
        raise ProfileError(
            f"pid {target.pid} does not open its inspector: it was started with --disable-sigusr1, or is just starting"
        )
    try:
        if not send_signal(target, signal.SIGUSR1):
            raise ProfileError("its process has ended")
    except PermissionError:
        from supervisor.profile.py_spy import owner_of

        raise ProfileError(
            f"pid {target.pid} runs as user {owner_of(target.pid)}: only that user and root may profile it"
        ) from None


def _ports(pid: int) -> set[int]:
    """The ports of this machine at which a process listens. Empty if they cannot be seen."""
    import psutil

    try:
        sockets = psutil.Process(pid).net_connections("tcp")
    except (psutil.Error, OSError):
        return set()
    return {one.laddr.port for one in sockets if one.status == psutil.CONN_LISTEN and one.laddr}


def _open_inspector(pid: int) -> tuple[int | None, bool]:
    """The port of this machine at which the process has its inspector open now, and whether a client is connected;
    None without one."""
    import psutil

    try:
        sockets = psutil.Process(pid).net_connections("tcp")
    except (psutil.Error, OSError):
        return None, False
    own = [one for one in sockets if one.laddr and one.laddr.ip == LOOPBACK]
    with_client = {one.laddr.port for one in own if one.status == psutil.CONN_ESTABLISHED}
    listening = {one.laddr.port for one in own if one.status == psutil.CONN_LISTEN}
    port = next((port for port in sorted(listening) if _path(port, LATE_S)), None)
    return port, port in with_client


def was_started_with_inspector(pid: int) -> bool:
    """Whether an argument or NODE_OPTIONS of a process has opened its inspector."""
    import psutil

    try:
        process = psutil.Process(pid)
        return opens_inspector([*process.cmdline(), *process.environ().get("NODE_OPTIONS", "").split()])
    except (psutil.Error, OSError):
        return False


def opens_inspector(words: Iterable[str]) -> bool:
    """Whether one of these options of Node opens the inspector at the start. Pure."""
    return any(_OPENS.fullmatch(word) for word in words)


def _wait_for_port(target: Identity, before: set[int], within_s: float) -> int | None:
    """The port of the inspector that opens now; None if none opens. Raises `ProfileError` if the process has ended."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        for port in _ports(target.pid) - before:
            if _path(port):
                return port
        if not is_alive(target):
            raise ProfileError("its process has ended")
        time.sleep(POLL_S)
    return None


def _path(port: int, timeout_s: float = OPEN_S) -> str:
    """The path of the inspector's socket; empty if something else listens at this port."""
    try:
        page = orjson.loads(get(port, "/json/list", timeout_s))
        return urlsplit(str(page[0]["webSocketDebuggerUrl"])).path
    except (WebSocketError, orjson.JSONDecodeError, LookupError, TypeError):
        return ""


class _Session:
    """A session with an inspector."""

    def __init__(self, port: int) -> None:
        self._socket = WebSocket(port, _path(port), OPEN_S)
        self._number = 0

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, method: str, *, within_s: float = OPEN_S, **params: Any) -> dict[str, Any]:
        """Sends a request; returns the result. Raises `WebSocketError`, also if the inspector refuses."""
        self._number += 1
        self._socket.extend(time.monotonic() + within_s)
        self._socket.send(orjson.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            try:
                message = orjson.loads(self._socket.receive())
            except orjson.JSONDecodeError:
                raise WebSocketError("a message is no JSON") from None
            if isinstance(message, dict) and message.get("id") == self._number:
                if "result" not in message:
                    raise WebSocketError(f"{method} fails: {message.get('error')}")
                return dict(message["result"])


def _close(target: Identity, port: int | None) -> str:
    """Closes the inspector, if there is one. Returns a warning if it stays open, else ""."""
    if port is None:
        return ""
    try:
        with _Session(port) as session:
            session.ask("Runtime.evaluate", within_s=CLOSE_S, expression=CLOSE, includeCommandLineAPI=True)
    except WebSocketError:
        pass  # the answer mostly comes no longer: with the inspector the connection is closed
    deadline = time.monotonic() + CLOSE_S
    while time.monotonic() < deadline:
        if not is_alive(target) or port not in _ports(target.pid):
            return ""
        time.sleep(POLL_S)
    return f"the inspector of pid {target.pid} stays open at 127.0.0.1:{port}; restart the extension to close it"
