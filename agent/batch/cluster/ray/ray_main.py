"""The driver's process for Ray: `python -P PATH/agent/batch/cluster/ray/ray_main.py`. It alone imports Ray.

Descriptors 0 and 1 carry the frames of `envelope`; the end of 0 ends all nodes and the process. Each node has an actor
and two threads, see `carried_node`. The driver's input is always read: a node whose program leaves too much of it
untaken is given up, so that it neither stops the others nor fills the memory.
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
from importlib import import_module  # its types are known only where it is installed
from typing import IO, TYPE_CHECKING, Any

from agent.batch.cluster.ray import node_actor
from agent.batch.cluster.ray.archive import UploadError, make_archive
from agent.batch.cluster.ray.carried_node import CarriedNode
from agent.batch.cluster.ray.envelope import (
    Connect,
    Connected,
    Data,
    Failed,
    to_ray_reader,
)  # fmt: skip
from agent.batch.cluster.ray.reasons import LEFT, explain_failure, short
from wire.batch.node_frames import FrameError, encode

if TYPE_CHECKING:
    from agent.batch.cluster.ray.envelope import FromRay, ToRay

LEAVE_S = 8.0
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


def try_address(address: str) -> None:
    """Raises `OSError` if nothing answers there: Ray itself would try for long."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host.strip("[]"), int(port)), TRY_S).close()


class Cluster:
    """The nodes, from the first frame of the driver to the end of its input."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._nodes: dict[str, CarriedNode] = {}
        """By name."""
        self._last: dict[str, CarriedNode] = {}
        """The last one of each machine, by its id."""
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
        else:
            node.close()

    def connect(self) -> None:
        """Waits for the first frame, and connects. Tells a failure."""
        self._asked.wait()
        asked = self._connect
        try:
            if asked.upload:
                self._archive = make_archive(asked.upload)
            ray: Any = import_module("ray")
            try_address(asked.address)
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
                self._rest_if_leaving()
                self._driver.fail(f"the Ray cluster is lost: {short(error)}")
            self._rest_if_leaving()
            alive = {facts["NodeID"]: facts for facts in machines if facts["Alive"]}
            for node in list(self._nodes.values()):
                if node.id not in alive:
                    node.lose(LEFT.format(node.host))
            new = [self._make(facts) for one, facts in alive.items() if self._is_without(one)]
            for node in new:
                self._nodes[node.name] = self._last[node.id] = node
                node.start()
            if is_first:
                for node in new:
                    node.settled.wait()
                self._driver.tell(Connected())
                is_first = False
            time.sleep(POLL_S)

    def _is_without(self, machine: str) -> bool:
        last = self._last.get(machine)
        return last is None or last.is_to_start_again

    def _make(self, facts: dict[str, Any]) -> CarriedNode:
        archive = -1 if self._archive is None else self._archive.fileno()
        last = self._last.get(facts["NodeID"])
        number = 1 if last is None else last.number + 1
        return CarriedNode(self._driver.tell, self._ray, self._connect, archive, facts, number)

    def _rest_if_leaving(self) -> None:
        """No node is started or told lost any longer: the process ends."""
        if self._is_leaving:
            threading.Event().wait()

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
        nodes = list(self._nodes.values())
        for node in nodes:
            node.close()
        for node in (node for node in nodes if node.settled.is_set()):
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
