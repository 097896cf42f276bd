"""A carrier for Ray clusters in a test, with an echo in place of the node program; and all that it tells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent.batch.cluster.ray.ray_carrier import RayCarrier
from cli.version import VERSION
from supervisor.process.stop_policy import Patience
from supervisor.process.teardown import stop_all
from tests.support.patience import soon

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop
    from tests.support.ray_cluster import RayCluster

ECHO = str(Path(__file__).parents[1] / "children" / "echoing_node.py")
LEAVING = Patience(ask=20.0)


class Told:
    """Keeps all that a carrier tells."""

    def __init__(self) -> None:
        self.is_up = False
        self.failed = ""
        self.up: dict[str, str] = {}
        self.cannot: dict[str, str] = {}
        self.gone: dict[str, str] = {}
        self.said: dict[str, bytearray] = {}

    def carrier_is_up(self) -> None:
        self.is_up = True

    def carrier_failed(self, reason: str) -> None:
        assert not self.failed
        self.failed = reason

    def node_is_up(self, node: str, address: str) -> None:
        assert node not in self.up
        self.up[node], self.said[node] = address, bytearray()

    def node_cannot(self, node: str, address: str, reason: str) -> None:
        self.cannot[node] = reason

    def node_said(self, node: str, data: bytes) -> None:
        assert node not in self.gone
        self.said[node] += data

    def node_is_gone(self, node: str, reason: str) -> None:
        assert node not in self.gone
        self.gone[node] = reason


class Bench:
    """A carrier, what it has told, and its loop."""

    def __init__(self, loop: Loop, carrier: RayCarrier, told: Told) -> None:
        self.loop, self.carrier, self.told = loop, carrier, told

    def until(self, predicate: Callable[[], bool]) -> None:
        soon(self.loop, lambda: predicate() or bool(self.told.failed))
        assert not self.told.failed, self.told.failed

    def until_failed(self) -> str:
        soon(self.loop, lambda: bool(self.told.failed))
        return self.told.failed

    def ask(self, node: str, line: str) -> str:
        """Returns the node's answer, which ends with a newline."""
        self.told.said[node].clear()
        self.carrier.send(node, line.encode())
        self.until(lambda: self.told.said[node].endswith(b"\n"))
        return self.told.said[node].decode().rstrip("\n")

    def pids(self, node: str) -> tuple[int, int]:
        """Of the node program and of the actor's process."""
        program, actor = self.ask(node, "!pid\n").split()
        return int(program), int(actor)

    def stop(self) -> None:
        assert not stop_all(self.loop, self.carrier.stoppables(), patience=LEAVING)


def connect(loop: Loop, cluster: RayCluster, *, more_env: dict[str, str] | None = None, **options: str) -> Bench:
    told = Told()
    settings = {"address": cluster.address, "program": ECHO, "version": VERSION} | options
    carrier = RayCarrier(loop, told, env=cluster.env | (more_env or {}), **settings)
    carrier.start()
    return Bench(loop, carrier, told)
