"""A carrier whose node programs are children of the test: several nodes on this machine, without a cluster."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING

from supervisor.process.child import Child
from tests.support.warm_start import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agent.batch.cluster.carrier import CarrierListener
    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus
    from supervisor.process.teardown import Stoppable

PROGRAM = ROOT / "agent/batch/cluster/node/node_main.py"
OUTBOX_LIMIT = 1 << 30
"""Maximum of bytes that wait for a node program."""


class PipeNode:
    """A node program, as a teardown needs its owner."""

    def __init__(self, name: str, child: Child) -> None:
        self.name = name
        self.child = child
        self.is_cut = False
        self.errors = b""
        """Standard error so far."""

    def ask_to_stop(self) -> None:
        self.hint_to_stop()

    def hint_to_stop(self) -> None:
        if self.child.stdin is not None:
            self.child.stdin.close()


class PipeCarrier:
    """`Carrier`. `start` starts `count` nodes: n1, n2, and so on. `env` is added to the environment of each, and `cwd`
    is its working folder, as the copy of `--upload` would be."""

    def __init__(
        self,
        loop: Loop,
        listener: CarrierListener,
        *,
        count: int = 1,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        program: Path = PROGRAM,
    ) -> None:
        self.nodes: dict[str, PipeNode] = {}
        """All that were started, also those that are gone."""
        self._loop = loop
        self._listener = listener
        self._count = count
        self._env = env or {}
        self._cwd = str(cwd or os.getcwd())
        self._program = program

    # --- Carrier ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        for _ in range(self._count):
            self.add_node()
        self._loop.call_later(0, self._listener.carrier_is_up)

    def send(self, node: str, data: bytes) -> None:
        found = self.nodes[node]
        if not found.is_cut:
            found.child.send(data)

    def close_node(self, node: str) -> None:
        self.nodes[node].hint_to_stop()

    def hold(self, node: str, *, held: bool) -> None:
        found = self.nodes[node]
        if found.child.stdout.is_open:
            self._loop.watch(found.child.stdout, read=not held)

    def stoppables(self) -> Sequence[Stoppable]:
        return [*self.nodes.values()]

    # --- for tests ------------------------------------------------------------------------------------------------

    def add_node(self, *, env: Mapping[str, str] | None = None, cwd: Path | str | None = None) -> str:
        """Starts a node program, of which the listener hears in the next pass; returns its name."""
        name = f"n{len(self.nodes) + 1}"
        child = Child(
            self._loop, [sys.executable, "-P", str(self._program)], cwd=str(cwd or self._cwd),
            env={**os.environ, **self._env, **(env or {})}, on_stdout=partial(self._said, name),
            on_stderr=partial(self._complained, name), on_exit=partial(self._ended, name), outbox_limit=OUTBOX_LIMIT,
        )  # fmt: skip
        self.nodes[name] = PipeNode(name, child)
        self._loop.call_later(0, lambda: self._listener.node_is_up(name, f"pipe:{child.pid}"))
        return name

    def kill_node(self, name: str) -> None:
        """SIGKILL to the node program alone: its own reaper is to end the rest."""
        os.kill(self.nodes[name].child.pid, signal.SIGKILL)

    def cut_node(self, name: str) -> None:
        """Closes the pipes of the node program, as a broken connection does: the node is gone for the listener."""
        node = self.nodes[name]
        node.is_cut = True
        node.hint_to_stop()
        node.child.stdout.close()
        self._loop.call_later(0, lambda: self._listener.node_is_gone(name, "the connection is broken"))

    # --- from the nodes -------------------------------------------------------------------------------------------

    def _said(self, name: str, data: bytes) -> None:
        if not self.nodes[name].is_cut:
            self._listener.node_said(name, data)

    def _complained(self, name: str, data: bytes) -> None:
        self.nodes[name].errors += data

    def _ended(self, name: str, status: ExitStatus) -> None:
        node = self.nodes[name]
        if not node.is_cut:
            last = node.errors.decode("utf-8", "replace").strip().splitlines()[-1:]
            self._listener.node_is_gone(name, ": ".join([f"the node program ended ({status})", *last]))
