"""The state of a batch after the lines of its journal: tasks done and interrupted, cost of all attempts. Pure."""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING

import msgspec

from agent.batch.journal.glance import FinishedGlance, JournalLine, ScoredGlance
from agent.batch.journal.sent_batches import SentBatches
from agent.batch.reserve import NOTHING, Reserve, Spent
from wire.batch.journal_lines import (
    BatchCreated,
    BatchPlanned,
    Changed,
    Closed,
    Finished,
    Opened,
    Paused,
    Reopened,
    Resumed,
    Scored,
    Started,
)
from wire.batch.outcome import TaskStatus, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent.batch.journal.glance import OutcomeGlance
    from agent.batch.reserve import Rule
    from wire.batch.outcome import Lost, Outcome


class TaskHistory(msgspec.Struct, gc=False, array_like=True):
    """The attempts and the result of one task."""

    attempts: int = 0
    """The highest number of an attempt so far. The next one is higher, also after a restart or a `Reopened`."""
    running: int = 0
    """The attempt that has started and not finished; 0 for none. In a journal without a batch process: interrupted."""
    failed: int = 0
    """Attempts since the last reopening that were neither final nor interrupted: the retries that are used."""
    reopened_at: int = 0
    """`attempts` when it was reopened last. A result of these attempts stands until a later one has started."""
    status: TaskStatus | None = None
    """Status of the final outcome; None while the task is not done."""
    attempt: int = 0
    """The attempt of the final outcome."""
    offset: int = -1
    """Byte of the journal where the line of the final outcome begins."""
    scored: int = -1
    """Byte of the journal where the line begins that has scored the final outcome again; -1 without one."""
    digest: str = ""
    """Digest of the task as it was at its final attempt; while it is not done, at the start of its last attempt."""

    @property
    def is_done(self) -> bool:
        return self.status is not None

    @property
    def is_interrupted(self) -> bool:
        return self.running > 0 and self.status is None


