"""The processes around the runs of a batch: the template that forks them, or a program where the system has no
template; the host of the extensions that they share; the reaper, the adopted orphans, and the sweep at the end."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from agent.batch.host.own_host import OwnHost
from agent.batch.pool.leases import WorkerSet
from agent.batch.pool.warm_template import ForkedProgram, WarmTemplate
from supervisor.cleanup.env_marks import TOKEN
from supervisor.cleanup.tracker import ProcessTracker
from supervisor.process.shared_table import SharedProcessTable
from supervisor.process.table import ProcessTable, children_of, send_signal
from supervisor.process.teardown import end_descendants, stop_all
from supervisor.template import memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agent.batch.log import BatchLog
    from agent.batch.pool.leases import Lease, Workers
    from agent.batch.request import NodeView, RunView
    from agent.model.provider import Line
    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus, SpawnError
    from supervisor.process.stop_policy import Patience
    from supervisor.process.table import Identity
    from supervisor.process.teardown import Stoppable
    from wire.batch.host_lines import HostOrder, Serving

GROWTH = 1024 * 1024
"""Bytes by which a process grows before its pages are counted again."""
PROCESSES = 500
"""Most processes of a run that are looked at: a fork bomb must not keep the batch busy."""


class _Seen(msgspec.Struct):
    """One process when its pages were counted last."""

    size: int
    own: int


class RunMemory:
    """Memory that the process `pid` and its descendants do not share with others. Processes that have left the tree
    do not count.

    A fork of the template shares most of its memory with the others: its resident size says 74 MB where 6 are its own.
    So the pages count that no other process has (USS). To read them takes 0.5 ms for each process, and to read the size
    that lies in no file 0.01 ms. So that size is watched, and the pages are counted when it has grown.
    """

    def __init__(
        self,
        pid: Callable[[], int],
        *,
        size_of: Callable[[int], int] = memory.anonymous,
        own_of: Callable[[int], int | None] = memory.uss,
        children: Callable[[int], set[int] | None] = children_of,
    ) -> None:
        """`pid` is asked for at each sample: that of a fork is not known at once."""
        self.now = 0
        """Bytes at the last sample."""
        self.peak = 0
        """Bytes in any sample."""
        self._pid = pid
        self._size_of = size_of
        self._own_of = own_of
        self._children = children
        self._seen: dict[int, _Seen] = {}

    def sample(self) -> int:
        """Looks at all processes; returns their bytes together."""
        seen: dict[int, _Seen] = {}
        todo = [self._pid()]
        while todo and len(seen) < PROCESSES:
            pid = todo.pop()
            size = self._size_of(pid)
            if pid in seen or not size:
                continue
            last = self._seen.get(pid)
            if last is None or abs(size - last.size) >= GROWTH:
                own = self._own_of(pid)
                last = _Seen(size, size if own is None else own)
            seen[pid] = last
            todo += self._children(pid) or ()
        self._seen = seen
        self.now = sum(process.own for process in seen.values())
        self.peak = max(self.peak, self.now)
        return self.now


def is_measurable() -> bool:
    """Whether this system reports how much memory a process shares with no other."""
    return sys.platform == "linux"


HERE = Path(__file__).resolve().parent.parent / "run"
PROGRAM = HERE / "run_main.py"
RUNS = ForkedProgram(HERE / "template_main.py", "run", PROGRAM, "runs")


class RunOutput(Protocol):
    """The event stream of a run."""

    def take(self) -> None:
        """Passes on what is there now."""

    def hold(self, *, held: bool) -> None:
        """With `held` nothing is passed on: the run waits, sooner or later."""


class RunChild(Protocol):
    """The process of a run. Its pid is also the number of its session and process group."""

    pid: int
    exit: ExitStatus | None

    @property
    def stdout(self) -> RunOutput: ...
    @property
    def identity(self) -> Identity: ...
    @property
    def is_running(self) -> bool: ...
    def kill_group(self, number: signal.Signals) -> None: ...


class Launch(Protocol):
    """Starts a process whose standard output goes to `on_stdout`, standard error to the descriptor `stderr`, and whose
    link is the descriptor `link`. Both stay the caller's, who may close them at once. Then `on_exit` is called once
    from the loop, or `on_failed`. Raises `SpawnError`."""

    def __call__(
        self,
        *,
        link: int,
        stderr: int,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        on_failed: Callable[[SpawnError], None],
    ) -> RunChild: ...


class ProcessesError(Exception):
    """The processes of a batch cannot be started; the text says why and what to do."""


class Processes:
    """Of one batch, from `open` to `close`. With `owns_process` every descendant of this process counts as the
    batch's."""

    def __init__(
        self,
        loop: Loop,
        *,
        runtime_folder: Path,
        version: str,
        say: Callable[[str], None],
        owns_process: bool = True,
        has_template: bool | None = None,
        run_program: Path | None = None,
        host_order: HostOrder | None = None,
        log: BatchLog,
        on_shared: Callable[[Serving], None] = lambda _line: None,
        token: str = "",
    ) -> None:
        """`has_template` None: if the system can have one. `run_program` takes the place of the runs' program, without
        a template. `host_order` None: no host is started. `on_shared` gets the first line of the host that serves.
        Without a `token` a new one is made."""
        self.token = token or os.urandom(16).hex()
        """In the environment of every process of the batch. That of a run is longer: the token, a dot and a number."""
        self._loop = loop
        self._owns_process = owns_process
        self._table = SharedProcessTable(loop)
        self._tracker = ProcessTracker(
            loop, self.token, folder=runtime_folder, version=version, owns_process=owns_process, say=say
        )
        env, cwd = {**os.environ, TOKEN: self.token}, os.getcwd()
        if has_template is None and run_program is not None:
            has_template = False
        forked = RUNS._replace(program=run_program or PROGRAM)
        self._warm = WarmTemplate(loop, forked, env=env, cwd=cwd, say=say, has_template=has_template)
        self.template = self._warm.template
        self.start_worker = self._warm.start_worker
        """As `agent.model.worker_process.StartWorker`: forks the template, as long as there is one."""
        self.host = (
            None
            if host_order is None
            else OwnHost(
                loop, host_order, env=env, cwd=cwd, log=log, say=say,
                on_started=self._tracker.started, on_serving=on_shared,
            )
        )  # fmt: skip
        """The process with the extensions that runs share."""
        self._host_memory = None if self.host is None else RunMemory(self._host_pid)
        self._patience_with: dict[Stoppable, Patience] = {}
        """Of those to stop at the end, the ones that have another patience."""
        self._say = say
        self._template_pid = 0
        self._token_before = os.environ.get(TOKEN)

    def open(self, *, is_needed: bool = True) -> None:
        """Before the first process of the batch. Without `is_needed` there will hardly be one, so the template is not
        started before it is asked for, and no host."""
        os.environ[TOKEN] = self.token
        self._table.adopt_orphans()
        self._table.hold()
        self._tracker.open()
        if self.host is not None and is_needed:
            self.host.start()
        if self.template is not None and is_needed:
            self.template.start()
            self.replaced_template()

    @property
    def is_host_awaited(self) -> bool:
        """Whether new runs wait for the host, which is just starting."""
        return self.host is not None and self.host.is_awaited

    def host_socket(self) -> str:
        """The attach socket of the host; empty without one that serves."""
        return "" if self.host is None else self.host.socket

    def launch(
        self,
        *,
        link: int,
        stderr: int,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        on_failed: Callable[[SpawnError], None],
    ) -> RunChild:
        """As `Launch`. Once the template no longer starts, each run is a program of its own."""
        return self._warm.launch(links=[link], stderr=stderr, on_stdout=on_stdout, on_exit=on_exit, on_failed=on_failed)

    def make_workers(
        self,
        *,
        on_line: Callable[[Lease, Line, bytes | bytearray], None],
        on_failed: Callable[[Lease, str], None],
    ) -> Workers:
        """As `agent.batch.pool.leases.MakeWorkers`."""
        return WorkerSet(self._loop, self.start_worker, on_line=on_line, on_failed=on_failed)

    def kill_tree(self, child: RunChild) -> set[Identity]:
        """As the function of this name."""
        return kill_tree(child)

    def replaced_template(self) -> bool:
        """Whether the template has died and another one was started, since the last call."""
        child = None if self.template is None else self.template.child
        if child is None or child.pid == self._template_pid:
            return False
        was_known, self._template_pid = bool(self._template_pid), child.pid
        self._tracker.started(child)
        return was_known

    def memory_of(self, child: RunChild) -> RunMemory | None:
        """The meter of a run's memory; None where the system has none."""
        return RunMemory(lambda: child.pid) if is_measurable() else None

    def spared(self) -> Iterable[int]:
        """Processes of the batch that belong to no run."""
        if self.template is not None and self.template.child is not None:
            return (self.template.child.pid,)
        return ()

    def _host_pid(self) -> int:
        child = None if self.host is None else self.host.child
        return child.pid if child is not None and child.is_running else 0

    def nodes(self, runs: Iterable[RunView]) -> tuple[NodeView, ...]:  # noqa: ARG002  (nodes count theirs)
        """The other machines of the batch, with their part of these runs; empty without any."""
        return ()

    def memory_bytes(self, others: Iterable[int]) -> int:
        """Memory of the template, the host with its extensions and these other processes, in bytes."""
        if not is_measurable():
            return 0
        hosts = 0 if self._host_memory is None else self._host_memory.sample()
        return hosts + sum(memory.uss(pid) or 0 for pid in (*self.spared(), *others))

    def close(self, others: Sequence[Stoppable] = ()) -> None:
        """After the last run. Stops `others` as well."""
        owners = [*others, *(each for each in (self.template, self.host) if each is not None)]
        if self.host is not None:
            self.host.retire()
        stop_all(self._loop, owners, shared_table=self._table, patience_with=self._patience_with)
        if self._owns_process:
            end_descendants(self._loop, shared_table=self._table)
        self._tracker.close()
        self._table.close()
        if self._token_before is None:
            os.environ.pop(TOKEN, None)
        else:
            os.environ[TOKEN] = self._token_before


def kill_tree(child: RunChild) -> set[Identity]:
    """SIGKILL to the process, its group and all its descendants. Returns those that were found."""
    tree = ProcessTable.read().tree([child.pid], session=child.pid)
    child.kill_group(signal.SIGKILL)
    for pid, process in tree.items():
        if pid != child.pid:
            send_signal(process.identity, signal.SIGKILL)
    return {process.identity for process in tree.values()}
