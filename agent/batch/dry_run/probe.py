"""Starts one run of a task as the batch would, with its extensions, up to its first request to the model, which is not
sent. Its setup, check and score are left out, and it works in its folder itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from agent.batch.journal.folder import RunFolder
from agent.batch.log import BatchLog
from agent.batch.pool.leases import max_tokens_of
from agent.batch.pool.processes import Processes
from agent.batch.pool.run_order import Orders
from agent.batch.pool.run_process import RunProcess
from agent.batch.tasks.repeat import variables
from supervisor.home.runtime_dir import runtime_dir
from supervisor.home.scratch import scratch_folder
from supervisor.home.zot_home import zot_home
from supervisor.loop.loop import Loop, stop_signals
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from pathlib import Path

    from agent.batch.request import BatchRequest
    from wire.batch import link
    from wire.batch.outcome import Outcome
    from wire.batch.task import Task

PROBE_S = 120.0
"""Seconds that the run has until its first request."""
DONE = "its first request is known"
STAND_IN = {"provider": "anthropic", "base_url": "http://127.0.0.1:9"}
"""In place of a cassette, which would have its tools carried out. No request gets there."""


class ProbedExtension(msgspec.Struct, frozen=True):
    state: str
    """Its last state before it was stopped, or at its end."""
    memory_bytes: int
    """The highest resident size of its processes."""
    processes: int


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One run up to its first request."""

    task: str
    reason: str = ""
    """Why it sent no request; empty if it would have."""
    model: str = ""
    request_bytes: int = 0
    """Size of the first request: system prompt, tools, those of extensions included, and prompt."""
    tools: int = 0
    max_tokens: int = 0
    """Of its reply."""
    memory_bytes: int = 0
    """Memory of all processes of the run that it does not share, with its extensions."""
    extensions: dict[str, ProbedExtension] = {}
    given_up: dict[str, str] = {}
    """Extensions that did not start, and why."""


class _Params(msgspec.Struct):
    tools: list[msgspec.Raw] = []


def probe(task: Task, request: BatchRequest, version: str, *, owns_process: bool = True) -> Probe:
    """Raises `OSError`, `UsageError`, and `KeyboardInterrupt` after a signal."""
    with scratch_folder("dry-run") as scratch:
        return _Prober(task, request, version, scratch, owns_process=owns_process).run()


class _Prober:
    """The listener of the run."""

    def __init__(self, task: Task, request: BatchRequest, version: str, scratch: Path, *, owns_process: bool) -> None:
        self._loop = Loop()
        self._said: list[str] = []
        self._id = task.id
        is_replayed = task.replay is not None or request.run.replay is not None
        env = {**task.env, **variables(task)}
        task = replace(task, id="probe", repeat=None, env=env, setup=None, check=None, score=None, replay=None)
        run = replace(request.run, replay=None, trace=False, skills=request.run.skills and not request.batch_api)
        if is_replayed:
            task = replace(task, **STAND_IN)
            run = replace(run, api_key=None, api_key_file=None)
        request = replace(request, run=run, folder=scratch, workspace="shared", command_prefix=None, score=None)
        home = run.home or zot_home()
        self._processes = Processes(
            self._loop, runtime_folder=runtime_dir(home), version=version, say=self._said.append,
            owns_process=owns_process, log=BatchLog(scratch / "batch.log"),
        )  # fmt: skip
        order = Orders(request, RunFolder(scratch), version, self._processes).order(task, 1, "")
        self._run = RunProcess(
            self._loop, order, self, launch=self._processes.launch,
            memory_of=self._processes.memory_of, spared=self._processes.spared,
        )  # fmt: skip
        self._asked: link.ModelRequest | None = None
        self._outcome: Outcome | None = None
        self._was_interrupted = False

    def run(self) -> Probe:
        loop = self._loop
        try:
            with loop.signals(stop_signals(), lambda _number: self._interrupt()):
                self._processes.open()
                self._run.start()
                loop.call_later(PROBE_S, lambda: self._end(f"no request within {PROBE_S:.0f} s"))
                loop.run_until(lambda: self._outcome is not None)
        finally:
            self._processes.close()
            loop.close()
        if self._was_interrupted:
            raise KeyboardInterrupt
        return self._probed()

    def _end(self, reason: str) -> None:
        self._run.abort(TaskStatus.INTERRUPTED, reason)

    def _interrupt(self) -> None:
        self._was_interrupted = True
        self._end("interrupted")

    def _probed(self) -> Probe:
        outcome, asked, facts = self._outcome, self._asked, self._run.facts
        assert outcome is not None
        told = {
            name: ProbedExtension(cost.state, cost.rss_peak_bytes, cost.processes_peak)
            for name, cost in outcome.extensions.items()
        }
        memory = 0 if self._run.memory is None else self._run.memory.peak
        found = Probe(task=self._id, memory_bytes=memory, extensions=told, given_up=dict(facts.given_up))
        if asked is None:
            return replace(found, reason=outcome.reason or outcome.status.value)
        params = bytes(asked.params)
        return replace(
            found,
            model=asked.model,
            request_bytes=len(params),
            tools=len(msgspec.json.decode(params, type=_Params).tools),
            max_tokens=max_tokens_of(asked),
        )

    # --- what the run tells ---------------------------------------------------------------------------------

    def run_asked(self, run: RunProcess, request: link.ModelRequest) -> None:
        self._asked = self._asked or request
        if run.memory is not None:
            run.memory.sample()
        run.request_was_free()
        self._end(DONE)

    def run_ended(self, run: RunProcess, outcome: Outcome) -> None:  # noqa: ARG002
        self._outcome = outcome

    def run_said(self, run: RunProcess, line: bytes) -> None: ...
    def run_cancelled(self, run: RunProcess) -> None: ...
    def run_is_behind(self, run: RunProcess, is_behind: bool) -> None: ...
    def run_has_no_files(self, run: RunProcess, reason: str) -> None: ...
