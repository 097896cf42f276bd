"""One run at a node: its process, and all that goes between it and the driver.

The driver decides how a run ends, as for a run on its own machine; the node kills its tree when it is told to, and ends
what the process has left before it says that it has ended.
"""

from __future__ import annotations

import os
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol

import msgspec

from agent.batch.journal.errors import FolderError
from agent.batch.journal.rundir_files import IN_DIFFS, open_rundir_file
from agent.batch.pool.run_link import RunLink
from agent.batch.pool.run_process import EXIT_S
from agent.batch.workspace.diff import DIFFS
from supervisor.cleanup.kill_leftovers import TERM_S, HostMarks, LeftoverKiller
from supervisor.loop.pipes import PipeReader
from supervisor.process.child import SpawnError
from wire.batch import link, node_frames
from wire.batch.node_frames import PIECE
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from pathlib import Path

    from agent.batch.cluster.node.frame_output import FrameOutput
    from agent.batch.pool.processes import Processes, RunChild, RunMemory
    from supervisor.loop.loop import Loop, Timer
    from supervisor.process.child import ExitStatus
    from supervisor.process.table import Identity


class NodeRunLife(Enum):
    """The state of a `NodeRun`."""

    NEW = "new"
    ALIVE = "alive"
    SWEEPING = "sweeping"
    """Its process has ended; what it has left is being ended."""
    OVER = "over"


class NodeRunListener(Protocol):
    """Whom a run tells what happens. All methods are called from the loop."""

    def run_asked(self, run: str, request: link.ModelRequest) -> bytes:
        """Returns the line of the request for the driver."""

    def run_cancelled(self, run: str) -> None:
        """The run wants no reply to its request, if it has one; or it has ended."""

    def run_is_behind(self, run: str, is_behind: bool) -> None:
        """The run does not read what it is sent as fast as it comes; or it has caught up."""

    def run_is_over(self, run: NodeRun) -> None:
        """Once. No process of the run is left, and its last frame is sent."""


