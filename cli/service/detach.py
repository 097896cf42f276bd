"""`zot host -d`: the host goes on in a child in a session of its own, and this process waits until it is ready.

The child tells that with sd_notify, as it tells a service manager.
"""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from cli.os_errors import UnableError, flush
from cli.terminal import complain, say
from supervisor.home import runtime_dir
from supervisor.home.zot_home import private_folder
from supervisor.loop.loop import stop_signals
from supervisor.service.notify_socket import SOCKET, WATCHDOG_PID, WATCHDOG_USEC
from supervisor.service.service_link import READY_WITHIN_S
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_S = READY_WITHIN_S + 30.0
"""Maximum of seconds until the host is ready. A host that serves says so after `READY_WITHIN_S` at the latest."""
STOP_S = 15.0
"""Maximum of seconds from SIGTERM to SIGKILL, for a host that is not to go on."""
POLL_S = 0.05
"""Seconds between two looks whether the child has ended."""
DATAGRAM = 64 * 1024
LINES_SHOWN = 20
TAIL = 16 * 1024
"""Bytes at the end of the log in which these lines are looked for."""
LOGS_KEPT = 10
"""Maximum number of logs of hosts that have ended."""
LOG = re.compile(r"host-(\d{1,10})\.log")


class Waited(NamedTuple):
    """The end of a wait for a host."""

    status: int | None
    """The exit status of the host, negative for a signal; None if it is ready."""
    told: dict[str, str]
    """The values that it has sent."""
    signals: int
    """Number of signals that asked this process to end."""


def detach(home: Path) -> int | None:
    """Returns None in the child, which is the host. Returns the exit status in the parent: 0 when the host is ready;
    130 after a signal, which stops the host; the status of a host that ends before. Raises `UnableError`, `OSError`."""
    path, listener = _listen(runtime_dir.runtime_dir(home))
    flush()
    sys.stderr.flush()
    numbers = stop_signals()
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)  # until the parent handles them: none may leave the child alone
    if not (child := os.fork()):
        listener.close()
        os.environ[SOCKET] = str(path)
        for name in (WATCHDOG_USEC, WATCHDOG_PID):
            os.environ.pop(name, None)
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        _write_to_log(_log_of(home, os.getpid()))
        return None
    try:
        with _signals(numbers) as signals:
            waited = _wait(listener, child, signals)
    finally:
        listener.close()
        path.unlink(missing_ok=True)
    return _report(waited, child, _log_of(home, child))


def _listen(folder: Path) -> tuple[Path, socket.socket]:
    """A socket for datagrams, in the folder that only its user can enter."""
    runtime_dir.prepare(folder)
    path = runtime_dir.temporary_path(folder, os.getpid())  # swept by the next host if this process is killed
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        hint = "set XDG_RUNTIME_DIR or ZOT_HOME to a shorter one"
        raise UnableError(f"-d cannot listen on {path}: {error.strerror or error}; {hint}") from None
    return path, listener


def _log_of(home: Path, pid: int) -> Path:
    return home / "logs" / f"host-{pid}.log"


def _write_to_log(path: Path) -> None:
    """Points the standard streams to the log, which is empty then, and removes the oldest logs of ended hosts."""
    private_folder(path.parent)
    _remove_old_logs(path.parent)
    path.unlink(missing_ok=True)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    for source, fd in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, fd)
    os.close(log)
    os.close(null)


def _remove_old_logs(folder: Path) -> None:
    """One that cannot be removed stays: another start may remove it now, or it is no file."""
    found: list[tuple[float, str]] = []
    for entry in os.scandir(folder):
        if (named := LOG.fullmatch(entry.name)) is not None and not runtime_dir.is_alive(int(named[1])):
            with suppress(OSError):
                found.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    for _, path in sorted(found)[: -LOGS_KEPT or None]:
        with suppress(OSError):
            os.unlink(path)


@contextmanager
def _signals(numbers: list[signal.Signals]) -> Iterator[list[int]]:
    """Collects these signals, which are blocked before."""
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _frame: came.append(number)) for number in numbers}
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(listener: socket.socket, child: int, signals: list[int]) -> Waited:
    """Waits until the host is ready or has ended. A signal, and the end of `START_S`, stop it; a second signal stops it
    at once."""
    told: dict[str, str] = {}
    stops = 0
    give_up, kill = time.monotonic() + START_S, float("inf")
    while True:
        if select.select([listener], [], [], POLL_S)[0]:
            text = listener.recv(DATAGRAM).decode("utf-8", "replace")
            told |= dict(line.partition("=")[::2] for line in text.split("\n"))
        if "READY" in told and not signals and not stops:
            return Waited(None, told, 0)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return Waited(os.waitstatus_to_exitcode(status), told, len(signals))
        now = time.monotonic()
        if stops < min(2, len(signals) or now > give_up):
            stops += 1
            kill = now + STOP_S
            os.kill(child, signal.SIGTERM)
        elif now > kill:
            os.kill(child, signal.SIGKILL)


def _report(waited: Waited, pid: int, log: Path) -> int:
    if waited.status is None:
        state = waited.told.get("STATUS", "ready")
        print(f"zot host {pid} runs: {state}; log {log}; to stop: zot stop {pid}")  # noqa: T201
        return 0
    if waited.signals:
        complain("host", f"interrupted; the host was stopped before it was ready; log {log}")
        return Status.INTERRUPTED.exit_code
    for line in _last_lines(log):
        say(line)
    status = waited.status
    how = f"ended with status {status}" if status >= 0 else f"was killed by signal {-status}"
    complain("host", f"the host {how} before it was ready; log {log}")
    return status if status > 0 else Status.ERROR.exit_code


def _last_lines(log: Path) -> list[str]:
    """The last lines that the host wrote; none if it had no log yet."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            return file.read().decode("utf-8", "replace").splitlines()[-LINES_SHOWN:]
    except OSError:
        return []
