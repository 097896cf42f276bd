"""The outcome of one attempt of a task: in the journal, in `zot batch results` and in `task_end` of `--json`."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from wire.events import Cost, SentPrompt  # noqa: TC001  (msgspec reads the annotations)


class TaskStatus(Enum):
    """How a task ended. Words that `wire.exit_codes.Status` has, too, mean the same as for a run."""

    OK = "ok"
    ERROR = "error"
    USAGE = "usage"
    """The task's own settings cannot be used: a folder that is missing, a cassette that is damaged."""
    BLOCKED = "blocked"
    MAX_STEPS = "max_steps"
    BUDGET = "budget"
    TIMEOUT = "timeout"
    AUTHENTICATION = "authentication"
    RATE_LIMIT = "rate_limit"
    REQUIRED_EXTENSION = "required_extension"
    INVALID_ANSWER = "invalid_answer"
    INTERRUPTED = "interrupted"
    """The batch was stopped while the task ran. Never final: the next start of the batch runs the task again."""
    CRASHED = "crashed"
    """The process of the run died: killed by the kernel for memory, by a signal, or by a defect."""
    OUT_OF_MEMORY = "out_of_memory"
    """The run used more than `--run-memory` and was killed."""
    SETUP_FAILED = "setup_failed"
    CHECK_FAILED = "check_failed"
    """The run ended with `ok`, but its `check` failed."""


FAILURES = frozenset(
    {
        *(TaskStatus.BLOCKED, TaskStatus.MAX_STEPS, TaskStatus.BUDGET, TaskStatus.TIMEOUT),
        *(TaskStatus.INVALID_ANSWER, TaskStatus.CHECK_FAILED),
    }
)
"""The ends in which the agent did its work and the task was not solved. Every other one but `ok` is a fault: something
broke, or was set up wrongly."""
SCORED = FAILURES | {TaskStatus.OK}
"""The ends after which a `score` command runs, and which count as a repetition."""


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens of all requests of an attempt."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write


class CommandEnd(msgspec.Struct, frozen=True):
    """How `setup` or `check` ended."""

    exit_status: int
    """Exit status; minus the number of the signal if one ended it."""
    duration_ms: int
    output: str = ""
    """The last 4 KiB of its output."""

    @property
    def how(self) -> str:
        """In words: `exit 1`, or `killed by signal 9`."""
        return f"exit {self.exit_status}" if self.exit_status >= 0 else f"killed by signal {-self.exit_status}"


class Score(msgspec.Struct, frozen=True):
    """The score of an attempt, from its `score` command."""

    value: float | None
    """Usually from 0 to 1; null if the command told none, see `reason`."""
    values: dict[str, Any] = {}
    """The other members of the JSON object in the last line of its output; empty without one."""
    reason: str = ""
    """Why there is no value: the command timed out or could not be started, or its last line is no number."""
    command: CommandEnd | None = None


class Lost(msgspec.Struct, frozen=True, gc=False):
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

    def __add__(self, other: Lost) -> Lost:
        return Lost(
            self.requests + other.requests,
            round(self.input_usd + other.input_usd, 6),
            round(self.output_usd + other.output_usd, 6),
            self.max_tokens + other.max_tokens,
            self.received + other.received,
        )

    @property
    def at_most_usd(self) -> float:
        """Maximum, in US dollars, that these requests may have cost."""
        return round(self.input_usd + self.output_usd, 6)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of a task, from its start to its end. Times are RFC 3339 in UTC."""

    id: str
    attempt: int
    """Number of the attempt, from 1, counted on over restarts of the batch."""
    status: TaskStatus
    reason: str = ""
    """Why the attempt ended in this way; empty when the status is `ok`."""
    error_kind: str | msgspec.UnsetType = msgspec.UNSET
    """As in the `result` record; absent if no failed request to the model has ended the run."""
    may_pass: bool = False
    """Whether another attempt may end better: after a crash, and after an `error` or `rate_limit` of the server or the
    connection that is not certain to come again."""
    node: str | msgspec.UnsetType = msgspec.UNSET
    """The node that has run the attempt; absent for a batch on one machine."""
    text: str = ""
    """The final text, as in the `result` record. Cut to `TEXT_KEPT` bytes; the events have all of it."""
    is_cut: bool = False
    """Whether the text or one of `sent` was cut, or the answer was too long and is left out."""
    answer: Raw | msgspec.UnsetType = msgspec.UNSET
    """With `output_schema`: the JSON of the final text, if it fits."""
    sent: tuple[SentPrompt, ...] | msgspec.UnsetType = msgspec.UNSET
    """As in the `result` record: the prompts of extensions that ran after the task's prompt; absent if there were none.
    Each text is cut to `SENT_KEPT` bytes."""
    steps: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = None
    """US dollars; null when unknown, for example after a crash in the middle of a request."""
    known_cost_usd: float = 0.0
    """US dollars of the requests whose cost is known."""
    reserved_usd: float = 0.0
    """Maximum cost in US dollars of the requests of unknown cost: their input and all of their `max_tokens`, as far as
    prices are known; 0 if the cost is known. `--reserve` says how much of it counts for the batch."""
    lost: Lost | None = None
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
    started: str
    ended: str
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


TEXT_KEPT = 64 * 1024
"""Maximum size of the text that the journal keeps of each attempt, in bytes."""
SENT_KEPT = 6 * 1024
"""Maximum size of the text that it keeps of each prompt of an extension, in bytes. There are ten at most."""


def cut_texts(outcome: Outcome) -> Outcome:
    """Cuts the text of the outcome to `TEXT_KEPT` bytes and those in `sent` to `SENT_KEPT`, and leaves out an `answer`
    of more than `TEXT_KEPT` bytes."""
    text, is_cut = _cut(outcome.text, TEXT_KEPT)
    if is_cut:
        outcome = replace(outcome, text=text, is_cut=True)
    if not isinstance(outcome.sent, msgspec.UnsetType):
        cut = [_cut(each.text, SENT_KEPT) for each in outcome.sent]
        if any(is_cut for _, is_cut in cut):
            sent = tuple(replace(each, text=text) for each, (text, _) in zip(outcome.sent, cut, strict=True))
            outcome = replace(outcome, sent=sent, is_cut=True)
    if not isinstance(outcome.answer, msgspec.UnsetType) and len(bytes(outcome.answer)) > TEXT_KEPT:
        outcome = replace(outcome, answer=msgspec.UNSET, is_cut=True)
    return outcome


def _cut(text: str, most: int) -> tuple[str, bool]:
    """Returns at most `most` bytes of the text, and whether it was longer."""
    if len(text) * 4 <= most:
        return text, False
    written = text.encode("utf-8", "replace")
    return (text, False) if len(written) <= most else (written[:most].decode("utf-8", "ignore"), True)
