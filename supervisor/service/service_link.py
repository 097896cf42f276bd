"""Tells a service manager of a host: it is ready, how many of its extensions are, it reloads, it stops. Gives the signs
of life that the manager asks for, from the host's loop."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING

from supervisor.extension.lifecycle import WorkerState
from supervisor.service.notify_socket import NotifyAddress, NotifySocket
from wire.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping, Sequence

    from supervisor.extension.extension import Extension
    from supervisor.loop.loop import Loop, Timer

READY_WITHIN_S = 60.0
"""Maximum of seconds from the start to `READY`: a host with an extension that hangs at its start serves the others."""
LOOK_S = 0.1
"""Seconds from a change to the look at all extensions, so that many changes make one line."""
STATUS_LENGTH = 300
FALLEN = frozenset({WorkerState.BACKOFF, WorkerState.FAILED, WorkerState.EXITED})
USABLE = frozenset({WorkerState.READY, WorkerState.ASLEEP, WorkerState.WAKING})


class ServicePhase(Enum):
    UNMANAGED = "unmanaged"
    """There is no manager, or the host has not begun to serve."""
    STARTING = "starting"
    READY = "ready"
    RELOADING = "reloading"
    STOPPING = "stopping"


def status_line(states: Sequence[tuple[str, WorkerState]]) -> str:
    """One line for a person: how many extensions are usable, and the names of those that are down."""
    if not states:
        return "no extensions"
    usable = sum(state in USABLE for _, state in states)
    down = [f"{name} ({state.value})" for name, state in states if state in FALLEN]
    stopped = [name for name, state in states if state is WorkerState.STOPPED]
    text = f"{usable} of {counted(len(states), 'extension')} ready" + (f"; down: {', '.join(down)}" if down else "")
    text += f"; stopped by a user: {', '.join(stopped)}" if stopped else ""
    return one_line(text, STATUS_LENGTH)


class ServiceLink:
    """Of one host. Removes the variables of sd_notify from `environ`; without them all methods do nothing. `say` gets a
    line for the user if the manager cannot be told."""

    def __init__(
        self,
        loop: Loop,
        extensions: Sequence[Extension],
        say: Callable[[str], None],
        environ: MutableMapping[str, str],
        pid: int | None = None,
    ) -> None:
        address = NotifyAddress.take(environ, pid or os.getpid())
        self.phase = ServicePhase.UNMANAGED
        self._loop = loop
        self._extensions = extensions
        self._socket = NotifySocket(loop, address.socket, say) if address.socket else None
        self._ping_s = address.ping_s
        self._status = ""
        self._reloads = 0
        self._look_timer: Timer | None = None

    def begin(self) -> None:
        """The host serves and starts its extensions. `READY` follows in a later pass of the loop, when each of them is
        ready or has failed, or after `READY_WITHIN_S`."""
        if self._socket is None:
            return
        self.phase = ServicePhase.STARTING
        self._loop.call_later(READY_WITHIN_S, self._become_ready)
        self._loop.call_later(0, self._look)
        self._socket.ping_every(self._ping_s)

    def changed(self) -> None:
        """The state of an extension may have changed."""
        if self._is_followed and self._look_timer is None:
            self._look_timer = self._loop.call_later(LOOK_S, self._look)

    def reload_began(self) -> None:
        """All extensions are being reloaded, as the manager may have asked. Each call has one of `reload_ended`."""
        self._reloads += 1
        if self._socket is not None and self.phase is ServicePhase.READY:
            self.phase = ServicePhase.RELOADING
            # The manager compares the time, which is that of CLOCK_MONOTONIC, with the moment of its request.
            self._socket.send({"RELOADING": "1", "MONOTONIC_USEC": str(int(self._loop.clock() * 1_000_000))})

    def reload_ended(self) -> None:
        self._reloads -= 1
        if self._socket is not None and self.phase is ServicePhase.RELOADING and not self._reloads:
            self.phase = ServicePhase.READY
            self._socket.send({"READY": "1", **self._new_status()})

    def stopping(self) -> None:
        """The host stops its extensions. Signs of life go on until it has ended."""
        if self._socket is not None and self.phase is not ServicePhase.UNMANAGED:
            self.phase = ServicePhase.STOPPING
            self._socket.send({"STOPPING": "1", "STATUS": "stopping"})

    @property
    def _is_followed(self) -> bool:
        return self.phase in (ServicePhase.STARTING, ServicePhase.READY, ServicePhase.RELOADING)

    def _look(self) -> None:
        self._look_timer = None
        if self.phase is ServicePhase.STARTING and all(each.is_settled for each in self._extensions):
            self._become_ready()
        elif self._socket is not None and self._is_followed and (new := self._new_status()):
            self._socket.send(new)

    def _become_ready(self) -> None:
        if self._socket is not None and self.phase is ServicePhase.STARTING:
            self.phase = ServicePhase.READY
            self._socket.send({"READY": "1", **self._new_status()})

    def _new_status(self) -> dict[str, str]:
        """The status, if it is another one than the manager was told last."""
        line = status_line([(each.name, each.state) for each in self._extensions])
        if line == self._status:
            return {}
        self._status = line
        return {"STATUS": line}
