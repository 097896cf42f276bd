"""One node program of a Ray cluster, as the process for Ray has it: its actor, and two threads.

One thread sends the actor what the driver has sent, the other waits for output. Each call waits for the one before it,
so bytes stay in order and Ray holds little of them.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from agent.batch.cluster.ray import node_actor
from agent.batch.cluster.ray.envelope import Data, NodeCannot, NodeGone, NodeUp
from agent.batch.cluster.ray.reasons import explain_loss, short, version_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.cluster.ray.envelope import Connect, FromRay

QUEUE_LIMIT = 256 * 1024 * 1024
"""Maximum of bytes that wait for one node, beside those of one frame."""
START_S = 60.0
"""Seconds for each step of the start: the process of the actor, the node program, 64 KiB of an uploaded folder."""
AHEAD = 16
"""Pieces of an uploaded folder on their way to a node at once."""
CLOSE_S = 10.0
"""Seconds for a node program to end after its input."""
AGAIN_S = 5.0
"""Seconds from the death of a node program until another one is started there, if its machine still lives."""
STARTS = 10
"""Maximum of node programs that are started on one machine."""


class CarriedNode:
    """One node program. `start` starts both threads."""

    def __init__(
        self,
        tell: Callable[[FromRay], None],
        ray: Any,
        connect: Connect,
        archive: int,
        facts: dict[str, Any],
        number: int,
    ) -> None:
        """`tell` gets frames for the driver. `archive` is a descriptor, -1 without an uploaded folder. `facts` are an
        entry of `ray.nodes()`. `number` counts the node programs of the machine, from 1."""
        self.id: str = facts["NodeID"]
        self.address: str = facts["NodeManagerAddress"]
        self.host: str = facts["NodeManagerHostname"] or self.address
        self.name = f"{self.host}-{self.id[:8]}" + (f"-{number}" if number > 1 else "")
        self.number = number
        self._again_at = math.inf
        self.settled = threading.Event()
        """Set once it has started or cannot."""
        self.over = threading.Event()
        self._tell = tell
        self._ray = ray
        self._connect = connect
        self._archive = archive
        self._actor: Any = None
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._is_closing = False
        self._changed = threading.Condition()
        self._lock = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._serve, daemon=True).start()

    # --- what the driver says ---------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        with self._changed:
            if self._queued and self._queued + len(data) > QUEUE_LIMIT:
                waiting = self._queued // 2**20
            else:
                self._queue.append(data)
                self._queued += len(data)
                self._changed.notify()
                return
        self.lose(f"its node program does not read: {waiting} MiB wait for it")

    def close(self) -> None:
        """The node program gets the end of its input, and is killed if it does not end."""
        with self._changed:
            if self._is_closing:
                return
            self._is_closing = True
            self._changed.notify()
        timer = threading.Timer(CLOSE_S, self.lose, [f"it did not end within {CLOSE_S:.0f} s, and was killed"])
        timer.daemon = True
        timer.start()

    @property
    def is_to_start_again(self) -> bool:
        """Whether another node program is to be started on its machine, which has not left the cluster."""
        return self.number < STARTS and time.monotonic() >= self._again_at

    def lose(self, reason: str, *, has_died: bool = False) -> None:
        """Tells its end, once, and has Ray kill what may be left of it. `has_died`: nobody has ended it."""
        with self._lock:
            if self.over.is_set():
                return
            self.over.set()
            was_up = self.settled.is_set()
            if has_died and was_up and not self._is_closing:
                self._again_at = time.monotonic() + AGAIN_S
            about = {"node": self.name, "reason": reason}
            self._tell(NodeGone(**about) if was_up else NodeCannot(address=self.address, **about))
        self.settled.set()
        with self._changed:
            self._queue.clear()
            self._changed.notify()
        if self._actor is not None:
            try:
                self._ray.kill(self._actor)
            except Exception:  # noqa: S110  (it is gone already, or the cluster is)
                pass

    def beat(self) -> None:
        """Tells the actor that the driver is there. Without it, it ends the node program."""
        if self.settled.is_set() and not self.over.is_set():
            try:
                self._actor.beat.remote()
            except Exception:  # noqa: S110  (its loss is told by the calls that wait)
                pass

    # --- its threads ------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            if refusal := self._begin():
                self.lose(refusal)
                return
            with self._lock:
                if self.over.is_set():
                    return
                self._tell(NodeUp(node=self.name, address=self.address))
                self.settled.set()
            threading.Thread(target=self._send, daemon=True).start()
            while data := _await(self._actor.receive.remote()):
                with self._lock:
                    if self.over.is_set():
                        return
                    self._tell(Data(node=self.name, data=data))
            code, said = _await(self._actor.ended.remote())
            how = f"exit {code}" if code >= 0 else f"signal {-code}"
            lines = [line for line in said.splitlines() if line.strip()]
            last = f": {short(lines[-1])}" if lines else ""
            self.lose(f"its node program has ended ({how}){last}", has_died=code != 0)
        except Exception as error:
            self.lose(explain_loss(error, self.host), has_died=True)

    def _begin(self) -> str:
        """Starts the actor and the node program, and sends it the uploaded folder. Returns a refusal, or nothing."""
        connect, uploads = self._connect, self._archive >= 0
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(self.id, soft=False)
        remote = self._ray.remote(
            num_cpus=0,
            max_restarts=0,
            max_task_retries=0,
            concurrency_groups={"out": 1, "beat": 1},
            scheduling_strategy=affinity,
        )
        try:
            self._actor = remote(node_actor.NodeActor).remote()
            there = _await(self._actor.look.remote(), START_S)
            if why := version_fault(there, connect.version):
                return why
            error: str = _await(self._actor.begin.remote(connect.program, uploads), START_S)
            if uploads and not error:
                self._upload()
        except TimeoutError:
            return f"no process could be started on {self.host} within {START_S:.0f} s; see the logs of its Ray"
        return error and f"the node program cannot be started on {self.host}: {error}"

    def _upload(self) -> None:
        calls, at, data = deque[Any](), 0, b"-"
        while data:
            data = os.pread(self._archive, node_actor.PIECE, at)
            at += len(data)
            calls.append(self._actor.upload.remote(data))
            while len(calls) > (AHEAD if data else 0):
                _await(calls.popleft(), START_S)

    def _send(self) -> None:
        """Joins pieces up to the size of one call."""
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._queue or self._is_closing or self.over.is_set())
                    if self.over.is_set():
                        return
                    data = self._next()
                if not data:
                    _await(self._actor.close.remote())
                    return
                _await(self._actor.send.remote(data))
        except Exception as error:
            self.lose(explain_loss(error, self.host))

    def _next(self) -> bytes:
        """Takes the next piece from the queue; empty if there is none."""
        pieces, size = [], 0
        while self._queue and size < node_actor.PIECE:
            piece = self._queue.popleft()
            room = node_actor.PIECE - size
            if len(piece) > room:
                self._queue.appendleft(piece[room:])
                piece = piece[:room]
            pieces.append(piece)
            size += len(piece)
        self._queued -= size
        return b"".join(pieces)


def _await(call: Any, timeout_s: float | None = None) -> Any:
    """The reply of an actor. Not by `ray.get`: with `ray://`, one that waits keeps all other calls waiting for 2 s."""
    return call.future().result(timeout_s)
