"""Classes of the results of a batch.

Generated from the definitions of the wire by `python -m wire.rpc.python_classes`; not to be edited.
"""

from __future__ import annotations

from ..record import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Literal

    from ..parts import Cost, SentPrompt


class TaskUsage(Part):
    """Tokens of all requests of an attempt."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class CommandEnd(Part):
    """How `setup` or `check` ended."""

    exit_status: int
    """Exit status; minus the number of the signal if one ended it."""
    duration_ms: int
    output: str = ""
    """The last 4 KiB of its output."""


class Score(Part):
    """The score of an attempt, from its `score` command."""

    _parts: ClassVar[dict[str, str]] = {"command": "CommandEnd"}
    value: float | None
    """Usually from 0 to 1; null if the command told none, see `reason`."""
    values: dict[str, Any] = {}
    """The other members of the JSON object in the last line of its output; empty without one."""
    reason: str = ""
    """Why there is no value: the command timed out or could not be started, or its last line is no number."""
    command: CommandEnd | None = None


class LostRequests(Part):
    """Sums over the requests of an attempt with unknown cost: the reply broke off, or the run ended before it."""

    requests: int = 0
    input_usd: float = 0.0
    """US dollars for their input, by the server's count or estimated by its size."""
    output_usd: float = 0.0
    """Maximum, in US dollars, that their replies may have cost, with `max_tokens` of output each."""
    max_tokens: int = 0
    """Sum of `max_tokens` of the requests."""
    received: int = 0
    """Tokens of their replies that arrived, estimated by length."""


class TaskResult(Part):
    """One attempt of a task, from its start to its end. Times are RFC 3339 in UTC."""

    _parts: ClassVar[dict[str, str]] = {
        "sent": "SentPrompt[]",
        "usage": "TaskUsage",
        "lost": "LostRequests",
        "extensions": "Cost{}",
        "setup": "CommandEnd",
        "check": "CommandEnd",
        "score": "Score",
    }
    id: str
    attempt: int
    """Number of the attempt, from 1, counted on over restarts of the batch."""
    status: str
    started: str
    ended: str
    reason: str = ""
    """Why the attempt ended in this way; empty when the status is `ok`."""
    error_kind: str | None = None
    """As in the `result` record; absent if no failed request to the model has ended the run."""
    may_pass: bool = False
    """Whether another attempt may end better: after a crash, and after an `error` or `rate_limit` of the server or the
    connection that is not certain to come again."""
    node: str | None = None
    """The node that has run the attempt; absent for a batch on one machine."""
    text: str = ""
    """The final text, as in the `result` record. Cut to `TEXT_KEPT` bytes; the events have all of it."""
    is_cut: bool = False
    """Whether the text or one of `sent` was cut, or the answer was too long and is left out."""
    answer: Any = None
    """With `output_schema`: the JSON of the final text, if it fits."""
    sent: tuple[SentPrompt, ...] | None = None
    """As in the `result` record: the prompts of extensions that ran after the task's prompt; absent if there were none.
    Each text is cut to `SENT_KEPT` bytes."""
    steps: int = 0
    usage: TaskUsage = TaskUsage()
    cost_usd: float | None = None
    """US dollars; null when unknown, for example after a crash in the middle of a request."""
    known_cost_usd: float = 0.0
    """US dollars of the requests whose cost is known."""
    reserved_usd: float = 0.0
    """Maximum cost in US dollars of the requests of unknown cost: their input and all of their `max_tokens`, as far as
    prices are known; 0 if the cost is known. `--reserve` says how much of it counts for the batch."""
    lost: LostRequests | None = None
    """The requests of unknown cost; null without any."""
    answers: int = 0
    """Number of complete replies of the model."""
    largest_answer: int = 0
    """Output tokens of the longest complete reply."""
    duration_ms: int = 0
    """Milliseconds from the start of the run to its end, `paused_ms` included."""
    paused_ms: int = 0
    """Milliseconds in which the run waited for a rate limit."""
    requests: int = 0
    """Number of requests to the model."""
    rate_limited: int = 0
    """Number of requests that the provider refused for now (429) and that were sent again."""
    provider: str = ""
    model: str = ""
    session: str = ""
    exit_status: int | None = None
    """Exit status of the run's process; minus the number of the signal if one ended it."""
    cpu_s: float = 0.0
    """CPU seconds of the run's process and of all processes that it waited for."""
    memory_peak_bytes: int = 0
    """Most memory of their own that the run's processes had in any sample, in bytes."""
    extensions: dict[str, Cost] = {}
    setup: CommandEnd | None = None
    check: CommandEnd | None = None
    score: Score | None = None
    """The score of the run; null without a `score` command, and if the run itself failed (see `SCORED`)."""
    repeat: int = 0
    """Number of the repetition, from 1; 0 if the task runs once."""
    diff: str = ""
    """With `--workspace copy` or `worktree`: the file with the changes of the run, below the folder of the batch; empty
    without changes."""
    digest: str = ""
    """Hash of the task and of the files that it names, as in `Started`."""
    meta: dict[str, Any] = {}


class BatchSummary(Part):
    """The last record."""

    _parts: ClassVar[dict[str, str]] = {"usage": "TaskUsage"}
    reason: Literal["done", "drained", "stopped", "budget", "deadline", "failures", "failed"]
    """failed: the files of the batch could not be written."""
    exit_code: int
    tasks: int
    statuses: dict[str, int]
    """Number of tasks by `TaskStatus`, earlier starts included; `not_run` counts those that have not ended."""
    usage: TaskUsage
    """Tokens of all attempts, earlier starts included."""
    cost_usd: float | None
    """US dollars; null if the cost of an attempt is unknown. `known_cost_usd` is then the sum of the known costs."""
    known_cost_usd: float
    duration_ms: int
    """Milliseconds since this start of the batch."""
    time: str
    limit: str = ""
    """The flag of the limit that was used up, such as `--max-cost-usd`; empty if none was."""
    reserved_usd: float = 0.0
    """US dollars that the requests of unknown cost count, by the rule of `--reserve`."""
