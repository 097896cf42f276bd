"""The node: takes frames, checks whether it can run the tasks of the batch, and ends with its input."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Raw

from agent.batch.cluster.extension_facts import trusted_content
from agent.batch.cluster.node.frame_output import FrameOutput
from agent.batch.cluster.node.node_runs import NodeRuns
from agent.batch.cluster.node.places import Places
from agent.batch.cluster.node.readiness import reasons_against, version_reason
from agent.batch.host.candidates import host_order
from agent.batch.request import BatchRequest
from agent.batch.run.begin import decode_request
from agent.request_checks import UsageError
from supervisor.home.runtime_dir import runtime_dir
from supervisor.home.scratch import scratch_folder
from supervisor.home.zot_home import zot_home
from supervisor.loop.loop import stop_signals
from supervisor.loop.pipes import PipeReader
from wire.batch import node_frames
from wire.batch.node_frames import FrameError
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from supervisor.loop.loop import Loop

PURPOSE = "node"
"""Of the stand-in for RUNDIR: one that a killed node program has left is removed by the next one."""


class RefusalError(Exception):
    """The node cannot run the tasks of the batch."""

    def __init__(self, *reasons: str) -> None:
        super().__init__(*reasons)
        self.reasons = reasons


class Node:
    """`run` it once. `fault` says afterwards why it has ended before its input did; empty if it has not."""

    def __init__(self, loop: Loop, frames_in: int, frames_out: int, version: str, *, refusal: str = "") -> None:
        """`refusal` is why the node cannot run anything; empty if it can."""
        self.fault = ""
        self._refusal = refusal
        self._loop = loop
        self._version = version
        self._reader = node_frames.to_node_reader()
        self._output = FrameOutput(loop, frames_out, self._on_pace)
        self._input = PipeReader(loop, frames_in, self._on_bytes, self._end)
        self._exits = ExitStack()
        """Removes the stand-in for RUNDIR."""
        self._is_set_up = self._is_ending = False
        self._runs: NodeRuns | None = None
        """None before `set_up`, and after a refusal."""

    def run(self) -> None:
        """Until the end of the input, or a signal. By then no process of the node is left."""
        with self._loop.signals(stop_signals(), lambda _number: self._end()):
            try:
                self._loop.run_until(self._look)
            finally:
                self._close()

    def _end(self) -> None:
        self._is_ending = True

    def _look(self) -> bool:
        """After each pass of the loop. Returns whether the node ends."""
        self._output.look()
        if self._is_ending or not self._output.is_open:
            return True
        if self._runs is not None:
            self._runs.look()
        return False

    def _on_pace(self, _is_held: bool) -> None:
        if self._runs is not None:
            self._runs.set_pace()

    def _close(self) -> None:
        self._input.close()
        self._output.close()
        if self._runs is not None:
            self._runs.close()
        self._exits.close()
        self._loop.close()

    # --- frames -----------------------------------------------------------------------------------------------

    def _on_bytes(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                self._take(frame)
        except FrameError as error:
            self.fault = self.fault or f"the driver has sent what cannot be read: {error}"
            self._end()

    def _take(self, frame: node_frames.ToNode | node_frames.FromNode) -> None:
        """Raises `FrameError`."""
        if isinstance(frame, node_frames.SetUp):
            if self._is_set_up:
                raise FrameError("a second set_up")
            self._is_set_up = True
            try:
                self._runs = self._prepare(frame)
                self._runs.open()
            except RefusalError as refusal:
                self._output.send(node_frames.Refused(reasons=refusal.reasons))
        elif not self._is_set_up:
            raise FrameError("the first frame is no set_up")
        elif self._runs is not None and isinstance(frame, node_frames.ToNode):
            self._runs.take(frame)

    def _prepare(self, set_up: node_frames.SetUp) -> NodeRuns:
        """Raises `RefusalError`."""
        if reason := version_reason(set_up.version, self._version) or self._refusal:
            raise RefusalError(reason)
        places = self._make_places(set_up)
        try:
            run = places.request(decode_request(Raw(set_up.request)))
        except (*UNREADABLE, TypeError, KeyError) as error:
            raise RefusalError(f"the flags of the batch cannot be read: {error}") from None
        home = run.home or zot_home()
        reasons, order = reasons_against(set_up, places, run, home), None
        batch = BatchRequest(folder=Path(places.standin), run=run, share=set_up.share)
        try:
            if run.cwd is None or os.path.isdir(run.cwd):  # no task needs the folder if it is missing
                order = host_order(batch, home, self._version)
        except (UsageError, OSError) as error:
            reasons.append(str(error))
        if reasons:
            raise RefusalError(*reasons)
        return NodeRuns(
            self._loop, set_up, places, self._output, version=self._version, runtime_folder=runtime_dir(home),
            host_order=order,
        )  # fmt: skip

    def _make_places(self, set_up: node_frames.SetUp) -> Places:
        """Raises `RefusalError`."""
        try:
            copy = os.getcwd()
            copy.encode()
            standin = os.path.realpath(self._exits.enter_context(scratch_folder(PURPOSE)))
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise RefusalError(
                f"a folder for temporary files cannot be made: {where}{error.strerror}: set TMPDIR"
            ) from None
        except UnicodeEncodeError as error:
            raise RefusalError(
                f"the folder {error.object!r} is not valid UTF-8: start the node in another one"
            ) from None
        return Places(
            upload=set_up.upload, copy=copy, standin=standin, cwd=set_up.cwd, links=set_up.links,
            trusted_content=trusted_content(set_up.extensions),
        )  # fmt: skip
