"""The driver's process for Ray: `python -P PATH/agent/batch/cluster/ray/ray_main.py`. It alone imports Ray.

Descriptors 0 and 1 carry the frames of `envelope`; the end of 0 ends all nodes and the process. Each node has an actor
and two threads: one sends the actor what the driver has sent, the other waits for output. Each call waits for the one
before it, so bytes stay in order and Ray holds little of them. The driver's input is always read: a node whose program
leaves more than `QUEUE_LIMIT` bytes untaken is given up, so that it neither stops the others nor fills the memory.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # The folder of the programs comes first: the caller's `sys.path` may have another package `agent`.
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(here))))
    sys.path[:] = [root, *(entry for entry in sys.path if entry != here)]

import socket
import threading
import time
from collections import deque
from importlib import import_module  # its types are known only where it is installed
from typing import IO, TYPE_CHECKING, Any

from agent.batch.cluster.ray import node_actor
from agent.batch.cluster.ray.archive import UploadError, make_archive
from agent.batch.cluster.ray.envelope import (
    CloseNode,
    Connect,
    Connected,
    Data,
    Failed,
    NodeCannot,
    NodeGone,
    NodeUp,
    to_ray_reader,
)  # fmt: skip
from agent.batch.cluster.ray.reasons import LEFT, explain_failure, explain_loss, short, version_fault
from wire.batch.node_frames import FrameError, encode

if TYPE_CHECKING:
    from agent.batch.cluster.ray.envelope import FromRay, ToRay

QUEUE_LIMIT = 256 * 1024 * 1024
"""Maximum of bytes that wait for one node, beside those of one frame."""
START_S = 60.0
"""Seconds for each step of the start: the process of the actor, the node program, 64 KiB of an uploaded folder."""
AHEAD = 16
"""Pieces of an uploaded folder on their way to a node at once."""
CLOSE_S = 10.0
"""Seconds for a node program to end after its input."""
LEAVE_S = 4.0
"""Seconds for all node programs to end when the driver has gone, and for the farewell to Ray."""
TRY_S = 10.0
"""Seconds for a connection to the address."""
POLL_S = 1.0
"""Seconds between two looks at the machines of the cluster."""
BEAT_S = 10.0
"""Seconds between two words to each actor that the driver is there."""


class Driver:
    """The pipes to the driver. Frames are written whole, from any thread."""

    def __init__(self) -> None:
        """Ray, and whatever it loads, may write to descriptor 1: it goes to standard error."""
        self.input, self._output = os.dup(0), os.dup(1)
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def tell(self, frame: FromRay) -> None:
        """Waits until the driver has taken it. Ends the process if the driver has gone."""
        rest = memoryview(encode(frame))
        try:
            with self._lock:
                while rest:
                    rest = rest[os.write(self._output, rest) :]
        except OSError:
            os._exit(1)

    def fail(self, reason: str) -> None:
        """Tells it as the last frame, and ends the process."""
        self.tell(Failed(reason=reason))
        os._exit(1)


class Node:
    """One machine. `start` starts both threads."""

    def __init__(self, driver: Driver, ray: Any, connect: Connect, archive: int, facts: dict[str, Any]) -> None:
        """`archive` is a descriptor, -1 without an uploaded folder. `facts` are an entry of `ray.nodes()`."""
        self.id: str = facts["NodeID"]
        self.address: str = facts["NodeManagerAddress"]
        self.host: str = facts["NodeManagerHostname"] or self.address
        self.name = f"{self.host}-{self.id[:8]}"
        self.settled = threading.Event()
        """Set once it has started or cannot."""
        self.over = threading.Event()
        self._driver = driver
        self._ray = ray
        self._connect = connect
        self._archive = archive
        self._actor: Any = None
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._is_closing = False
        self._changed = threading.Condition()
        self._lock = threading.Lock()
        self._may_read = threading.Event()
        self._may_read.set()

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

    def hold(self, is_held: bool) -> None:
        if is_held:
            self._may_read.clear()
        else:
            self._may_read.set()

    def close(self) -> None:
        """The node program gets the end of its input, and is killed if it does not end."""
        with self._changed:
            if self._is_closing:
                return
            self._is_closing = True
            self._changed.notify()
        self._may_read.set()
        timer = threading.Timer(CLOSE_S, self.lose, [f"it did not end within {CLOSE_S:.0f} s, and was killed"])
        timer.daemon = True
        timer.start()

    def lose(self, reason: str) -> None:
        """Tells its end, once, and has Ray kill what may be left of it."""
        with self._lock:
            if self.over.is_set():
                return
            self.over.set()
            was_up = self.settled.is_set()
            about = {"node": self.name, "reason": reason}
            self._driver.tell(NodeGone(**about) if was_up else NodeCannot(address=self.address, **about))
        self.settled.set()
        self._may_read.set()
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
                self._driver.tell(NodeUp(node=self.name, address=self.address))
                self.settled.set()
            threading.Thread(target=self._send, daemon=True).start()
            while data := _await(self._actor.receive.remote()):
                with self._lock:
                    if self.over.is_set():
                        return
                    self._driver.tell(Data(node=self.name, data=data))
                self._may_read.wait()
            code, last = _await(self._actor.ended.remote())
            how = f"exit {code}" if code >= 0 else f"signal {-code}"
            lines = [line for line in last.splitlines() if line.strip()]
            self.lose(f"its node program has ended ({how})" + (f": {short(lines[-1])}" if lines else ""))
        except Exception as error:
            self.lose(explain_loss(error, self.host))

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


def try_address(address: str) -> None:
    """Raises `OSError` if nothing answers there: Ray itself would try for long."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host.strip("[]"), int(port)), TRY_S).close()


