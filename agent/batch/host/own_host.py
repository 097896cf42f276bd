"""The batch's end of its host: starts it, hears when runs may attach, and restarts it when it has died."""

from __future__ import annotations

import signal
import sys
from enum import Enum
from pathlib import Path
from random import random
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.extension.restart import EndCause, GiveUp, PastExits, RestartIn, WorkerEnding, decide
from supervisor.process.child import Child, ExitStatus, SpawnError
from supervisor.process.exit_cause import StderrTail
from wire.batch.host_lines import HostOrder, Serving, decode_from_host, encode
from wire.framing import DEFAULT_FRAME_LIMIT, LineSplitter, Oversize
from wire.manifest import Restart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent.batch.log import BatchLog
    from supervisor.loop.loop import Loop, Timer

PROGRAM = Path(__file__).with_name("host_main.py")
READY_S = 60.0
"""Maximum of seconds from its start until it serves. One that takes longer is stuck and is killed."""
RESTART = Restart(policy="permanent", backoff_s=(0.1, 5.0))
ALONE = "from now on each run starts its own extensions"


class HostState(Enum):
    NONE = "none"
    """No extension is shared, or the host is not started yet."""
    STARTING = "starting"
    """It starts, or will start after a wait. New runs wait for it."""
    SERVING = "serving"
    GIVEN_UP = "given up"
    STOPPING = "stopping"


class OwnHost:
    """The host of one batch, from `start` to the teardown of the batch, whose `Stoppable` it is. `on_serving` gets its
    first line `serving`; `say` gets lines for the user."""

    def __init__(
        self,
        loop: Loop,
        order: HostOrder,
        *,
        env: Mapping[str, str],
        cwd: str,
        log: BatchLog,
        say: Callable[[str], None],
        on_started: Callable[[Child], None],
        on_serving: Callable[[Serving], None],
    ) -> None:
        """`on_started` gets each process of it."""
        self.state = HostState.NONE
        self.child: Child | None = None
        self.socket = ""
        """The path of its attach socket while it serves; else empty."""
        self._loop = loop
        self._order = order
        self._env = env
        self._cwd = cwd
        self._log = log
        self._say = say
        self._on_started = on_started
        self._on_serving = on_serving
        self._has_served = False
        self._began = 0.0
        self._past = PastExits()
        self._splitter = LineSplitter(DEFAULT_FRAME_LIMIT)
        self._last_words = StderrTail()
        self._last_fault = ""
        self._timer: Timer | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether new runs wait for it."""
        return self.state is HostState.STARTING

    def start(self) -> None:
        """Starts the process."""
        self.state, self._began = HostState.STARTING, self._loop.clock()
        self._splitter, self._last_words, self._last_fault = LineSplitter(DEFAULT_FRAME_LIMIT), StderrTail(), ""
        try:
            self.child = Child(
                self._loop, [sys.executable, "-P", str(PROGRAM)], cwd=self._cwd, env=self._env,
                on_stdout=self._on_stdout, on_stderr=self._last_words.write, on_exit=self._on_exit,
            )  # fmt: skip
        except SpawnError as error:
            self.child = None
            self._ended(str(error), EndCause.EXIT if error.may_pass else EndCause.UNSTARTABLE, None)
            return
        self._on_started(self.child)
        self.child.send(encode(self._order))
        self._timer = self._loop.call_later(READY_S, self._kill)

    def _kill(self) -> None:
        self._last_fault = f"it did not serve within {READY_S:.0f} s"
        if self.child is not None:
            self.child.kill_group(signal.SIGKILL)

    # --- from the host ----------------------------------------------------------------------------------------

    def _on_stdout(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            try:
                told = None if isinstance(line, Oversize) else decode_from_host(bytes(line))
            except msgspec.DecodeError:
                told = None
            if told is None:
                self._log.warning("host", message="a line that cannot be read")
            elif isinstance(told, Serving):
                self._serves(told)
            else:
                fields: dict[str, Any] = {"extension": told.extension} if told.extension else {}
                if told.level == "error":
                    self._last_fault = told.message
                log = {"error": self._log.error, "warning": self._log.warning}.get(told.level, self._log.info)
                log("host", what=told.event, message=told.message, **fields)

    def _serves(self, line: Serving) -> None:
        self._stop_waiting()
        if self.state is not HostState.STARTING:
            return
        self.state = HostState.SERVING if line.is_useful else HostState.NONE
        self.socket = line.socket if line.is_useful else ""
        names = ", ".join((*line.shared, *line.leased))
        self._log.info("host", what="serving", message=names or "no extension is shared")
        if not self._has_served:
            self._on_serving(line)
        self._has_served = True

    # --- its end ----------------------------------------------------------------------------------------------

    def _on_exit(self, status: ExitStatus) -> None:
        said = self._last_fault or self._last_words.last_line()
        self._ended(f"{status}{': ' if said else ''}{said}", EndCause.EXIT, status.code)

    def _ended(self, why: str, cause: EndCause, code: int | None) -> None:
        self._stop_waiting()
        self.socket = ""
        if self.state in (HostState.STOPPING, HostState.NONE):
            return
        was_ready, now = self.state is HostState.SERVING, self._loop.clock()
        self._log.warning("host", what="ended", message=why)
        ending = WorkerEnding(cause, code, now - self._began, was_ready)
        decision, self._past = decide(RESTART, self._past, ending, now=now, dice=random())  # noqa: S311
        if isinstance(decision, RestartIn):
            if was_ready:
                self._say(f"the host of the shared extensions has died ({why}); a new one starts")
            self.state = HostState.STARTING
            self._timer = self._loop.call_later(decision.delay_s, self.start)
            return
        self.state = HostState.GIVEN_UP
        times = f" {decision.exits} times" if isinstance(decision, GiveUp) else ""
        self._say(f"the host of the shared extensions has ended{times} ({why}); {ALONE}")

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # --- for a teardown ---------------------------------------------------------------------------------------

    def ask_to_stop(self) -> None:
        """Closes the host's input, at whose end it stops its extensions and itself."""
        self.hint_to_stop()

    def hint_to_stop(self) -> None:
        if self.child is not None and self.child.stdin is not None:
            self.child.stdin.close()

    def retire(self) -> None:
        """No other process of it is started. Call it before the teardown."""
        self.state, self.socket = HostState.STOPPING, ""
        self._stop_waiting()
