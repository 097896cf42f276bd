"""The figures of a batch, as its pages show them. Times are seconds; `unix` ones are since 1970."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

from agent.batch.evaluation.evaluation import Evaluation
from agent.batch.evaluation.repetitions import has_passed
from agent.batch.tasks.repeat import base_id
from cli.report.batch.workload import Workload
from wire.batch.outcome import TaskStatus, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.batch.journal.shards import BatchResults
    from wire.events import Cost


class BatchPhase(Enum):
    """How a batch stands, or how it ended."""

    NOT_BEGUN = "not begun"
    """Its journal has no line."""
    RUNNING = "running"
    """A batch process works on it now."""
    ENDED = "ended"
    """The last batch process has ended in good order; `closed` says why."""
    KILLED = "killed"
    """The last batch process is gone, without a reason."""


class OpenTaskState(Enum):
    """State of a task without a final outcome; one with an outcome has a `TaskStatus`."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    """It was begun, and its batch process has ended."""
    NOT_RUN = "not_run"


class AttemptFigures(msgspec.Struct, gc=False):
    """One attempt that has ended."""

    number: int
    status: TaskStatus
    reason: str
    """Cut to `REASON_CHARACTERS`."""
    offset: int
    """Byte of the journal where its line begins: the rest of its outcome is read from there."""
    duration_s: float
    """`paused_s` included."""
    paused_s: float
    cost_usd: float | None
    usage: Usage
    memory_peak_bytes: int
    model: str
    is_final: bool = False
    error_kind: str = ""
    """As in the outcome."""
    may_pass: bool = False
    said: str = ""
    """First telling lines of its failed `setup` or `check`."""
    score: float | None = None
    """None without a score, and if its command told none."""
    is_unscored: bool = False
    """Whether its score command told no score."""
    rescored: int | None = None
    """Byte of the journal where the line with its present score begins; None for the score of its outcome."""
    node: str = ""
    """The node that ran it; empty for the machine of the batch."""

    @property
    def has_score_command(self) -> bool:
        return self.score is not None or self.is_unscored


REASON_CHARACTERS = 2000


class TaskFigures(msgspec.Struct):
    """One task, with all its attempts."""

    id: str
    state: TaskStatus | OpenTaskState = OpenTaskState.NOT_RUN
    running: int = 0
    """The attempt that runs or was interrupted; 0 for none."""
    last_node: str = ""
    """The node of the last attempt; empty for the machine of the batch."""
    attempts: list[AttemptFigures] = []
    """Attempts that have ended, in the order of the journal."""
    is_listed: bool = True
    """Whether the tasks file has it."""
    repeat: int | None = None
    """Number of the repetition; None if the task runs once."""
    meta: dict[str, str] = {}
    """The short values of its `meta`, as text."""

    @property
    def final(self) -> AttemptFigures | None:
        return next((one for one in self.attempts if one.is_final), None)

    @property
    def told(self) -> AttemptFigures | None:
        """The attempt that counts: the final one, else the last that has ended."""
        return self.final or (self.attempts[-1] if self.attempts else None)

    @property
    def node(self) -> str:
        """The node of the attempt that counts, or of the one that runs; empty for the machine of the batch."""
        told = self.final or (None if self.running or not self.attempts else self.attempts[-1])
        return self.last_node if told is None else told.node

    @property
    def latest(self) -> int:
        """Number of the attempt whose events tell most: the final one, the one that runs, or the last; 0 for none."""
        final = self.final
        if final is not None:
            return final.number
        return self.running or (self.attempts[-1].number if self.attempts else 0)

    @property
    def cost_usd(self) -> float | None:
        """US dollars of all attempts that have ended; None without any, or if the cost of one is unknown."""
        total = 0.0
        for one in self.attempts:
            if one.cost_usd is None:
                return None
            total += one.cost_usd
        return total if self.attempts else None

    @property
    def tokens(self) -> int:
        return sum(one.usage.total for one in self.attempts)

    @property
    def is_ok(self) -> bool:
        return self.state is TaskStatus.OK

    @property
    def has_failed(self) -> bool:
        """Whether it has ended, and not with `ok`."""
        return isinstance(self.state, TaskStatus) and self.state is not TaskStatus.OK

    @property
    def base(self) -> str:
        """Id of the task that it repeats; its own id if it runs once."""
        return base_id(self.id, self.repeat)

    @property
    def score(self) -> float | None:
        final = self.final
        return None if final is None else final.score

    @property
    def has_passed(self) -> bool:
        """Whether it is ok, and has no score command or a score of at least 1."""
        final = self.final
        return final is not None and has_passed(final.status, final.score, has_command=final.has_score_command)


class ExtensionUse(msgspec.Struct):
    """The use of one extension, summed over all attempts."""

    name: str
    runs: int = 0
    """Attempts that have it."""
    calls: int = 0
    errors: int = 0
    timeouts: int = 0
    blocks: int = 0
    restarts: int = 0
    unexpected_exits: int = 0
    lost: int = 0
    """Events and notes that were dropped."""
    cpu_s: float = 0.0
    rss_peak_bytes: int = 0
    """The highest of any attempt."""
    p99_ms: float | None = None
    """The slowest of any attempt."""
    start_wait_s: float = 0.0
    """Seconds that requests waited for its starts, because it starts when it is needed."""
    model_tokens: int | None = None
    """Tokens of its tools' definitions and results in all requests to the model; None if no attempt has any."""
    model_usd: float | None = 0.0
    """US dollars of these; None if those of an attempt are unknown."""
    hosted_runs: int = 0
    """Attempts that have taken it from a host."""
    cpu_share_s: float = 0.0
    """CPU seconds of a host's process, by the shares of these attempts."""
    host_rss_bytes: dict[tuple[str, int], int] = {}
    """The highest resident size in each host, by its node and pid: it is there once for all its runs."""

    def add(self, cost: Cost, node: str = "") -> None:
        self.runs += 1
        self.calls += cost.calls
        self.errors += cost.errors
        self.timeouts += cost.timeouts
        self.blocks += cost.blocks
        self.restarts += cost.restarts
        self.unexpected_exits += cost.unexpected_exits or 0
        self.lost += cost.events_dropped + cost.notes_dropped
        self.cpu_s += cost.cpu_ms / 1000
        self.rss_peak_bytes = max(self.rss_peak_bytes, cost.rss_peak_bytes)
        if cost.p99_ms is not None:
            self.p99_ms = max(self.p99_ms or 0.0, cost.p99_ms)
        self.start_wait_s += cost.start_wait_s
        if cost.model_tokens is not None:
            self.model_tokens = (self.model_tokens or 0) + cost.model_tokens
            unknown = cost.model_usd is None or self.model_usd is None
            self.model_usd = None if unknown else (self.model_usd or 0.0) + (cost.model_usd or 0.0)
        if cost.hosted:
            self.hosted_runs += 1
            self.cpu_share_s += (cost.hosted.cpu_share_ms or 0.0) / 1000
            host = (node, cost.hosted.pid)
            self.host_rss_bytes[host] = max(self.host_rss_bytes.get(host, 0), cost.hosted.rss_peak_bytes or 0)


