"""Reads the folder of a batch, also while the batch runs, or after it was killed."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import msgspec

from agent.batch.journal.errors import FolderError, JournalError
from agent.batch.journal.glance import FinishedGlance, OutcomeGlance
from agent.batch.journal.own_files import open_own
from agent.batch.journal.reader import JournalReader
from agent.batch.journal.state import BatchState
from agent.batch.reserve import rule_in
from cli.number_format import plural
from cli.report.batch.figures import (
    REASON_CHARACTERS,
    Attempt,
    BatchFigures,
    ExtensionUse,
    Phase,
    State,
    TaskFigures,
)
from cli.report.batch.workload import Workload
from cli.report.reading.recording import InputError
from wire.batch.journal_lines import (
    Closed,
    Finished,
    JournalLineError,
    Opened,
    Paused,
    Reopened,
    Resumed,
    Started,
    UnknownLineError,
    decode_with,
)
from wire.batch.outcome import Usage
from wire.events import Cost  # noqa: TC001  (msgspec reads the annotations)
from wire.text import printable

Number = TypeVar("Number", int, float)

if TYPE_CHECKING:
    from pathlib import Path

    from agent.batch.journal.folder import RunFolder
    from wire.batch.outcome import Outcome


SANE = 10**15
"""The highest number that is believed. Sums of higher ones could be infinite, and a page could not be computed."""


class _SeenOutcome(OutcomeGlance, frozen=True, kw_only=True, gc=False):
    """What the page of a batch shows of an outcome: not its texts."""

    reason: str = ""
    error_kind: str = ""
    may_pass: bool = False
    duration_ms: int = 0
    paused_ms: int = 0
    memory_peak_bytes: int = 0
    model: str = ""
    extensions: dict[str, Cost] = msgspec.field(default_factory=dict)


class _SeenFinished(FinishedGlance, frozen=True, kw_only=True, tag="finished"):
    outcome: _SeenOutcome


_SeenLine = Opened | Started | Paused | Resumed | _SeenFinished | Reopened | Closed
_seen_line: msgspec.json.Decoder[_SeenLine] = msgspec.json.Decoder(_SeenLine)
_finished = msgspec.json.Decoder(Finished)


def read_batch(folder: RunFolder, now: float) -> BatchFigures:
    """The figures of the batch. `now` is the unix time, for a batch that still runs. Raises `InputError`."""
    notes: list[str] = []
    try:
        is_running, _ = folder.running()
        batch = folder.read_batch()
        fold = _Fold(_listed(folder, notes))
        torn = fold.read(folder.journal)
    except (FolderError, JournalError) as error:
        raise InputError(printable(str(error))) from None
    except OSError as error:
        raise InputError(f"{printable(str(folder.journal))}: cannot be read: {error.strerror}") from None
    state = fold.state
    phase = _phase(state, is_running=is_running)
    if torn and phase is not Phase.RUNNING:
        notes.append(torn)
    if phase is Phase.RUNNING:
        fold.workload.until(now)
    began = fold.workload.starts[0][1] if fold.workload.starts else None
    return BatchFigures(
        name=os.path.basename(os.path.abspath(folder.path)),
        phase=phase,
        closed=state.closed.reason if state.closed is not None else "",
        version=state.opened.version if state.opened is not None else batch.version if batch is not None else "",
        starts=state.starts,
        jobs=state.opened.jobs if state.opened is not None else 0,
        began=began,
        tasks=fold.finished_tasks(is_running=phase is Phase.RUNNING),
        attempts=state.attempts,
        known_cost_usd=_sane(state.known_cost_usd),
        unknown_costs=state.unknown_costs,
        reserved_usd=_sane(state.reserve.usd(rule_in({} if batch is None else batch.settings))),
        usage=state.usage if _is_sane(state.usage) else Usage(),
        workload=fold.workload,
        extensions=sorted(fold.extensions.values(), key=lambda use: (-use.cpu_s, -use.calls, use.name)),
        models=[model for model, _ in fold.models.most_common()],
        notes=notes,
    )


def _phase(state: BatchState, *, is_running: bool) -> Phase:
    if state.closed is not None:
        return Phase.ENDED
    if is_running:
        return Phase.RUNNING
    return Phase.KILLED if state.starts else Phase.NOT_BEGUN


def _listed(folder: RunFolder, notes: list[str]) -> list[str]:
    """Ids of the tasks file."""
    found: list[str] = []
    try:
        found.extend(task.id for task in folder.read_tasks())
    except FolderError as error:
        notes.append(f"Tasks that were not begun may be missing here: {printable(str(error))}")
    return found


class _Fold:
    """What the lines of the journal amount to."""

    def __init__(self, listed: list[str]) -> None:
        self.state = BatchState()
        self.workload = Workload()
        self.extensions: dict[str, ExtensionUse] = {}
        self.models: Counter[str] = Counter()
        self._tasks = {task: TaskFigures(task) for task in listed}

    def read(self, journal: Path) -> str:
        """Takes all lines. Returns what is wrong with the end of the journal, if anything is. Raises `JournalError`,
        `FolderError` and `OSError`."""
        try:
            fd = open_own(journal)
        except FileNotFoundError:
            return ""
        try:
            reader = JournalReader[_SeenLine](journal, fd, _seen_line)
            for line, offset in reader:
                self.workload.take(line)
                self.state.take(line, offset)
                if isinstance(line, _SeenFinished):
                    self._finished(line, offset)
        finally:
            os.close(fd)
        if reader.torn is None:
            return ""
        return (
            f"The journal has a torn end: {plural(reader.torn.size, 'byte')} from line {reader.torn.line} on "
            f"({reader.torn.reason}). The batch was killed while it wrote them; nobody was told of them, and all that "
            "was told is shown."
        )

    def _task(self, task: str) -> TaskFigures:
        held = self._tasks.get(task)
        if held is None:
            held = self._tasks[task] = TaskFigures(task, is_listed=False)
        return held

    def _finished(self, line: _SeenFinished, offset: int) -> None:
        outcome = line.outcome
        for name, cost in outcome.extensions.items():
            if not _is_sane(cost):
                continue
            use = self.extensions.get(name)
            if use is None:
                use = self.extensions[name] = ExtensionUse(name)
            use.add(cost)
        if self.state.tasks[line.task].offset == offset and outcome.model:
            self.models[outcome.model] += 1
        self._task(line.task).attempts.append(
            Attempt(
                number=line.attempt,
                status=outcome.status,
                reason=outcome.reason[:REASON_CHARACTERS],
                offset=offset,
                duration_s=_sane(outcome.duration_ms) / 1000,
                paused_s=_sane(outcome.paused_ms) / 1000,
                cost_usd=None if outcome.cost_usd is None else _sane(outcome.cost_usd),
                usage=outcome.usage if _is_sane(outcome.usage) else Usage(),
                memory_peak_bytes=_sane(outcome.memory_peak_bytes),
                model=outcome.model,
                error_kind=outcome.error_kind,
                may_pass=outcome.may_pass,
            )
        )

    def finished_tasks(self, *, is_running: bool) -> list[TaskFigures]:
        """All tasks, with their states."""
        for id_, history in self.state.tasks.items():
            task = self._task(id_)
            for attempt in task.attempts:
                attempt.is_final = attempt.offset == history.offset
            if history.status is not None:
                task.state = history.status
            elif history.running:
                task.state = State.RUNNING if is_running else State.INTERRUPTED
                task.running = history.running
        return list(self._tasks.values())


def outcome_at(journal: Path, offset: int) -> Outcome | None:
    """The whole outcome of an attempt; None if the journal cannot be read there any more, or has numbers there that
    cannot be."""
    try:
        with open(open_own(journal), "rb") as file:
            file.seek(offset)
            line: Finished = decode_with(_finished, file.readline().removesuffix(b"\n"))
    except (OSError, FolderError, JournalLineError, UnknownLineError):
        return None
    outcome = line.outcome
    parts = (outcome.usage, outcome.setup, outcome.check, *outcome.extensions.values())
    return outcome if _is_sane(outcome) and all(part is None or _is_sane(part) for part in parts) else None


def _sane(value: Number) -> Number:
    return max(-SANE, min(value, SANE))


def _is_sane(value: msgspec.Struct) -> bool:
    """Whether the numbers of a structure, without those of its parts, can be computed with."""
    fields = (getattr(value, name) for name in value.__struct_fields__)
    return all(-SANE <= field <= SANE for field in fields if isinstance(field, (int, float)))