class NodeRun:
    """Call `start` once; then `run_is_over` is called once."""

    def __init__(
        self,
        loop: Loop,
        begin: link.Begin,
        listener: NodeRunListener,
        *,
        processes: Processes,
        output: FrameOutput,
        standin: Path,
    ) -> None:
        """`begin` with the places of this node; `standin` has the run's diff."""
        self.name = begin.run
        self.begin = begin
        self.memory: RunMemory | None = None
        self._loop = loop
        self._listener = listener
        self._processes = processes
        self._output = output
        self._standin = standin
        self._life = NodeRunLife.NEW
        self._child: RunChild | None = None
        self._link: RunLink | None = None
        self._errors: PipeReader | None = None
        self._unsent = bytearray()
        """From the driver: the beginning of a line, or all while the link is not there."""
        self._is_read = True
        """Whether the driver reads the event stream."""
        self._was_killed = False
        self._has_said_end = False
        self._leader: Identity | None = None
        """Its process, once it has spoken: what has not spoken has started nothing."""
        self._others: set[Identity] = set()  # descendants that were seen when the run was killed
        self._timer: Timer | None = None

    # --- start ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the process. Whatever fails becomes `not_started`."""
        if self._life is not NodeRunLife.NEW:
            return
        self._life = NodeRunLife.ALIVE
        errors = -1
        try:
            self._link = RunLink(
                self._loop, on_line=self._on_line, on_end=self._on_link_end,
                on_pace=lambda is_behind: self._listener.run_is_behind(self.name, is_behind),
            )  # fmt: skip
            read, errors = os.pipe()
            self._errors = PipeReader(self._loop, read, self._on_stderr, lambda: None)
            self._child = self._processes.launch(
                link=self._link.theirs.fileno(), stderr=errors,
                on_stdout=self._on_stdout, on_exit=self._on_exit, on_failed=self._on_failed,
            )  # fmt: skip
        except OSError as error:
            failed = error if isinstance(error, SpawnError) else _no_descriptors(error)
            self._loop.call_later(0, lambda: self._on_failed(failed))
            return
        finally:
            if errors >= 0:
                os.close(errors)
            if self._link is not None:
                self._link.give()
        self.memory = self._processes.memory_of(self._child)
        self._link.send(link.encode(self.begin))
        self.send(b"")
        self.look()

    def _on_failed(self, error: SpawnError) -> None:
        self._not_started(str(error), may_pass=error.may_pass)

    def _not_started(self, message: str, *, may_pass: bool) -> None:
        if self._life is not NodeRunLife.OVER:
            self._over(node_frames.NotStarted(run=self.name, message=message, may_pass=may_pass))

    # --- from the driver --------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Bytes for the link, in lines that may come in pieces."""
        self._unsent += data
        whole = self._unsent.rfind(b"\n") + 1
        if self._link is not None and whole:
            lines = bytes(self._unsent[:whole])
            del self._unsent[:whole]
            self._link.send(lines)

    def send_line(self, line: bytes) -> None:
        """A line of a model worker, LF included."""
        if self._link is not None:
            self._link.send(line)

    def read(self, *, is_on: bool) -> None:
        """Whether the event stream is read."""
        self._is_read = is_on
        self.look()

    def look(self) -> None:
        """Reads what may be read now."""
        if self._life is not NodeRunLife.ALIVE or self._link is None or self._child is None:
            return
        is_held = self._output.is_held
        self._link.hold(held=is_held)
        self._child.stdout.hold(held=is_held or not self._is_read)
        if self._errors is not None:
            self._errors.hold(held=is_held)

    def kill(self) -> None:
        """Kills the whole tree now."""
        if self._life is NodeRunLife.NEW:
            self._not_started("it was killed before its start", may_pass=True)
        elif self._life is NodeRunLife.ALIVE and self._child is not None:
            self._was_killed = True
            self._others |= self._processes.kill_tree(self._child)

    # --- from the run -----------------------------------------------------------------------------------------

    def _on_stdout(self, data: bytes) -> None:
        self._output.send(node_frames.Output(run=self.name, data=data))

    def _on_stderr(self, data: bytes) -> None:
        self._output.send(node_frames.Errors(run=self.name, data=data))

    def _on_line(self, line: bytes) -> None:
        if self._child is not None:
            self._leader = self._child.identity  # the identity of a fork is unreadable once it has ended
            self._child.stdout.take()  # what was written before the line comes before it
        try:
            message = link.decode_from_run(line)
        except UNREADABLE as error:
            self._tell(b"")  # it might have a credential
            self._complain(f"the run has said something that cannot be read: {error}")
            return
        if isinstance(message, link.ModelRequest):
            self._tell(self._listener.run_asked(self.name, message).rstrip(b"\n"))
            return
        if isinstance(message, link.Cancel):
            self._listener.run_cancelled(self.name)
        elif isinstance(message, link.RunEnded):
            self._has_said_end = True
            if message.diff:
                self._output.when_room(lambda: self._tell_end(message))
                return
        self._tell(line)

    def _tell(self, line: bytes) -> None:
        self._output.send(node_frames.Told(run=self.name, line=line))

    def _complain(self, text: str) -> None:
        """Puts a line into the standard error of the run: the driver shows its last ones."""
        self._on_stderr(f"zot: {text}\n".encode("utf-8", "backslashreplace"))

    def _tell_end(self, ended: link.RunEnded) -> None:
        try:
            self._send_diff(ended.diff)
        except (OSError, FolderError) as error:
            why = str(error.strerror) if isinstance(error, OSError) else str(error)
            self._complain(f"the changes of the run cannot be sent: {ended.diff}: {why}")
            ended = msgspec.structs.replace(ended, diff="")
        self._tell(link.encode(ended).rstrip(b"\n"))

    def _send_diff(self, name: str) -> None:
        """Sends the file in pieces, and removes it. Raises `OSError`, `FolderError`."""
        folder, _, file_name = name.partition("/")
        if folder != DIFFS or file_name != PurePath(file_name).name:
            raise FolderError("it is no file for changes")
        path = self._standin / DIFFS / file_name
        with open(open_rundir_file(path, depth=IN_DIFFS), "rb") as file:
            piece, is_first = file.read(PIECE), True
            while piece or is_first:
                following = file.read(PIECE)
                self._output.send(
                    node_frames.File(run=self.name, name=name, data=piece, is_first=is_first, is_last=not following)
                )
                piece, is_first = following, False
        path.unlink()

    def _on_link_end(self, reason: str) -> None:
        if self._life is NodeRunLife.ALIVE and not self._has_said_end:
            said = f"the run has closed its link{reason and f' ({reason})'} and did not end"
            self._timer = self._loop.call_later(EXIT_S, lambda: self._give_up(said))

    def _give_up(self, said: str) -> None:
        self._complain(said)
        self.kill()

    # --- the end ----------------------------------------------------------------------------------------------

    def _on_exit(self, status: ExitStatus) -> None:
        self._life = NodeRunLife.SWEEPING
        if self._timer is not None:
            self._timer.cancel()
        self._output.when_room(lambda: self._sweep_after(status))

    def _sweep_after(self, status: ExitStatus) -> None:
        if self._link is not None:
            self._link.drain()
        self._listener.run_cancelled(self.name)
        if self._has_said_end and not self._was_killed and status.code >= 0:
            self._exited(status)
            return
        leaders = frozenset() if self._leader is None else frozenset({self._leader})
        marks = HostMarks(self.begin.token, leaders=leaders, others=frozenset(self._others))
        term_s = 0.0 if self._was_killed else TERM_S
        spared = self._processes.spared()
        self._sweep(LeftoverKiller(marks, self._loop.clock, spared=spared, term_s=term_s), status)

    def _sweep(self, killer: LeftoverKiller, status: ExitStatus) -> None:
        try:
            delay = killer.step()
        except OSError:  # no descriptor is left to look with: another run gives one back
            delay = 0.1
        if delay is None:
            self._exited(status)
        else:
            self._loop.call_later(delay, lambda: self._sweep(killer, status))

    def _exited(self, status: ExitStatus) -> None:
        """Sends the last frames, after those that wait for room."""
        self._output.when_room(lambda: self._send_exited(status))

    def _send_exited(self, status: ExitStatus) -> None:
        if self._errors is not None:
            self._errors.take_waiting()
        self._over(
            node_frames.Exited(run=self.name, code=status.code, cpu_s=status.cpu_s, rss_peak=status.rss_peak)
        )  # fmt: skip

    def _over(self, last: node_frames.Exited | node_frames.NotStarted) -> None:
        self._life = NodeRunLife.OVER
        self.close()
        self._output.send(last)
        self._listener.run_is_over(self)

    def close(self) -> None:
        """Closes the link and the pipe for standard error. Tells nobody."""
        if self._link is not None:
            self._link.close()
        if self._errors is not None:
            self._errors.close()


def _no_descriptors(error: OSError) -> SpawnError:
    failed = SpawnError(f"cannot start the run: {error.strerror}")
    failed.may_pass = True
    return failed