class BatchFigures(msgspec.Struct, kw_only=True):
    """All that the page of a batch shows."""

    name: str
    """Name of the folder, or of the folders."""
    results: BatchResults
    """Where the attempts of the tasks are, by their numbers."""
    phase: BatchPhase
    limit: str
    """The flag of the limit that has ended it; empty if none has."""
    flags: dict[str, Any]
    """The flags of the last start, as `batch.json` has them."""
    closed: str = ""
    """Why the last batch process has ended: a word of `wire.batch.journal_lines.Closed`."""
    version: str = ""
    """Version of zot that began the batch last."""
    starts: int = 0
    jobs: int = 0
    """The jobs of the last start."""
    began: float | None = None
    """The first line, unix."""
    tasks: list[TaskFigures]
    """In the order of the tasks file; tasks that it no longer has come last."""
    attempts: int = 0
    """Attempts that have ended, of every start; also those that no longer count."""
    known_cost_usd: float = 0.0
    unknown_costs: int = 0
    """Attempts of unknown cost."""
    reserved_usd: float = 0.0
    """US dollars that requests of unknown cost count, by the rule of the last start."""
    usage: Usage = Usage()
    workload: Workload = msgspec.field(default_factory=Workload)
    extensions: list[ExtensionUse] = []
    models: list[str] = []
    """Names that the final outcomes have, the most frequent first."""
    notes: list[str] = []
    """Notes for the reader, such as: the end of the journal is torn, the tasks file is missing."""

    @property
    def cost_usd(self) -> float | None:
        return None if self.unknown_costs else self.known_cost_usd

    @property
    def has_scores(self) -> bool:
        return any(one.has_score_command for task in self.tasks for one in task.attempts)

    @property
    def has_repetitions(self) -> bool:
        return any(task.repeat for task in self.tasks)

    def states(self) -> dict[str, int]:
        """How many tasks are in each state, by its word; `ok` first, then those that have ended, the most frequent
        first, then those without an end."""
        counts = count_states(task.state for task in self.tasks)
        order = sorted(counts, key=lambda state: (_rank(state), -counts[state], state.value))
        return {state.value: counts[state] for state in order}


def evaluate(tasks: Iterable[TaskFigures]) -> Evaluation:
    """The estimates from the final outcomes of these tasks."""
    found = Evaluation()
    for task in tasks:
        found.is_repeated |= task.repeat is not None
        held, final = found.of(task.id, task.repeat), task.final
        if final is None:
            held.not_run += 1
        else:
            held.add_end(final.status, final.score, has_command=final.has_score_command)
    return found


def count_states(states: Iterable[TaskStatus | OpenTaskState]) -> dict[TaskStatus | OpenTaskState, int]:
    counts: dict[TaskStatus | OpenTaskState, int] = {}
    for state in states:
        counts[state] = counts.get(state, 0) + 1
    return counts


def _rank(state: TaskStatus | OpenTaskState) -> int:
    if state is TaskStatus.OK:
        return 0
    return 1 if isinstance(state, TaskStatus) else 2 + list(OpenTaskState).index(state)