class Cluster:
    """The nodes, from the first frame of the driver to the end of its input."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._nodes: dict[str, Node] = {}
        self._ray: Any = None
        self._is_leaving = False
        self._asked = threading.Event()
        self._connect = Connect(address="", version="")
        self._archive: IO[bytes] | None = None

    def read_driver(self) -> None:
        """Does what the driver says, in a thread."""
        reader = to_ray_reader()
        try:
            while data := os.read(self._driver.input, 2**20):
                for frame in reader.feed(data):
                    self._take(frame)
        except (OSError, FrameError) as error:
            self._driver.fail(f"the process for Ray cannot read its input: {error}")
        self._leave()

    def _take(self, frame: ToRay) -> None:
        if isinstance(frame, Connect):
            self._connect = frame
            self._asked.set()
        elif (node := self._nodes.get(frame.node)) is None:
            pass
        elif isinstance(frame, Data):
            node.send(frame.data)
        elif isinstance(frame, CloseNode):
            node.close()
        else:
            node.hold(frame.is_held)

    def connect(self) -> None:
        """Waits for the first frame, and connects. Tells a failure."""
        self._asked.wait()
        asked = self._connect
        try:
            if asked.upload:
                self._archive = make_archive(asked.upload)
            try_address(asked.address)
            ray: Any = import_module("ray")
            import_module("ray.util.scheduling_strategies")
            ray.init(asked.address, log_to_driver=False, logging_level="error", namespace="zot")
            ray.cloudpickle.register_pickle_by_value(node_actor)
            for method, group in (("receive", "out"), ("ended", "out"), ("beat", "beat")):
                ray.method(concurrency_group=group)(getattr(node_actor.NodeActor, method))
        except UploadError as error:
            self._driver.fail(str(error))
        except BaseException as error:
            self._driver.fail(explain_failure(error, asked.address))
        self._ray = ray

    def watch(self) -> None:
        """Starts the nodes of the cluster, now and when one joins it, and sees those that leave."""
        is_first = True
        while True:
            try:
                machines = self._ray.nodes()
            except Exception as error:
                if self._is_leaving:
                    threading.Event().wait()
                self._driver.fail(f"the Ray cluster is lost: {short(error)}")
            alive = {facts["NodeID"]: facts for facts in machines if facts["Alive"]}
            for node in list(self._nodes.values()):
                if node.id not in alive:
                    node.lose(LEFT.format(node.host))
            known = {node.id for node in self._nodes.values()}
            archive = -1 if self._archive is None else self._archive.fileno()
            new = [
                Node(self._driver, self._ray, self._connect, archive, alive[one]) for one in alive if one not in known
            ]
            for node in new:
                self._nodes[node.name] = node
                node.start()
            if is_first:
                for node in new:
                    node.settled.wait()
                self._driver.tell(Connected())
                is_first = False
            time.sleep(POLL_S)

    def beat(self) -> None:
        """In a thread of its own, for good: a look at the machines may take long."""
        while True:
            for node in list(self._nodes.values()):
                node.beat()
            time.sleep(BEAT_S)

    def _leave(self) -> None:
        """Ends all nodes, says farewell to Ray, and ends the process, whatever hangs."""
        self._is_leaving = True
        until = time.monotonic() + LEAVE_S
        nodes = [node for node in self._nodes.values() if node.settled.is_set()]
        for node in nodes:
            node.close()
        for node in nodes:
            node.over.wait(max(0.0, until - time.monotonic()))
        if self._ray is not None:
            farewell = threading.Thread(target=self._ray.shutdown, daemon=True)
            farewell.start()
            farewell.join(max(1.0, until - time.monotonic()))
        os._exit(0)


def main() -> None:
    """Never returns: `_leave` and `fail` end the process."""
    cluster = Cluster(Driver())
    threading.Thread(target=cluster.read_driver, daemon=True).start()
    cluster.connect()
    threading.Thread(target=cluster.beat, daemon=True).start()
    cluster.watch()


if __name__ == "__main__":
    main()