class BatchState(msgspec.Struct):
    """A fold over the lines of one journal. Each task has at most one final outcome: the first since its reopening.

    `agent.batch.journal.checkpoint` keeps all fields. A change of what a line does to them raises its `VERSION`.
    """

    tasks: dict[str, TaskHistory] = {}
    """By id; without those that have no line."""
    known_cost_usd: float = 0.0
    """US dollars of all requests whose cost is known."""
    reserve: Reserve = msgspec.field(default_factory=Reserve)
    """The reserve for the other requests."""
    unknown_costs: int = 0
    """Attempts whose cost is not known."""
    attempts: int = 0
    """Attempts that have ended, in all starts, with those that no longer count."""
    stragglers: int = 0
    """Lines of attempts that came when the task was done already, or belong to a result that counts no more."""
    pauses: int = 0
    paused: dict[str, str] = {}
    """Why, by the ids of the tasks whose runs wait for a rate limit, if the batch still runs."""
    nodes: dict[str, str] = {}
    """The node of the last attempt of each task that began on one; empty for a batch on one machine."""
    sent: SentBatches = msgspec.field(default_factory=SentBatches)
    """The message batches of which not all results are recorded."""
    opened: Opened | None = None
    """The last start of the batch."""
    starts: int = 0
    """Number of starts of the batch."""
    closed: Closed | None = None
    """How the last start ended; None if it was killed, or has not ended yet."""
    changes: dict[str, Changed] = {}
    """The last change of each kind since the last start, in their order."""
    requeued: set[str] = set()
    """The done tasks that were requeued while the batch ran, and have not started since."""
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def usage(self) -> Usage:
        """Tokens of all attempts that have ended."""
        return Usage(self.input, self.output, self.cache_read, self.cache_write)

    @property
    def cost_usd(self) -> float | None:
        """US dollars of all attempts that have ended; None if the cost of one of them is unknown."""
        return None if self.unknown_costs else self.known_cost_usd

    def spent(self, rule: Rule, more: Lost = NOTHING) -> Spent:
        """By all attempts that have ended, and by `more`, lost requests of runs that have not."""
        reserved = self.reserve.usd(rule, more)
        return Spent(self.usage, round(self.known_cost_usd, 6), reserved, not self.unknown_costs)

    def history(self, task: str) -> TaskHistory:
        """The history of a task, empty if it has no line. The caller must not change it."""
        return self.tasks.get(task) or TaskHistory()

    def interrupted(self) -> Iterator[str]:
        """Ids of tasks with an attempt that has started and not finished, without those in `sent`: the provider works
        for these whether the batch process lives or not."""
        sent = self.sent.tasks
        return (
            task
            for task, history in self.tasks.items()
            if history.running and history.is_interrupted and task not in sent
        )

    def running_by_node(self) -> dict[str, list[str]]:
        """The tasks of `interrupted` whose attempt began on a node, by node."""
        found: dict[str, list[str]] = {}
        if self.nodes:
            for task in self.interrupted():
                if (node := self.nodes.get(task)) is not None:
                    found.setdefault(node, []).append(task)
        return found

    def statuses(self) -> dict[str, int]:
        """How many tasks are done with each status, by its word."""
        counts: dict[str, int] = {}
        for history in self.tasks.values():
            if history.status is not None:
                counts[history.status.value] = counts.get(history.status.value, 0) + 1
        return counts

    def statuses_of(self, tasks: Iterable[str]) -> Iterator[TaskStatus | None]:
        """The status of the result of each of these tasks; None while it is not done."""
        none, find = TaskHistory(), self.tasks.get
        return (find(task, none).status for task in tasks)

    def take(self, line: JournalLine, offset: int) -> None:
        """The next line; `offset` is the byte of the journal where it begins."""
        if isinstance(line, FinishedGlance):
            self._finished(line, offset)
        elif isinstance(line, Started):
            self._started(line)
        elif isinstance(line, Finished):
            self._finished(line, offset)
        elif isinstance(line, Paused):
            self.pauses += 1
            self.paused[line.task] = line.reason
        elif isinstance(line, Resumed):
            self.paused.pop(line.task, None)
        else:
            self._take_rare(line, offset)

    def _take_rare(self, line: JournalLine, offset: int) -> None:
        if isinstance(line, Reopened):
            self._reopened(line)
        elif isinstance(line, ScoredGlance | Scored):
            history = self._of(line.task)
            if history.status is not None and history.attempt == line.attempt:
                history.scored = offset
        else:
            self._take_of_batch(line)

    def _take_of_batch(self, line: JournalLine) -> None:
        """A line about the batch as a whole."""
        if isinstance(line, Opened):
            self.opened, self.closed = line, None
            self.paused.clear()
            self.changes.clear()
            self.starts += 1
        elif isinstance(line, BatchPlanned | BatchCreated):
            self.sent.take(line)
        elif isinstance(line, Closed):
            self.closed = line
        elif isinstance(line, Changed):
            self.changes.pop("pause" if line.what == "resume" else line.what, None)
            if line.what != "resume":
                self.changes[line.what] = line
            if line.what == "requeue" and self.history(line.task).status is not None:
                self.requeued.add(line.task)

    def _of(self, task: str) -> TaskHistory:
        history = self.tasks.get(task)
        if history is None:
            history = self.tasks[task] = TaskHistory()
        return history

    def _started(self, line: Started) -> None:
        history = self._of(line.task)
        if line.attempt > history.attempts:
            history.attempts = line.attempt
        if self._is_late(history, line.attempt):
            return
        if self.requeued:
            self.requeued.discard(line.task)
        history.running = line.attempt
        history.digest = line.digest
        if not isinstance(line.node, msgspec.UnsetType):
            self.nodes[line.task] = intern(line.node)
        elif self.nodes:
            self.nodes.pop(line.task, None)

    def _finished(self, line: FinishedGlance | Finished, offset: int) -> None:
        history, outcome, attempt = self._of(line.task), line.outcome, line.attempt
        if self.paused:
            self.paused.pop(line.task, None)
        if self.sent.open:
            self.sent.finished(line.task, attempt)
        self._pay(outcome)
        if attempt > history.attempts:
            history.attempts = attempt
        if self._is_late(history, attempt):
            return
        if history.running == attempt:
            history.running = 0
        if line.final:
            history.running = 0
            history.status, history.attempt, history.offset = outcome.status, attempt, offset
            history.digest = outcome.digest or history.digest
        elif outcome.status is not TaskStatus.INTERRUPTED:
            history.failed += 1

    def _pay(self, outcome: OutcomeGlance | Outcome) -> None:
        usage = outcome.usage
        self.attempts += 1
        self.reserve.add(outcome)
        self.input += usage.input
        self.output += usage.output
        self.cache_read += usage.cache_read
        self.cache_write += usage.cache_write
        if outcome.cost_usd is None:
            self.unknown_costs += 1
            self.known_cost_usd += outcome.known_cost_usd
        else:
            self.known_cost_usd += outcome.cost_usd

    def _is_late(self, history: TaskHistory, attempt: int) -> bool:
        """Whether lines of this attempt count no more. The first attempt after a reopening ends the result that stands
        until then."""
        if attempt <= history.reopened_at or history.attempt > history.reopened_at:
            self.stragglers += 1
            return True
        if history.status is not None:
            history.status, history.attempt, history.offset, history.failed = None, 0, -1, 0
            history.scored = -1
        return False

    def _reopened(self, line: Reopened) -> None:
        history = self._of(line.task)
        history.reopened_at = history.attempts
        if history.status is None:
            history.running = history.failed = 0
