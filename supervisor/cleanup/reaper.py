"""Starts the reaper: a small process that cleans up if the host is killed. Only the host holds the pipe to its input.

The reaper takes about 8 MB, mostly shared with the host, and 10 ms of CPU time at the start. It runs in a session of
its own, blocks the signals that ask programs to end, and ends with the host.
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
"""Variables that the interpreter may need. The reaper gets no others: if the host is itself an extension, they include
the token of its own host."""
DISMISS_S = 1.0
STARTS = 2
OUTBOX = 1024 * 1024
"""Maximum of unsent bytes to the reaper."""


class ReaperState(Enum):
    IDLE = "idle"
    WATCHING = "watching"
    DISMISSED = "dismissed"
    LOST = "lost"
    """The reaper could not be started, or ended twice. The next host cleans up at its start instead."""


class Reaper:
    """Tells the reaper process which processes were started. Only `collect` waits. Nothing raises: a failure is in
    `error`, and `on_error` gets it once."""

    def __init__(
        self,
        loop: Loop,
        token: str,
        *,
        record: Path | None = None,
        cgroup: Path | None = None,
        on_error: Callable[[str], None] | None = None,
    ) -> None:
        """`record` is the file that the reaper removes when no process is left. `cgroup` is the host's own cgroup; the
        reaper kills its leaves."""
        self.state = ReaperState.IDLE
        self.error = ""
        self._loop = loop
        self._token = token
        self._record = record
        self._cgroup = cgroup
        self._on_error = on_error
        self._child: Child | None = None
        self._starts = 0
        self._known: dict[Identity, bytes] = {}
        self._output = b""

    @property
    def pid(self) -> int | None:
        """The pid of the reaper while it runs."""
        return self._child.pid if self._child is not None and self._child.is_running else None

    def start(self) -> None:
        """Starts the reaper, once, in 0.4 ms. Call it before the host starts children, so that no child is missed: the
        reaper comes up beside them, and what it is told meanwhile waits in its pipe, even if the host is killed."""
        if self.state is ReaperState.IDLE:
            self._launch()

    def add(self, identity: Identity, *, is_child: bool = True) -> None:
        """Makes the reaper end this process if the host is killed. A child of the host is ended with all members of the
        session that it leads. With `is_child=False` the process is an orphan, such as a daemon: it is ended with all
        its descendants."""
        line = _line("child" if is_child else "other", identity)
        if self._known.get(identity) != line:
            self._known[identity] = line
            self._tell(line)

    def forget(self, identity: Identity) -> None:
        """Tells the reaper that the process is gone. Call it right after a child was waited for: from then on its pid
        may be reused."""
        if self._known.pop(identity, None) is not None:
            self._tell(_line("forget", identity))

    def dismiss(self) -> None:
        """Kills the reaper. Call it at the orderly end of the host, when no process is left. The reaper is not asked to
        end: in a short run it may not have come up yet."""
        self.state = ReaperState.DISMISSED
        if self._child is not None:
            self._child.kill_group(signal.SIGKILL)

    def collect(self) -> None:
        """Waits until the dismissed reaper is gone. It takes the kernel less than 1 ms to end it, so call this last."""
        self._loop.run_until(lambda: self.pid is None, self._loop.clock() + DISMISS_S)

    def _launch(self) -> None:
        self._starts += 1
        self._output = b""
        argv = [sys.executable, "-I", "-S", str(PROGRAM), str(os.getpid()), str(self._record or "")]
        env = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        # Blocked signals stay blocked across exec: the reaper is never without this protection.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
        try:
            self._child = Child(
                self._loop,
                argv,
                cwd="/",
                env=env,
                on_stdout=self._on_output,
                on_exit=self._on_exit,
                outbox_limit=OUTBOX,
            )
        except SpawnError as error:
            self._lose(str(error))
            return
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.state = ReaperState.WATCHING
        lines = [b"token " + self._token.encode() + b"\n"]
        if self._cgroup is not None and b"\n" not in os.fsencode(self._cgroup):
            lines.append(b"cgroup " + os.fsencode(self._cgroup) + b"\n")
        self._tell(b"".join([*lines, *self._known.values()]))

    def _tell(self, data: bytes) -> None:
        if self.state is ReaperState.WATCHING and self._child is not None and self._child.is_running:
            taken = self._child.send(data)
            if not taken and self._child.stdin is not None and self._child.stdin.is_open:
                self._lose("it does not read what it is told")

    def _on_output(self, data: bytes) -> None:
        self._output = (self._output + data)[-4096:]

    def _on_exit(self, status: ExitStatus) -> None:
        if self.state is not ReaperState.WATCHING:
            return
        if self._starts < STARTS:
            self._launch()
            return
        lines = self._output.decode("utf-8", "replace").strip().splitlines()
        self._lose(f"it ended twice, last with {status}" + (f": {lines[-1]}" if lines else ""))

    def _lose(self, reason: str) -> None:
        self.state = ReaperState.LOST
        self.error = f"no reaper: {reason}; if this host is killed, the next start of zot kills leftover processes"
        if self._on_error is not None:
            self._on_error(self.error)
        if self._child is not None:
            self._child.kill_group(signal.SIGKILL)


def _line(word: str, identity: Identity) -> bytes:
    return f"{word} {identity.pid} {identity.started!r}\n".encode()
