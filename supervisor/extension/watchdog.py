"""Asks a worker from time to time whether it is still there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.extension.lifecycle import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.extension.worker import Worker
    from supervisor.loop.loop import Loop


class Heartbeat:
    """Sends a ping every `interval_s`, from now on and as long as the worker is ready. One that has not been answered
    when the next is due is reported to `on_stall`, once."""

    def __init__(self, loop: Loop, worker: Worker, interval_s: float, on_stall: Callable[[Worker, str], None]) -> None:
        self._loop = loop
        self._worker = worker
        self._interval_s = interval_s
        self._on_stall = on_stall
        self._sent = 0
        self._answered = 0
        worker.on_pong = self._on_pong
        self._ping()

    def _ping(self) -> None:
        if self._worker.state is not State.READY:
            return
        if self._answered != self._sent:
            self._on_stall(self._worker, f"no pong within {self._interval_s:g} s of a ping")
            return
        self._sent += 1
        self._worker.ping(f"ping-{self._sent}")
        self._loop.call_later(self._interval_s, self._ping)

    def _on_pong(self, ping_id: str) -> None:
        if ping_id == f"ping-{self._sent}":
            self._answered = self._sent
