"""The carrier for Ray clusters: the driver's end of the process `ray_main`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.batch.cluster.ray.address import AddressError, cluster_address
from agent.batch.cluster.ray.envelope import (
    PIECE,
    CloseNode,
    Connect,
    Connected,
    Data,
    Failed,
    NodeCannot,
    NodeGone,
    NodeUp,
    from_ray_reader,
)  # fmt: skip
from agent.batch.cluster.ray.reasons import explain_end
from supervisor.discovery.environment import HOST_SECRETS
from supervisor.process.child import Child, ExitStatus, SpawnError
from supervisor.process.exit_cause import StderrTail
from wire.batch.node_frames import FrameError, encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent.batch.cluster.carrier import CarrierListener
    from agent.batch.cluster.ray.envelope import FromRay, ToRay
    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.teardown import Stoppable

PROGRAM = Path(__file__).with_name("ray_main.py")
CONNECT_S = 90.0
"""Seconds until all nodes have started. Ray itself tries for good with an address at which nothing answers."""
UPLOAD_S = 1800.0
"""The same with a folder to upload."""
REFUSED_TOKEN = (b"InvalidAuthToken", b"Unauthenticated")
"""Ray only writes them to its log, and goes on trying."""
OUTBOX_LIMIT = 1024 * 1024 * 1024
"""Maximum of bytes that wait for the process, which always reads."""
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
"""No statistics for Ray's authors; and no upload of the working folder that nobody asked for, which Ray makes under
`uv run`."""


class RayCarrier:
    """Implements `agent.batch.cluster.carrier.Carrier`. `address` and `upload` are those of `BatchRequest`, `version`
    is that of zot, and `program` the path of another node program, for tests."""

    def __init__(
        self,
        loop: Loop,
        listener: CarrierListener,
        *,
        version: str,
        address: str | None = None,
        upload: str | None = None,
        env: Mapping[str, str] | None = None,
        program: str = "",
    ) -> None:
        self.child: Child | None = None
        self._loop = loop
        self._listener = listener
        self._env = os.environ if env is None else env
        self._address = address
        self._connect = Connect(address="", version=version, upload=upload or "", program=program)
        self._reader = from_ray_reader()
        self._last_words = StderrTail()
        self._nodes: set[str] = set()
        self._is_over = False
        self._timer: Timer | None = None

    def start(self) -> None:
        """Starts the process. All failures are told from the loop."""
        try:
            where = cluster_address(self._address, self._env)
            env = {name: value for name, value in self._env.items() if name not in HOST_SECRETS} | SETTINGS
            self.child = Child(
                self._loop, [sys.executable, "-P", str(PROGRAM)], cwd="/", env=env, outbox_limit=OUTBOX_LIMIT,
                on_stdout=self._on_stdout, on_stderr=self._on_stderr, on_exit=self._on_exit,
            )  # fmt: skip
        except (AddressError, SpawnError) as error:
            reason = str(error)
            self._loop.call_later(0, lambda: self._fail(reason))
            return
        ask = self._connect
        self._tell(Connect(address=where, version=ask.version, upload=ask.upload, program=ask.program))
        patience = UPLOAD_S if ask.upload else CONNECT_S
        late = f"no Ray cluster answers at {where} within {patience:.0f} s; check the address, and that ports are open"
        if ask.upload:
            late = f"not all machines of {where} have a copy of {ask.upload} within {patience:.0f} s; is it large?"
        self._timer = self._loop.call_later(patience, lambda: self._fail(late))

    def send(self, node: str, data: bytes) -> None:
        if node in self._nodes:
            for start in range(0, len(data), PIECE):
                self._tell(Data(node=node, data=data[start : start + PIECE]))

    def close_node(self, node: str) -> None:
        if node in self._nodes:
            self._tell(CloseNode(node=node))

    def stoppables(self) -> Sequence[Stoppable]:
        return [self]

    def ask_to_stop(self) -> None:
        """Closes the input of the process, which then ends all nodes and itself."""
        self.hint_to_stop()

    def hint_to_stop(self) -> None:
        self._end()
        if self.child is not None and self.child.stdin is not None:
            self.child.stdin.end()

    def _tell(self, frame: ToRay) -> None:
        if (
            not self._is_over
            and self.child is not None
            and self.child.is_running
            and not self.child.send(encode(frame))
        ):
            self._fail("the process for Ray does not read its input")

    # --- from the process -------------------------------------------------------------------------------------

    def _on_stderr(self, data: bytes) -> None:
        self._last_words.write(data)
        if self._timer is not None and any(one in data for one in REFUSED_TOKEN):
            self._fail(
                "the Ray cluster does not accept the token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as there,"
                " or copy its ~/.ray/auth_token"
            )

    def _on_stdout(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                if not self._is_over:
                    self._take(frame)
        except FrameError as error:
            self._fail(f"the process for Ray has written {error}")

    def _take(self, frame: FromRay) -> None:
        if isinstance(frame, Data):
            self._listener.node_said(frame.node, frame.data)
        elif isinstance(frame, NodeUp):
            self._nodes.add(frame.node)
            self._listener.node_is_up(frame.node, frame.address)
        elif isinstance(frame, NodeCannot):
            self._listener.node_cannot(frame.node, frame.address, frame.reason)
        elif isinstance(frame, NodeGone):
            self._nodes.discard(frame.node)
            self._listener.node_is_gone(frame.node, frame.reason)
        elif isinstance(frame, Connected):
            self._stop_waiting()
            self._listener.carrier_is_up()
        elif isinstance(frame, Failed):
            self._fail(frame.reason)

    def _on_exit(self, status: ExitStatus) -> None:
        self._fail(explain_end(status, self._last_words.last_line()))

    def _fail(self, reason: str) -> None:
        if not self._is_over:
            self._end()
            if self.child is not None:
                self.child.kill_group(signal.SIGKILL)
            self._listener.carrier_failed(reason)

    def _end(self) -> None:
        """Nothing more is told."""
        self._is_over = True
        self._nodes.clear()
        self._stop_waiting()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
