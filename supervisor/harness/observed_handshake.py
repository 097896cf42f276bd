"""Shakes hands with a recorded process. The rules are those of a run, in `supervisor.extension.handshake`."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from supervisor.extension.handshake import MUTE, NO_NAME, Readiness, no_hello, not_hello, readiness
from supervisor.harness.messages import hello_ack
from supervisor.process.child import EXIT_FOLLOWS_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.harness.matching import ScriptPaths
    from supervisor.harness.recorded_process import RecordedProcess
    from supervisor.loop.loop import Loop, Timer


class HandshakePhase(Enum):
    """How far the handshake is. The values are shown to users."""

    WAITING = "waiting for its hello"
    GREETED = "greeted"
    READY = "ready"
    SILENT = "taken as ready"
    """The extension never sent `ready`: it was silent after its hello, or the deadline passed."""
    FAILED = "failed"

    @property
    def is_over(self) -> bool:
        return self in (HandshakePhase.READY, HandshakePhase.SILENT, HandshakePhase.FAILED)


class ObservedHandshake:
    """Reads the recorded lines of a process. Call `look` until it returns True."""

    def __init__(self, loop: Loop, process: RecordedProcess, places: ScriptPaths) -> None:
        self.phase = HandshakePhase.WAITING
        self.failure = ""
        self.hello_at: float | None = None
        self.ready_at: float | None = None
        self._loop = loop
        self._process = process
        self._places = places
        self._taken = 0
        self._timer: Timer | None = None
        self._has_seen_mute = False
        timeouts = process.found.manifest.timeouts
        self._ready_s = timeouts.ready
        hello_s = timeouts.hello or process.found.default_hello_s
        self._after(hello_s, lambda: self._fail(no_hello(hello_s)))

    def look(self) -> bool:
        """Reads the lines since the last call. Returns whether the handshake is over."""
        while not self.phase.is_over and self._taken < len(self._process.heard):
            frame = self._process.heard[self._taken].frame
            self._taken += 1
            if frame is not None and "type" in frame:
                self._hear(str(frame["type"]), frame.get("name"), self._process.heard[self._taken - 1].fault)
        if not self.phase.is_over and not self._process.is_running:
            early = "before its hello " if self.phase is HandshakePhase.WAITING else ""
            self._fail(f"it exited {early}({self._process.exit})")
        elif not self.phase.is_over and self._process.is_mute and not self._has_seen_mute:
            self._has_seen_mute = True
            self._after(EXIT_FOLLOWS_S, lambda: self._fail(MUTE))
        return self.phase.is_over

    def _hear(self, kind: str, name: object, fault: str) -> None:
        now = self._loop.clock()
        if self.phase is HandshakePhase.WAITING:
            if kind != "hello":
                self._fail(not_hello(kind[:80]))
            elif fault or not name:
                self._fail(fault or NO_NAME)
            else:
                self.hello_at = now
                self.phase = HandshakePhase.GREETED
                self._process.say(hello_ack(self._places))
                self._await_ready(now + self._ready_s)
        elif kind == "ready":
            self._settle(HandshakePhase.READY)

    def _await_ready(self, latest: float) -> None:
        self.look()
        if self.phase is not HandshakePhase.GREETED:
            return
        now = self._loop.clock()
        assert self.hello_at is not None
        found, again_at = readiness(now, last_frame=max(self._process.last_heard_at, self.hello_at), latest=latest)
        if found is Readiness.NOT_YET:
            self._after(again_at - now, lambda: self._await_ready(latest))
        else:
            self._settle(HandshakePhase.SILENT)

    def _settle(self, phase: HandshakePhase) -> None:
        self.ready_at = self._loop.clock()
        self._over(phase)

    def _fail(self, reason: str) -> None:
        self.failure = reason
        self._over(HandshakePhase.FAILED)

    def _over(self, phase: HandshakePhase) -> None:
        self.phase = phase
        self._cancel()

    def _after(self, seconds: float, callback: Callable[[], None]) -> None:
        self._cancel()
        self._timer = self._loop.call_later(seconds, callback)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def taken(self) -> int:
        """How many of the lines of `heard` belong to the handshake."""
        return self._taken
