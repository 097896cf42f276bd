"""The runs of a node that has been set up, with the processes around them."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

from agent.batch.attempts import SAMPLE_LIMITED_S, SAMPLE_S, SAMPLE_SHARED_S
from agent.batch.cluster.node.node_requests import NodeRequests
from agent.batch.cluster.node.node_run import NodeRun
from agent.batch.cluster.node.workspaces import Workspaces
from agent.batch.log import BatchLog
from agent.batch.pool.jobs import DESCRIPTORS, available_memory, cores, default_jobs, jobs_within
from agent.batch.pool.processes import Processes
from supervisor.process import fd_limit
from wire.batch import host_lines, link, node_frames
from wire.batch.task import TaskError
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from agent.batch.cluster.node.frame_output import FrameOutput
    from agent.batch.cluster.node.places import Places
    from supervisor.loop.loop import Loop
    from wire.batch.host_lines import HostOrder, Serving

MOST_JOBS = 1024
"""Maximum of runs at the same time that a node offers."""
BAD_ORDER = (*UNREADABLE, TaskError, TypeError, KeyError, UnicodeEncodeError)
"""Errors of an order that cannot be read."""


class NodeRuns:
    """From `open` to `close`. `take` gets each frame, and `look` is called after each pass of the loop."""

    def __init__(
        self,
        loop: Loop,
        set_up: node_frames.SetUp,
        places: Places,
        output: FrameOutput,
        *,
        version: str,
        runtime_folder: Path,
        host_order: HostOrder | None,
    ) -> None:
        self._loop = loop
        self._run_memory = set_up.run_memory
        self._places = places
        self._output = output
        self._runs: dict[str, NodeRun] = {}
        self._to_start: deque[NodeRun] = deque()
        """They wait for the host of the shared extensions."""
        self._serving: Serving | None = None
        self._is_ready = False
        self._told_memory = node_frames.Memory(runs={}, shared=0)
        self._shared_again = 0.0
        """When to look at the memory of what the runs share."""
        self._processes = Processes(
            loop, runtime_folder=runtime_folder, version=version, say=self._notice, host_order=host_order,
            log=BatchLog(Path(places.standin, "batch.log")),  # never opened: nobody would read it
            on_shared=self._on_shared,
            token=f"{set_up.token}.{os.urandom(8).hex()}",  # several nodes may be on one machine
        )  # fmt: skip
        self._requests = NodeRequests(
            self._processes.make_workers, send=output.send, to_run=self._worker_said, most=lambda: len(self._runs),
            salt=set_up.token,
        )  # fmt: skip
        self._workspaces = Workspaces(loop, Path(places.standin), self._notice)

    def open(self) -> None:
        self._processes.open()

    def close(self) -> None:
        """Kills all runs. By the end no process of the node is left."""
        for run in [*self._runs.values()]:
            run.kill()
        self._processes.close(self._requests.workers.stop())
        for run in self._runs.values():
            run.close()
        self._workspaces.close()

    def look(self) -> None:
        """Starts what may start now, and says once that the node is ready."""
        if self._processes.is_host_awaited:
            return
        if not self._is_ready:
            self._is_ready = True
            self._be_ready()
        while self._to_start:
            run = self._to_start.popleft()
            if socket := self._processes.host_socket():
                run.begin = self._places.with_host(run.begin, socket)
            run.start()

    def set_pace(self) -> None:
        """Reads from all runs, or from none, as the output says."""
        for run in self._runs.values():
            run.look()

    def _be_ready(self) -> None:
        fd_limit.provide(MOST_JOBS * DESCRIPTORS // fd_limit.OF_WORKER)
        most = jobs_within(MOST_JOBS, fd_limit.soft_limit())
        jobs = default_jobs(cores(), available_memory(), self._run_memory)
        serving = None if self._serving is None else host_lines.encode(self._serving)
        self._output.send(node_frames.Ready(jobs=min(jobs, most), most_jobs=most, host=gethostname(), serving=serving))
        self._sample()

    def _on_shared(self, line: Serving) -> None:
        self._serving = line

    def _notice(self, text: str) -> None:
        self._output.send(node_frames.Notice(text=text))

    # --- from the driver --------------------------------------------------------------------------------------

    def take(self, frame: node_frames.ToNode) -> None:
        """Does nothing for a run, or a request, that has ended meanwhile."""
        if isinstance(frame, node_frames.Start):
            self._start(frame)
        elif isinstance(frame, node_frames.Grant):
            self._requests.grant(frame.run, frame.request)
        elif isinstance(frame, node_frames.Withdraw):
            self._requests.withdraw(frame.run, frame.request)
        elif not isinstance(frame, node_frames.SetUp) and (run := self._runs.get(frame.run)) is not None:
            if isinstance(frame, node_frames.Send):
                run.send(frame.data)
            elif isinstance(frame, node_frames.Read):
                run.read(is_on=frame.is_on)
            else:
                run.kill()

    def _start(self, frame: node_frames.Start) -> None:
        if frame.run in self._runs:
            return
        try:
            begin = link.decode_from_batch(frame.begin)
            if not isinstance(begin, link.Begin) or begin.run != frame.run:
                raise TaskError("it is no order for this run")
            here = self._places.begin(begin, self._processes.token)
        except BAD_ORDER as error:
            why = f"the order for the run cannot be read: {error}"
            self._output.send(node_frames.NotStarted(run=frame.run, message=why, may_pass=False))
            return
        run = self._runs[frame.run] = NodeRun(
            self._loop, here, self, processes=self._processes, output=self._output, standin=Path(self._places.standin)
        )
        self._to_start.append(run)

    # --- from the runs ----------------------------------------------------------------------------------------

    def run_asked(self, run: str, request: link.ModelRequest) -> bytes:
        return self._requests.keep(run, request)

    def run_cancelled(self, run: str) -> None:
        self._requests.drop(run)

    def run_is_behind(self, run: str, is_behind: bool) -> None:
        self._requests.hold(run, held=is_behind)

    def run_is_over(self, run: NodeRun) -> None:
        del self._runs[run.name]
        self._requests.hold(run.name, held=False)
        self._workspaces.remove(run.begin)

    def _worker_said(self, run: str, line: bytes) -> None:
        if (found := self._runs.get(run)) is not None:
            found.send_line(line)

    # --- memory -----------------------------------------------------------------------------------------------

    def _sample(self) -> None:
        if self._processes.replaced_template():
            self._notice("the template has died; its runs continue, and a new one starts")
        runs = {name: run.memory.sample() for name, run in self._runs.items() if run.memory is not None}
        shared, now = self._told_memory.shared, self._loop.clock()
        if now >= self._shared_again:
            self._shared_again = now + SAMPLE_SHARED_S
            shared = self._processes.memory_bytes(child.pid for child in self._requests.workers.children())
        told = node_frames.Memory(runs=runs, shared=shared)
        if told != self._told_memory and not self._output.is_held:
            self._told_memory = told
            self._output.send(told)
        self._loop.call_later(SAMPLE_S if self._run_memory is None else SAMPLE_LIMITED_S, self._sample)
