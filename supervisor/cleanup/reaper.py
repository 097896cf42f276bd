"""The watchdog process against SIGKILL of the host: a small program on a pipe that only the host holds.

It costs a process of about 8 MB, mostly shared with the host, and 10 ms of a core at the start. It is in a session of
its own, blocks the signals by which programs are asked to end, and ends with the host.
"""

from __future__ import annotations

import os
import signal
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.process.child import Child, ExitStatus, SpawnError

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop
    from supervisor.process.table import Identity

PROGRAM = Path(__file__).with_name("reaper_main.py")
BLOCKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What the interpreter may need. Not the rest: a host that is itself an extension has its host's token there."""
DISMISS_S = 1.0
STARTS = 2
OUTBOX = 1024 * 1024


class State(Enum):
    IDLE = "idle"
    WATCHING = "watching"
    DISMISSED = "dismissed"
    LOST = "lost"
    """It could not be started, or ended twice: the next host's start cleans up instead."""


class Reaper:
    """Tells the watchdog what was started. Nothing here waits but `dismiss`, and nothing raises: what goes wrong is in
    `error`, and said once to `on_error`."""

    def __init__(
        self,
        loop: Loop,
        token: str,
        *,
        record: Path | None = None,
        cgroup: Path | None = None,
        on_error: Callable[[str], None] | None = None,
    ) -> None:
        """`record` is the file that it removes once nothing is left; `cgroup` the host's own, whose leaves it ends."""
        self.state = State.IDLE
        self.error = ""
        self._loop = loop
        self._token = token
        self._record = record
        self._cgroup = cgroup
        self._on_error = on_error
        self._child: Child | None = None
        self._starts = 0
        self._noted: dict[Identity, bytes] = {}
        self._said = b""

    @property
    def pid(self) -> int | None:
        """Of the process while it runs."""
        return self._child.pid if self._child is not None and self._child.is_running else None

    def start(self) -> None:
        """Starts it, once; before the first child of the host, so that none is missed."""
        if self.state is State.IDLE:
            self._launch()

    def note(self, identity: Identity, *, is_child: bool = True) -> None:
        """End it if the host is killed: a child of the host in a session of its own, with all in that session; or,
        with `is_child=False`, a process that its parents have left, such as a daemon, with all below it."""
        line = _line("child" if is_child else "other", identity)
        if self._noted.get(identity) != line:
            self._noted[identity] = line
            self._tell(line)

    def forget(self, identity: Identity) -> None:
        """It is gone. For a child: at once when it has been waited for, since its number may then go to another."""
        if self._noted.pop(identity, None) is not None:
            self._tell(_line("forget", identity))

    def dismiss(self) -> None:
        """The host ends in order, and nothing is left: ends the watchdog, and waits until it has gone, which takes less
        than a millisecond. It is not asked, since in a short run it may not even be up yet."""
        self.state = State.DISMISSED
        child = self._child
        if child is not None:
            child.kill_group(signal.SIGKILL)
            self._loop.run_until(lambda: not child.is_running, self._loop.clock() + DISMISS_S)

    def _launch(self) -> None:
        self._starts += 1
        self._said = b""
        argv = [sys.executable, "-I", "-S", str(PROGRAM), str(os.getpid()), str(self._record or "")]
        env = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        # A blocked signal stays blocked over exec: there is no moment in which it could hit the watchdog.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
        try:
            self._child = Child(
                self._loop,
                argv,
                cwd="/",
                env=env,
                on_stdout=self._heard,
                on_exit=self._exited,
                outbox_limit=OUTBOX,
            )
        except SpawnError as error:
            self._lose(str(error))
            return
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.state = State.WATCHING
        lines = [b"token " + self._token.encode() + b"\n"]
        if self._cgroup is not None and b"\n" not in os.fsencode(self._cgroup):
            lines.append(b"cgroup " + os.fsencode(self._cgroup) + b"\n")
        self._tell(b"".join([*lines, *self._noted.values()]))

    def _tell(self, data: bytes) -> None:
        if self.state is State.WATCHING and self._child is not None and self._child.is_running:
            taken = self._child.send(data)
            if not taken and self._child.stdin is not None and self._child.stdin.is_open:
                self._lose("it does not read what it is told")

    def _heard(self, data: bytes) -> None:
        self._said = (self._said + data)[-4096:]

    def _exited(self, status: ExitStatus) -> None:
        if self.state is not State.WATCHING:
            return
        if self._starts < STARTS:
            self._launch()
            return
        words = self._said.decode("utf-8", "replace").strip().splitlines()
        self._lose(f"it ended twice, last with {status}" + (f": {words[-1]}" if words else ""))

    def _lose(self, reason: str) -> None:
        self.state = State.LOST
        self.error = (
            f"no watchdog: {reason}; if this host is killed, what its extensions left is ended at the next start of zot"
        )
        if self._on_error is not None:
            self._on_error(self.error)
        if self._child is not None:
            self._child.kill_group(signal.SIGKILL)


def _line(word: str, identity: Identity) -> bytes:
    return f"{word} {identity.pid} {identity.started!r}\n".encode()
