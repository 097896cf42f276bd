"""What a batch gives.

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
    """Minus the number of the signal that ended it."""
    duration_ms: int
    output: str = ""
    """The last 4 KiB of what it wrote."""


class LostRequests(Part):
    """Requests of an attempt whose cost is unknown: their replies broke off, or the run ended before them. Sums."""

    requests: int = 0
    input_usd: float = 0.0
    """US dollars of their input, as the server has counted it or by its size."""
    output_usd: float = 0.0
    """The same of `max_tokens`: the most that their replies can have cost."""
    max_tokens: int = 0
    """Of the requests, together."""
    received: int = 0
    """Tokens of their replies that have arrived, estimated by their length."""


class TaskResult(Part):
    """One attempt of a task, from its start to its end. Times are RFC 3339 in UTC."""

    _parts: ClassVar[dict[str, str]] = {
        "sent": "SentPrompt[]",
        "usage": "TaskUsage",
        "lost": "LostRequests",
        "extensions": "Cost{}",
        "setup": "CommandEnd",
        "check": "CommandEnd",
    }
    id: str
    attempt: int
    """Counts from 1, also over restarts of the batch."""
    status: str
    started: str
    ended: str
    reason: str = ""
    """Empty when the status is `ok`."""
    error_kind: str | None = None
    """As in the `result` record; absent if no failed request to the model has ended the run."""
    may_pass: bool = False
    """Whether another attempt may end better: after a crash, and after an `error` or `rate_limit` of the server or the
    connection that is not certain to come again."""
    text: str = ""
    """The final text, as in the `result` record. Cut to `TEXT_KEPT` bytes; the events have all of it."""
    is_cut: bool = False
    """Whether the text was longer, or one of `sent`, or the answer, which is then left out."""
    answer: Any = None
    """With `output_schema`: the JSON of the final text, if it fits."""
    sent: tuple[SentPrompt, ...] | None = None
    """As in the `result` record: the prompts of extensions that have run after that of the task; absent if there was
    none. Each text is cut to `SENT_KEPT` bytes."""
    steps: int = 0
    usage: TaskUsage = TaskUsage()
    cost_usd: float | None = None
    """Null when it is not known, as after a crash in the middle of a request."""
    known_cost_usd: float = 0.0
    """US dollars of the requests whose cost is known."""
    reserved_usd: float = 0.0
    """The most that the others can have cost: their input and all of their `max_tokens`, as far as prices are known; 0
    if the cost is known. How much of it counts for the batch says `--reserve`."""
    lost: LostRequests | None = None
    """The requests of unknown cost; null if there is none."""
    answers: int = 0
    """Whole replies of the model."""
    largest_answer: int = 0
    """Output tokens of the longest of them."""
    duration_ms: int = 0
    """From the start of the run to its end, `paused_ms` included."""
    paused_ms: int = 0
    """In which the run waited for a rate limit."""
    requests: int = 0
    """To the model."""
    rate_limited: int = 0
    """Of these, those that the provider refused for now (429), and that were sent again."""
    provider: str = ""
    model: str = ""
    session: str = ""
    exit_status: int | None = None
    """Of the run's process; minus the number of the signal that ended it."""
    cpu_s: float = 0.0
    """Of the run's process and all processes that it waited for."""
    memory_peak_bytes: int = 0
    """The most that the run's processes were seen to have for themselves."""
    extensions: dict[str, Cost] = {}
    setup: CommandEnd | None = None
    check: CommandEnd | None = None
    diff: str = ""
    """With `--workspace copy`: the file with what the run has changed, below the folder of the batch. Empty without
    changes."""
    digest: str = ""
    """Of the task and what it depends on, see `Started`."""
    meta: dict[str, Any] = {}


class BatchSummary(Part):
    """The last record."""

    _parts: ClassVar[dict[str, str]] = {"usage": "TaskUsage"}
    reason: Literal["done", "drained", "stopped", "budget", "deadline", "failures", "failed"]
    """failed: the files of the batch could not be written."""
    exit_code: int
    tasks: int
    statuses: dict[str, int]
    """How many tasks have ended in each `TaskStatus`, earlier starts included; `not_run` for those without an end."""
    usage: TaskUsage
    """Of all attempts, earlier starts included."""
    cost_usd: float | None
    """Null if the cost of an attempt is not known; `known_cost_usd` is then the sum of the others."""
    known_cost_usd: float
    duration_ms: int
    """Of this start."""
    time: str
    limit: str = ""
    """The flag of the limit that was used up, as `--max-cost-usd`."""
    reserved_usd: float = 0.0
    """As much as the requests of unknown cost count, by the rule of `--reserve`."""
