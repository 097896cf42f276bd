"""Reads the folder of a batch, also while the batch runs, or after it was killed."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from agent.batch.journal.errors import FolderError, JournalError
from agent.batch.journal.glance import FinishedGlance, OutcomeGlance
from agent.batch.journal.reader import JournalReader
from agent.batch.journal.rundir_files import open_rundir_file
from agent.batch.journal.shards import BatchResults, Shard, definitions
from agent.batch.journal.state import BatchState
from agent.batch.opening.settings import FLAGS
from cli.number_format import plural
from cli.report.batch.figures import (
    REASON_CHARACTERS,
    AttemptFigures,
    BatchFigures,
    BatchPhase,
    ExtensionUse,
    OpenTaskState,
    TaskFigures,
)
from cli.report.batch.reasons import telling_lines
from cli.report.batch.workload import Workload
from cli.report.input.recorded_run import InputError
from wire.batch.journal_lines import (
    Changed,
    Closed,
    Finished,
    JournalLineError,
    Opened,
    Paused,
    Reopened,
    Resumed,
    Scored,
    Started,
    UnknownLineError,
    decode_with,
)
from wire.batch.outcome import CommandEnd, TaskStatus, Usage
from wire.events import Cost, HostedShare
from wire.text import printable

Number = TypeVar("Number", int, float)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent.batch.journal.folder import RunFolder
    from agent.batch.journal.shards import Prefer
    from wire.batch.outcome import Outcome
    from wire.batch.task import Task

PHASES = (BatchPhase.RUNNING, BatchPhase.KILLED, BatchPhase.ENDED, BatchPhase.NOT_BEGUN)
"""Phases by precedence: the batch of several folders has the first of these that one of its folders has."""
SANE = 10**15
"""The highest number that is believed. Sums of higher ones could be infinite, and a page could not be computed."""


META_KEYS, META_CHARACTERS = 24, 60
"""Maximum number of `meta` keys of a task that are looked at, and the length of their values."""


class _ScoreFigures(msgspec.Struct, frozen=True, gc=False):
    value: float | None


class _OutcomeFigures(OutcomeGlance, frozen=True, kw_only=True, gc=False):
    """The part of an outcome that the page of a batch shows: all but its long texts."""

    reason: str = ""
    error_kind: str = ""
    may_pass: bool = False
    duration_ms: int = 0
    paused_ms: int = 0
    memory_peak_bytes: int = 0
    model: str = ""
    node: str = ""
    setup: CommandEnd | None = None
    check: CommandEnd | None = None
    score: _ScoreFigures | None = None
    extensions: dict[str, Cost] = msgspec.field(default_factory=dict)


class _FinishedFigures(FinishedGlance, frozen=True, kw_only=True, tag="finished"):
    outcome: _OutcomeFigures


_SeenLine = Opened | Started | Paused | Resumed | _FinishedFigures | Reopened | Scored | Changed | Closed
_seen_line: msgspec.json.Decoder[_SeenLine] = msgspec.json.Decoder(_SeenLine)
_finished = msgspec.json.Decoder(Finished)
_scored = msgspec.json.Decoder(Scored)


def read_batch(folders: Sequence[RunFolder], now: float, prefer: Prefer | None = None) -> BatchFigures:
    """The figures of the batch in these folders. `now` is the unix time, for a batch that still runs; `prefer` is as
    for `BatchResults`. Raises `InputError`."""
    fold = _JournalFold(now)
    for folder in folders:
        try:
            fold.read(folder)
        except (FolderError, JournalError) as error:
            raise InputError(printable(str(error))) from None
        except OSError as error:
            raise InputError(f"{printable(str(folder.journal))}: cannot be read: {error.strerror}") from None
    try:
        results = BatchResults(fold.shards, prefer)
        spent = results.spent()
    except FolderError as error:
        raise InputError(printable(str(error))) from None
    tasks = fold.finished_tasks(results)
    states = [shard.state for shard in fold.shards]
    phase = min(fold.phases, key=PHASES.index)
    closed = [state.closed for state in states if state.closed is not None]
    early = next((line for line in closed if line.reason != "done"), None)
    last = max((state.opened for state in states if state.opened is not None), key=lambda line: line.t, default=None)
    models = Counter(one.model for task in tasks for one in task.attempts if one.is_final and one.model)
    return BatchFigures(
        name=", ".join(map(_name, folders)),
        results=results,
        phase=phase,
        closed="" if not closed else "done" if early is None else early.reason,
        limit="" if early is None else early.limit,
        flags=fold.flags,
        version=last.version if last is not None else fold.version,
        starts=sum(state.starts for state in states),
        jobs=last.jobs if last is not None else 0,
        began=min((at for _, at, _ in fold.workload.starts), default=None),
        tasks=tasks,
        attempts=sum(state.attempts for state in states),
        known_cost_usd=_sane(spent.known_usd),
        unknown_costs=sum(state.unknown_costs for state in states),
        reserved_usd=_sane(spent.reserved_usd),
        usage=spent.usage if _is_sane(spent.usage) else Usage(),
        workload=fold.workload,
        extensions=sorted(
            fold.extensions.values(), key=lambda use: (-use.cpu_s - use.cpu_share_s, -use.calls, use.name)
        ),
        models=[model for model, _ in models.most_common()],
        notes=fold.notes,
    )


def _name(folder: RunFolder) -> str:
    return os.path.basename(os.path.abspath(folder.path))


def _phase(state: BatchState, *, is_running: bool) -> BatchPhase:
    if state.closed is not None:
        return BatchPhase.ENDED
    if is_running:
        return BatchPhase.RUNNING
    return BatchPhase.KILLED if state.starts else BatchPhase.NOT_BEGUN


class _JournalFold:
    """Sums up the lines of the journals."""

    def __init__(self, now: float) -> None:
        self.shards: list[Shard] = []
        self.phases: list[BatchPhase] = []
        self.version = ""
        """Version in `batch.json`, for a batch that has not begun."""
        self.workload = Workload()
        self.extensions: dict[str, ExtensionUse] = {}
        self.notes: list[str] = []
        self.flags: dict[str, Any] = {}
        self._now = now
        self._tasks: dict[str, TaskFigures] = {}
        self._before: Counter[str] = Counter()
        """Attempts of each task in the folders that were read before."""

    def read(self, folder: RunFolder) -> None:
        """Takes all lines of a folder. Raises `JournalError`, `FolderError` and `OSError`."""
        is_running, _ = folder.running()
        if (batch := folder.read_batch()) is not None:
            self.version = batch.version
            flags = batch.settings.get(FLAGS)
            self.flags = flags if isinstance(flags, dict) else {}
        shard = Shard(folder, BatchState(), self._listed(folder))
        try:
            fd = open_rundir_file(folder.journal)
        except FileNotFoundError:
            torn = None
        else:
            try:
                reader = JournalReader[_SeenLine](folder.journal, fd, _seen_line)
                for line, offset in reader:
                    self.workload.take(line)
                    shard.state.take(line, offset)
                    self._take(line, offset)
            finally:
                os.close(fd)
            torn = reader.torn
        self.shards.append(shard)
        self.phases.append(phase := _phase(shard.state, is_running=is_running))
        for id_, history in shard.state.tasks.items():
            if history.is_interrupted:
                task = self._task(id_)
                task.state = OpenTaskState.RUNNING if phase is BatchPhase.RUNNING else OpenTaskState.INTERRUPTED
                task.running = self._before[id_] + history.running
                task.last_node = shard.state.nodes.get(id_, "")
            self._before[id_] += history.attempts
        if phase is BatchPhase.RUNNING:
            self.workload.until(self._now)
        elif torn is not None:
            self.notes.append(
                f"The journal of {printable(_name(folder))} has a torn end: {plural(torn.size, 'byte')} from line "
                f"{torn.line} on ({torn.reason}). The batch was killed while it wrote them; no reader got them, "
                "and all that readers got is shown."
            )

    def _listed(self, folder: RunFolder) -> dict[str, int]:
        found: dict[str, int] = {}
        try:
            for task in folder.read_tasks():
                found |= definitions([task])
                held = self._tasks.setdefault(task.id, TaskFigures(task.id))
                held.is_listed, held.repeat, held.meta = True, task.repeat, _short_meta(task)
        except FolderError as error:
            self.notes.append(f"Tasks that were not begun may be missing here: {printable(str(error))}")
        return found

    def _task(self, task: str) -> TaskFigures:
        held = self._tasks.get(task)
        if held is None:
            held = self._tasks[task] = TaskFigures(task, is_listed=False)
        return held

    def _take(self, line: _SeenLine, offset: int) -> None:
        if isinstance(line, _FinishedFigures):
            self._finished(line, offset)
        elif isinstance(line, Scored):
            self._score(line, offset)

    def _finished(self, line: _FinishedFigures, offset: int) -> None:
        outcome = line.outcome
        for name, cost in outcome.extensions.items():
            if not _is_sane(cost):
                continue
            use = self.extensions.get(name)
            if use is None:
                use = self.extensions[name] = ExtensionUse(name)
            use.add(cost, outcome.node)
        self._task(line.task).attempts.append(
            AttemptFigures(
                number=self._before[line.task] + line.attempt,
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
                said=_failed_output(outcome),
                score=None if outcome.score is None else _sane_score(outcome.score.value),
                is_unscored=outcome.score is not None and outcome.score.value is None,
                node=outcome.node,
            )
        )

    def _score(self, line: Scored, offset: int) -> None:
        number = self._before[line.task] + line.attempt
        for one in self._task(line.task).attempts:
            if one.number == number:
                one.score, one.rescored = _sane_score(line.score.value), offset
                one.is_unscored = line.score.value is None

    def finished_tasks(self, results: BatchResults) -> list[TaskFigures]:
        """All tasks, with their states."""
        for id_ in results.done:
            task, history = self._task(id_), results.history(id_)
            assert history.status is not None
            task.state, task.running = history.status, 0
            for attempt in task.attempts:
                folder, _ = results.locate(id_, attempt.number)
                attempt.is_final = attempt.offset == history.offset and folder is results.folder_of(id_)
        return sorted(self._tasks.values(), key=lambda task: not task.is_listed)


def outcome_at(journal: Path, offset: int, rescored: int | None = None) -> Outcome | None:
    """The whole outcome of an attempt, with the score of the line at `rescored` if it has one; None if the journal can
    no longer be read there, or has impossible numbers."""
    line = _line_at(journal, offset, _finished)
    if line is None:
        return None
    outcome: Outcome = line.outcome
    if rescored is not None and (scored := _line_at(journal, rescored, _scored)) is not None:
        outcome = replace(outcome, score=scored.score)
    score = outcome.score
    parts = (
        *(outcome.usage, outcome.setup, outcome.check, score, score and score.command),
        *outcome.extensions.values(),
    )
    return outcome if _is_sane(outcome) and all(part is None or _is_sane(part) for part in parts) else None


def _line_at(journal: Path, offset: int, decoder: msgspec.json.Decoder[Any]) -> Any:
    """None if the journal has no such line there."""
    try:
        with open(open_rundir_file(journal), "rb") as file:
            file.seek(offset)
            return decode_with(decoder, file.readline().removesuffix(b"\n"))
    except (OSError, FolderError, JournalLineError, UnknownLineError):
        return None


def _failed_output(outcome: _OutcomeFigures) -> str:
    """The telling lines of the command that has failed; empty if none has."""
    ends = {TaskStatus.SETUP_FAILED: outcome.setup, TaskStatus.CHECK_FAILED: outcome.check}
    end = ends.get(outcome.status)
    return "" if end is None else telling_lines(end.output)


def _short_meta(task: Task) -> dict[str, str]:
    """The values of `meta` that may name a kind of task: not lists, objects or long texts."""
    found = {}
    for key, value in list(task.meta.items())[:META_KEYS]:
        text = value if isinstance(value, str) else _plain_text(value)
        if text.strip() and len(text) <= META_CHARACTERS and len(key) <= META_CHARACTERS:
            found[sys.intern(key)] = sys.intern(text)
    return found


def _plain_text(value: Any) -> str:
    """Empty for a list, an object, and a number that nobody would group by."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, (int, float)) and abs(value) <= SANE else ""


def _sane_score(value: float | None) -> float | None:
    return None if value is None else _sane(value)


def _sane(value: Number) -> Number:
    return max(-SANE, min(value, SANE))


def _is_sane(value: msgspec.Struct) -> bool:
    """Whether the numbers of a structure, without those of its parts but shares of hosts, can be computed with."""
    fields = [getattr(value, name) for name in value.__struct_fields__]
    shares = (field for field in fields if isinstance(field, HostedShare))
    numbers = (field for field in fields if isinstance(field, (int, float)))
    return all(-SANE <= number <= SANE for number in numbers) and all(map(_is_sane, shares))
