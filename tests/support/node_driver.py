"""A driver written by hand: it sends frames to a node program, and waits for those that a test expects."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from agent.batch.run.begin import encode_request
from agent.options import RunRequest
from cli.version import VERSION
from supervisor.cleanup.env_marks import bears_token, environment_of
from supervisor.process.table import ProcessTable
from tests.support.patience import PATIENCE_S, soon
from tests.support.pipe_carrier import PipeCarrier
from wire.batch import link, node_frames
from wire.batch.task import encode_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.loop.loop import Loop
    from wire.batch.task import Task

Kind = TypeVar("Kind", bound=node_frames.Frame)


class NodeDriver:
    """Of one node. `home` is its `$ZOT_HOME`, and `cwd` the folder of the batch."""

    def __init__(self, loop: Loop, home: Path, cwd: Path, *, runs_in: Path | None = None, **carrier: Any) -> None:
        """`runs_in`: the working folder of the program, as the copy of `--upload` would be."""
        self.loop = loop
        self.home = home
        self.cwd = cwd
        self.token = os.urandom(16).hex()
        self.frames: list[Any] = []
        """All that the node has said."""
        self.gone = ""
        """Why the node is gone; empty while it is there."""
        self._taken = 0
        self._reader = node_frames.from_node_reader()
        self._count = 0
        self.carrier = PipeCarrier(loop, self, count=0, cwd=runs_in, **carrier)
        self.node = self.carrier.add_node()

    # --- CarrierListener ----------------------------------------------------------------------------------------

    def carrier_is_up(self) -> None: ...
    def carrier_failed(self, reason: str) -> None: ...
    def node_is_up(self, node: str, address: str) -> None: ...
    def node_cannot(self, node: str, address: str, reason: str) -> None: ...
    def node_said(self, node: str, data: bytes) -> None:
        self.frames += self._reader.feed(data)

    def node_is_gone(self, node: str, reason: str) -> None:
        self.gone = reason

    # --- to the node ----------------------------------------------------------------------------------------------

    def flags(self, **given: Any) -> RunRequest:
        return RunRequest(**{"cwd": str(self.cwd), "home": self.home, "discover": False, **given})

    def send(self, frame: node_frames.Frame) -> None:
        self.carrier.send(self.node, node_frames.encode(frame))

    def set_up(self, *, run: dict[str, Any] | None = None, **given: Any) -> None:
        request = bytes(encode_request(self.flags(**(run or {}))))
        said = {"node": self.node, "version": VERSION, "token": self.token, "request": request, **given}
        self.send(node_frames.SetUp(**said))

    def ready(self, **given: Any) -> node_frames.Ready:
        self.set_up(**given)
        return self.take(node_frames.Ready)

    def refused(self, **given: Any) -> tuple[str, ...]:
        """The reasons."""
        self.set_up(**given)
        return self.take(node_frames.Refused).reasons

    def start(self, task: Task, *, run: dict[str, Any] | None = None, **begin: Any) -> str:
        """Starts a run; returns its name."""
        self._count += 1
        name = f"{self._count}-1"
        order = link.Begin(
            task=msgspec.Raw(encode_task(task).rstrip(b"\n")), attempt=1, run=name,
            request=encode_request(self.flags(**(run or {}))),
            token=f"{self.token}.{self._count}", version=VERSION, **begin,
        )  # fmt: skip
        self.send(node_frames.Start(run=name, begin=link.encode(order)))
        return name

    # --- from the node --------------------------------------------------------------------------------------------

    def wait(self, predicate: Callable[[], bool]) -> None:
        self.loop.run_until(lambda: predicate() or bool(self.gone), self.loop.clock() + PATIENCE_S)
        assert predicate(), (self.gone, self.errors(), self.frames)

    def take(self, kind: type[Kind], fits: Callable[[Any], bool] = lambda _frame: True) -> Kind:
        """The next frame of this kind that fits; those before it are passed over."""
        while True:
            self.wait(lambda: len(self.frames) > self._taken)
            frame = self.frames[self._taken]
            self._taken += 1
            if isinstance(frame, kind) and fits(frame):
                return frame

    def told(self, kind: type[Any]) -> Any:
        """The next line of a run of this kind."""
        found = self.take(node_frames.Told, lambda frame: isinstance(link.decode_from_run(frame.line), kind))
        return link.decode_from_run(found.line)

    def of(self, kind: type[Kind], run: str) -> list[Kind]:
        """All frames of this kind about the run so far."""
        return [frame for frame in self.frames if isinstance(frame, kind) and getattr(frame, "run", "") == run]

    def output(self, run: str) -> bytes:
        """The event stream of a run so far."""
        return b"".join(frame.data for frame in self.of(node_frames.Output, run))

    def errors(self) -> str:
        """Standard error of the node program."""
        return self.carrier.nodes[self.node].errors.decode()

    def left(self) -> list[int]:
        """The processes of the batch that live, but for the node program itself."""
        return [pid for pid in ProcessTable.read().by_pid if bears_token(environment_of(pid), self.token)]

    # --- the end --------------------------------------------------------------------------------------------------

    def end(self) -> str:
        """Closes the input of the node; returns why it is gone. By then it has left nothing."""
        self.carrier.close_node(self.node)
        soon(self.loop, lambda: bool(self.gone))
        assert self.left() == []
        return self.gone
