"""Carries out one attempt of a task: makes its workspace, runs `setup`, the prompt, `check` and `score`, saves what has
changed, and says how all this ended."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from agent.batch.journal.errors import FolderError
from agent.batch.run.begin import attach_files, decode_request, run_request, set_environment
from agent.configure import prepare
from agent.confinement import NOT_STARTED, Confinement
from agent.engine.prompt_result import PromptResult
from agent.headless import Headless
from agent.request_checks import UsageError
from agent.run.session_hooks import ABORTED_S
from supervisor.cleanup.env_marks import TOKEN
from supervisor.cleanup.keeper import Keeper
from supervisor.discovery.admission import Consent
from supervisor.discovery.found_extension import ProjectCopy
from supervisor.home.safe_files import write_all
from supervisor.loop.loop import STOP_SIGNALS, Loop
from supervisor.process.shared_table import SharedProcessTable
from supervisor.process.teardown import end_descendants
from wire import events
from wire.batch.link import RunEnded, RunPhase
from wire.batch.outcome import SCORED, TaskStatus
from wire.batch.task import TaskError, decode_task
from wire.exit_codes import Status

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator

    from agent.batch.run.link import BatchLink
    from agent.batch.workspace.copy import TaskWorkspace
    from agent.configure import Prepared
    from agent.model.access import Access
    from agent.model.provider import Provider, ProviderUnavailable
    from agent.options import RunRequest
    from wire.batch.link import Begin
    from wire.batch.outcome import CommandEnd, Score
    from wire.batch.task import Task

BATCH_GONE = "the batch has gone"


class End(msgspec.Struct, frozen=True):
    """How the attempt has ended."""

    status: TaskStatus
    reason: str = ""
    may_pass: bool = False
    """Whether another attempt may end better."""


class EarlyError(Exception):
    """The attempt ends without its prompt."""

    def __init__(self, status: TaskStatus, reason: str) -> None:
        super().__init__(reason)
        self.end = End(status, reason)


class TaskRun:
    """One attempt. By the end of `run` every record is written, every process that it has started has ended, and the
    batch knows the outcome."""

    def __init__(
        self,
        link: BatchLink,
        begin: Begin,
        *,
        stdout: int = 1,
        stderr: int = 2,
        owns_process: bool = True,
        beside: Callable[[Loop], None] | None = None,
    ) -> None:
        """`owns_process` as with `Headless`. `beside` gets the loop of the prompt, before it runs."""
        self._link = link
        self._begin = begin
        self._stdout = stdout
        self._stderr = stderr
        self._owns_process = owns_process
        self._beside = beside
        self._workspace: TaskWorkspace | None = None
        self._setup: CommandEnd | None = None
        self._check: CommandEnd | None = None
        self._score: Score | None = None
        self._diff = ""
        self._confinement: Confinement | None = None
        self._prompt: Headless | None = None
        self._has_no_room = False
        self._signal = ""
        """The name of the signal that has ended `setup`, `check` or `score`."""

    def run(self) -> int:
        """Returns the exit status of the process."""
        try:
            end, exit_code = self._carry_out()
        except EarlyError as early:
            end = early.end
            exit_code = write_unstarted(self._stdout, self._stderr, end.status, end.reason)
        self._remove_worktree()
        self._link.send(
            RunEnded(
                status=end.status, reason=end.reason, may_pass=end.may_pass,
                setup=self._setup, check=self._check, score=self._score, diff=self._diff, has_no_room=self._has_no_room,
            )
        )  # fmt: skip
        return exit_code

    def _carry_out(self) -> tuple[End, int]:
        """How the attempt ended, and the exit status of the prompt. Raises `EarlyError`."""
        try:
            task = decode_task(bytes(self._begin.task))
            flags = decode_request(self._begin.request)
            request = run_request(flags, task)
            os.environ[TOKEN] = self._begin.token
            if (context := self._begin.context) is not None:
                os.environ.pop("TRACESTATE", None)
                os.environ.update(context.environment())
            set_environment(os.environ, task)
            original = request.cwd or os.getcwd()
            request = replace(request, cwd=self._prepare_folder(task, original))
            request, prompt = attach_files(request, task)
            ask = None if self._workspace is None else partial(_consent_as, request, original)
            prepared = prepare(request, self._lease, ask)
        except (TaskError, UsageError, msgspec.DecodeError) as error:
            raise EarlyError(TaskStatus.USAGE, str(error)) from None
        try:
            headless = self._headless(prepared, task, with_content=flags.otel_content)
            result = headless.run(prompt, images=prepared.images)
        finally:
            self._link.detach()
        may_pass = headless.may_pass and request.replay is None  # a cassette says the same each time
        end = End(TaskStatus(result.status), result.reason, may_pass)
        end = self._save_diff(end)
        if task.check is not None and end.status is TaskStatus.OK:
            end = self._run_check(task.check, prepared.options.cwd)
        if task.score is not None and end.status in SCORED:
            end = self._run_score(task.score, prepared.options.cwd, end, result.text)
        return end, result.exit_code

    # --- before the prompt ----------------------------------------------------------------------------------

    def _prepare_folder(self, task: Task, folder: str) -> str:
        """Makes the workspace and runs `setup`. Returns the working folder. Raises `EarlyError`."""
        is_prepared = self._begin.workspace or task.setup is not None or self._begin.prefix
        if is_prepared:
            self._link.send(RunPhase("setup"))
        if self._begin.workspace:
            folder = self._make_workspace(folder)
        if task.setup is not None:
            self._run_setup(task.setup, folder)
        if self._begin.prefix:
            self._confine(folder)
        if task.setup is not None or self._begin.prefix:
            self._link.send(RunPhase("starting"))
        return folder

    def _run_setup(self, command: str, folder: str) -> None:
        """Raises `EarlyError`."""
        self._setup = self._command(command, folder)
        self._raise_if_ended()
        if self._setup.exit_status:
            from agent.batch.workspace.commands import failure

            raise EarlyError(TaskStatus.SETUP_FAILED, failure("setup", self._setup))

    def _confine(self, folder: str) -> None:
        """Tries the prefix of `--in` before anything is paid for. Raises `EarlyError`."""
        from agent.batch.workspace.command_prefix import fill_prefix

        root = os.path.abspath(folder)
        if self._workspace is not None:
            root = str(self._workspace.path)
            self._workspace = replace(self._workspace, is_confined=True)
        self._confinement = Confinement(root, fill_prefix(self._begin.prefix, root), self._end_without_prefix)
        if reason := self._prefix_fault(folder):
            raise EarlyError(TaskStatus.SETUP_FAILED, reason)

    def _prefix_fault(self, folder: str) -> str:
        """Why the prefix of `--in` cannot start a command; "" if it can. Raises `EarlyError`."""
        from agent.batch.workspace.command_prefix import PROBE, probe_fault

        end = self._command(PROBE, folder, confinement=self._confinement)
        self._raise_if_ended()
        return probe_fault(end)

    def _prefix_fault_after(self, end: CommandEnd | None, folder: str) -> str:
        """Why a command that ended in this way was not started by the prefix; "" if it was. Raises `EarlyError`."""
        if self._confinement is None or end is None or end.exit_status not in NOT_STARTED:
            return ""
        return self._prefix_fault(folder)

    def _make_workspace(self, folder: str) -> str:
        from agent.batch.workspace.copy import WorkspaceError, make_workspace, workspace_environment

        wanted = Path(self._begin.workspace)
        batch = wanted.parent.parent
        try:
            if (base := self._begin.base) is not None:
                from agent.batch.workspace.worktree import make_worktree

                self._workspace = make_worktree(folder, base, batch, wanted.name)
            else:
                self._workspace = make_workspace(folder, batch, wanted.name)
        except WorkspaceError as error:
            self._has_no_room = error.has_no_room
            status = TaskStatus.INTERRUPTED if error.has_no_room else TaskStatus.SETUP_FAILED
            raise EarlyError(status, str(error)) from None
        for note in self._workspace.notes:
            self._say(note)
        os.environ.update(workspace_environment(batch))
        return str(self._workspace.cwd or self._workspace.path)

    # --- the prompt -----------------------------------------------------------------------------------------

    def _headless(self, prepared: Prepared, task: Task, *, with_content: bool) -> Headless:
        def make_provider(loop: Loop) -> Provider | ProviderUnavailable:
            self._link.attach(loop)
            if self._beside is not None:
                self._beside(loop)
            return prepared.make_provider(loop)

        headless = Headless(
            replace(
                prepared.options, keeper=Keeper(self._begin.token, task.id), confinement=self._confinement,
                trace_context=self._begin.context, otel_content=with_content,
            ),
            version=self._begin.version,
            make_provider=make_provider,
            readers=(self._on_record,),
            owns_process=self._owns_process,
            stdout=self._stdout,
            stderr=self._stderr,
            end_within_s=ABORTED_S,  # other tasks wait for the place of this one
            send_spans=self._link.send_spans,
        )  # fmt: skip
        self._link.on_end = lambda: self._end_early(headless)
        self._prompt = headless
        return headless

    def _lease(self, _loop: Loop, access: Access) -> Provider:
        from agent.batch.run.leased_provider import LeasedProvider  # a replayed run has no server

        return LeasedProvider(access, self._link, self._begin.run)

    def _on_record(self, record: events.Record) -> None:
        if isinstance(record, events.Session):
            self._link.send(RunPhase("running"))

    def _end_without_prefix(self, reason: str) -> None:
        assert self._prompt is not None
        self._prompt.end(Status.ERROR, reason)

    def _end_early(self, headless: Headless) -> None:
        """The batch wants the run to end, or has gone."""
        if self._link.abort is not None:
            headless.end(Status(self._link.abort.status), self._link.abort.reason)
        if self._link.is_lost:
            headless.end(Status.INTERRUPTED, BATCH_GONE, at_once=True)

    # --- after the prompt -----------------------------------------------------------------------------------

    def _save_diff(self, end: End) -> End:
        if self._workspace is None:
            return end
        from agent.batch.workspace.diff import save_diff

        self._link.send(RunPhase("check"))
        wanted = Path(self._begin.workspace)
        try:
            self._diff = save_diff(self._workspace, wanted.parent.parent, wanted.name)
        except (OSError, FolderError) as error:
            why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
            reason = f"what the run has changed cannot be saved: {why}"
            self._say(reason)
            return End(TaskStatus.ERROR, reason) if end.status is TaskStatus.OK else end
        return end

    def _remove_worktree(self) -> None:
        """A worktree is kept as its patch only."""
        if self._workspace is None or self._begin.base is None:
            return
        from agent.batch.workspace.worktree import remove_worktree

        if trouble := remove_worktree(self._workspace.path, self._begin.base.common):
            self._say(f"the worktree cannot be removed: {trouble}")

    def _run_check(self, command: str, cwd: str) -> End:
        from agent.batch.workspace.commands import failure

        self._link.send(RunPhase("check"))
        self._check = self._command(command, cwd, confinement=self._confinement)
        try:
            self._raise_if_ended()
            if reason := self._prefix_fault_after(self._check, cwd):
                return End(TaskStatus.ERROR, reason)
        except EarlyError as early:
            return early.end
        if self._check.exit_status:
            return End(TaskStatus.CHECK_FAILED, failure("check", self._check))
        return End(TaskStatus.OK)

    def _run_score(self, command: str, cwd: str, end: End, text: str) -> End:
        """The end stays as it is, unless the batch or a signal interrupts the command."""
        from agent.batch.scoring.score_command import run_score

        self._link.send(RunPhase("score"))
        diff = str(Path(self._begin.workspace).parent.parent / self._diff) if self._diff else ""
        with self._loop() as loop:
            score = run_score(
                loop, command, cwd=cwd, status=end.status.value, text=text, diff=diff, is_stopped=self._is_interrupted,
                confinement=self._confinement,
            )  # fmt: skip
        if self._is_interrupted():
            words = self._link.interruption.reason if self._link.interruption is not None else self._end_words()
            return End(TaskStatus.INTERRUPTED, words)
        try:
            reason = self._prefix_fault_after(score.command, cwd)
        except EarlyError as early:
            return early.end
        self._score = replace(score, value=None, values={}, reason=reason) if reason else score
        return end

    # --- commands -------------------------------------------------------------------------------------------

    def _command(self, command: str, cwd: str, *, confinement: Confinement | None = None) -> CommandEnd:
        """Carries out `setup` or `check`, and ends what it has left in the background."""
        from agent.batch.workspace.commands import run_command

        with self._loop() as loop:
            return run_command(loop, command, cwd=cwd, is_stopped=self._is_ended, confinement=confinement)

    @contextmanager
    def _loop(self) -> Iterator[Loop]:
        """A loop that hears of the batch and of signals. At the end no process of this one is left."""
        loop = Loop()
        self._link.on_end = lambda: None
        self._link.attach(loop)
        table = SharedProcessTable(loop)
        table.adopt_orphans()
        try:
            with loop.signals(STOP_SIGNALS, self._on_signal):
                yield loop
                end_descendants(loop, shared_table=table)
        finally:
            self._link.detach()
            loop.close()

    def _on_signal(self, number: signal.Signals) -> None:
        self._signal = self._signal or number.name

    def _is_ended(self) -> bool:
        return self._link.abort is not None or self._is_interrupted()

    def _is_interrupted(self) -> bool:
        """Whether the attempt has ended for another reason than that its time is over."""
        return bool(self._signal) or self._link.interruption is not None or self._link.is_lost

    def _raise_if_ended(self) -> None:
        """Raises `EarlyError` if the batch or a signal has ended the attempt."""
        abort = self._link.abort
        if abort is not None:
            raise EarlyError(TaskStatus(abort.status), abort.reason)
        if self._is_ended():
            raise EarlyError(TaskStatus.INTERRUPTED, self._end_words())

    def _end_words(self) -> str:
        return f"interrupted by {self._signal}" if self._signal else BATCH_GONE

    def _say(self, line: str) -> None:
        os.write(self._stderr, f"zot: {line}\n".encode("utf-8", "backslashreplace"))


def _consent_as(request: RunRequest, original: str, cwd: str, _home: Path) -> Consent:
    """The consent for a run in a copy of a project: there runs what is trusted in the original."""
    content = frozenset(request.trusted_content)
    return Consent(whole_project=request.trust_project, copy=ProjectCopy.of(cwd, original), content=content)


def write_unstarted(stdout: int, stderr: int, status: TaskStatus, reason: str) -> int:
    """Writes `error`, `result` and `done`, and the reason to standard error. A status that no run has of itself becomes
    `error`. Returns the exit status of the process."""
    word = next((each for each in Status if each.value == status.value), Status.ERROR)
    records = (events.Error(reason), PromptResult(word, reason).record(), events.Done())
    with suppress(OSError):  # the batch has gone, or the disk is full
        write_all(stderr, f"zot: {reason}\n".encode("utf-8", "backslashreplace"))
    with suppress(OSError):
        write_all(stdout, b"".join(map(events.encode, records)))
    return word.exit_code
