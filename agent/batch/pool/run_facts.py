"""The facts of one run: from its event stream tokens and dollars so far, its step and its result; its time; and the
outcome of the attempt that follows from them.

Only the few records that matter are decoded; all others are recognized by their first bytes. Of an outcome, why the
batch ended the run counts first, then how its process ended, then what the run itself said.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from agent.batch.budget import BYTES_PER_TOKEN, lost_request
from agent.batch.pool.leases import max_tokens_of
from agent.batch.pool.prefix_turns import asks_for_an_hour
from agent.batch.reserve import add
from agent.batch.schedule import may_pass
from agent.model import catalogue
from wire import events  # noqa: TC001  (msgspec reads the annotations)
from wire.batch.outcome import SCORED, Lost, Outcome, Score, TaskStatus, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.process.child import ExitStatus
    from wire.batch.link import ModelRequest, RunEnded

RATE_LIMITED = 429
NOT_SCORED = "the run was killed before its score command; zot batch score scores it"


class _Totals(msgspec.Struct):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost_usd: float | None = None
    is_partial: bool = False


class _Session(msgspec.Struct):
    id: str = ""
    provider: str = ""
    model: str = ""
    extensions: tuple[str, ...] = ()


class _TurnStart(msgspec.Struct):
    step: int = 0


class _Retry(msgspec.Struct):
    status: int | None = None


class _Extension(msgspec.Struct):
    extension: str
    event: str
    message: str


class ResultRecord(msgspec.Struct):
    """The fields of `wire.events.Result` that a batch keeps."""

    status: str
    reason: str = ""
    text: str = ""
    steps: int = 0
    usage: _Totals = msgspec.field(default_factory=_Totals)
    session: str = ""
    extensions: dict[str, events.Cost] = {}
    answer: Raw | msgspec.UnsetType = msgspec.UNSET
    sent: tuple[events.SentPrompt, ...] | msgspec.UnsetType = msgspec.UNSET
    error_kind: str | msgspec.UnsetType = msgspec.UNSET


_KINDS: dict[bytes, type[msgspec.Struct]] = {
    b"usage": _Totals, b"session": _Session, b"turn_start": _TurnStart, b"retry": _Retry, b"result": ResultRecord,
    b"extension": _Extension,
}  # fmt: skip
_DECODERS = {kind: msgspec.json.Decoder(struct) for kind, struct in _KINDS.items()}
_TYPE = b'{"type":"'
_REPLY = b'{"type":"assistant_message"'
"""The record of a reply follows the `usage` record of its request."""


class RunFacts:
    """Gets each line of the event stream, and keeps what matters."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.known_usd = 0.0
        self.has_unknown_cost = False
        """Whether the cost of a request is unknown."""
        self.lost = Lost()
        """Requests whose replies broke off."""
        self.answered = 0
        """Requests to the model with a `usage` record."""
        self.whole = 0
        """Of these, those with a whole reply."""
        self.largest_answer = 0
        """Output tokens of the longest whole reply."""
        self.request: ModelRequest | None = None
        """The last request, if the run has a link on which it sends them."""
        self.rate_limited = 0
        self.step = 0
        self.provider = ""
        self.model = ""
        self.session = ""
        self.extensions: tuple[str, ...] = ()
        """Their names, once they have been started."""
        self.given_up: dict[str, str] = {}
        """Extensions that were given up or not started at all, and why."""
        self.result: ResultRecord | None = None
        self._is_uncounted = False
        """Whether the server has told no tokens of the last request, which has cost something."""

    def take(self, line: bytes) -> None:
        """One line, with or without its LF. A line that cannot be read says nothing."""
        if not line.startswith(_TYPE):
            return
        if self._is_uncounted and line.startswith(_REPLY):
            self._is_uncounted = False
            tokens = len(line) // BYTES_PER_TOKEN + 1
            self.lose(None, received=tokens, most=tokens)
        kind = line[len(_TYPE) : line.find(b'"', len(_TYPE))]
        decoder = _DECODERS.get(kind)
        if decoder is None:
            return
        try:
            record = decoder.decode(line)
        except msgspec.DecodeError:
            return
        self._note(record)

    def _note(self, record: msgspec.Struct) -> None:
        if isinstance(record, _Totals):
            used = Usage(record.input, record.output, record.cache_read, record.cache_write)
            self.usage = add(self.usage, used)
            self.answered += 1
            if record.is_partial:
                self.lose(used if used.total > used.output else None, received=used.output)
                return
            self.whole += 1
            self.largest_answer = max(self.largest_answer, used.output)
            if record.cost_usd is None:
                self.has_unknown_cost = True
            else:
                self.known_usd = round(self.known_usd + record.cost_usd, 6)
                is_asked = self.request is not None and not used.total  # a recording may count nothing
                self._is_uncounted = is_asked and lost_request(self.model, 1_000_000, 0).at_most_usd > 0
        elif isinstance(record, _Session):
            self.provider, self.model, self.session = record.provider, record.model, record.id
            self.extensions = record.extensions
        elif isinstance(record, _TurnStart):
            self.step = record.step
        elif isinstance(record, _Retry):
            self.rate_limited += record.status == RATE_LIMITED
        elif isinstance(record, _Extension):
            if record.event == "failed":
                self.given_up.setdefault(record.extension, record.message)
        elif isinstance(record, ResultRecord):
            self.result = record

    def lose(self, read: Usage | int | None, *, received: int = 0, most: int | None = None) -> None:
        """The cost of a request is unknown. `read` has the tokens of its input, as counted or estimated; None: they are
        estimated by the size of the last request. `most` are the most tokens of its reply; None: its `max_tokens`."""
        self.has_unknown_cost = True
        asked, model, is_hour = self.request, self.model, False
        if asked is not None:
            model, is_hour = asked.model, asks_for_an_hour(asked)
            try:
                most = max_tokens_of(asked) if most is None else most
            except msgspec.DecodeError:
                pass  # the pool has refused it
        if read is None:
            read = 0 if asked is None else len(bytes(asked.params)) // BYTES_PER_TOKEN + 1
        most = catalogue.max_tokens(model) if most is None else most
        self.lost += lost_request(model, read, most, received, is_for_an_hour=is_hour)


class RunClock:
    """The time of a run, from `now` on the clock of the loop, without waits for a rate limit."""

    def __init__(self, now: float) -> None:
        self.began = now
        self._paused_s = 0.0
        self._paused_at: float | None = None

    @property
    def is_paused(self) -> bool:
        return self._paused_at is not None

    def pause(self, now: float) -> None:
        """Does nothing if it is paused."""
        if self._paused_at is None:
            self._paused_at = now

    def resume(self, now: float) -> None:
        """Does nothing if it is not paused."""
        if self._paused_at is not None:
            self._paused_s += now - self._paused_at
            self._paused_at = None

    def pause_s(self, now: float) -> float:
        """Seconds since the pause under way began; 0 without a pause."""
        return 0.0 if self._paused_at is None else now - self._paused_at

    def paused_s(self, now: float) -> float:
        return self._paused_s + self.pause_s(now)

    def passed_s(self, now: float) -> float:
        """Since the beginning, pauses included."""
        return now - self.began

    def left_s(self, timeout_s: float, now: float) -> float:
        """Seconds until `timeout_s` have counted; 0 or less if they have."""
        return timeout_s - (self.passed_s(now) - self.paused_s(now))


class EndReason(msgspec.Struct, frozen=True):
    """Why the batch has ended a run."""

    status: TaskStatus
    reason: str


class Attempt(msgspec.Struct, frozen=True):
    """The fields of an attempt that go unchanged into its outcome."""

    task: str
    number: int
    digest: str = ""
    meta: dict[str, object] = {}
    repeat: int = 0
    is_scored: bool = False
    """Whether its task has a `score` command."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended, as its batch has seen it."""

    end_reason: EndReason | None
    """None if the run ended by itself."""
    exit: ExitStatus | None
    """None if the process could not be started."""
    said: RunEnded | None
    """The last word of the run on the link."""
    was_told_to_end: bool = False
    """Whether the batch has ended the run."""
    last_words: Sequence[str] = ()
    """The last lines of its standard error, if it has `said` nothing."""
    started: str
    ended: str
    duration_s: float
    paused_s: float
    requests: int
    memory_peak: int


def outcome_of(attempt: Attempt, facts: RunFacts, ending: Ending) -> Outcome:
    """The outcome. It is `ok` only if the run has said so."""
    status, reason = _status(facts, ending)
    result, said = facts.result, ending.said
    return Outcome(
        id=attempt.task,
        attempt=attempt.number,
        status=status,
        reason=reason,
        error_kind=msgspec.UNSET if result is None or status.value != result.status else result.error_kind,
        may_pass=may_pass(status, said is not None and said.may_pass),
        text="" if result is None else result.text,
        answer=msgspec.UNSET if result is None else result.answer,
        sent=msgspec.UNSET if result is None else result.sent,
        steps=facts.step if result is None else result.steps,
        usage=facts.usage,
        cost_usd=None if facts.has_unknown_cost else facts.known_usd if result is None else result.usage.cost_usd,
        known_cost_usd=facts.known_usd,
        reserved_usd=facts.lost.at_most_usd,
        lost=facts.lost if facts.lost.requests else None,
        answers=facts.whole,
        largest_answer=facts.largest_answer,
        duration_ms=round(ending.duration_s * 1000),
        paused_ms=round(ending.paused_s * 1000),
        requests=max(ending.requests, facts.answered),
        rate_limited=facts.rate_limited,
        started=ending.started,
        ended=ending.ended,
        provider=facts.provider,
        model=facts.model,
        session=facts.session,
        exit_status=None if ending.exit is None else ending.exit.code,
        cpu_s=0.0 if ending.exit is None else round(ending.exit.cpu_s, 3),
        memory_peak_bytes=ending.memory_peak,
        extensions={} if result is None else result.extensions,
        setup=None if said is None else said.setup,
        check=None if said is None else said.check,
        diff="" if said is None else said.diff,
        score=_score(attempt, status, said),
        repeat=attempt.repeat,
        digest=attempt.digest,
        meta=attempt.meta,
    )


def _score(attempt: Attempt, status: TaskStatus, said: RunEnded | None) -> Score | None:
    """A run that was killed after its time cannot score itself."""
    if said is not None and said.score is not None:
        return said.score
    return Score(None, reason=NOT_SCORED) if attempt.is_scored and status in SCORED else None


def _status(facts: RunFacts, ending: Ending) -> tuple[TaskStatus, str]:
    if ending.end_reason is not None:
        return ending.end_reason.status, ending.end_reason.reason
    if ending.said is not None:  # what it has done is whole, however its process ended after that
        if ending.said.status is TaskStatus.INTERRUPTED and not (ending.was_told_to_end or ending.said.has_no_room):
            return TaskStatus.CRASHED, f"the batch did not end the run, and it says: {ending.said.reason}"
        return ending.said.status, ending.said.reason
    return TaskStatus.CRASHED, crash_reason(ending.exit, ending.last_words, had_result=facts.result is not None)


def crash_reason(exit_status: ExitStatus | None, last_words: Sequence[str], *, had_result: bool = False) -> str:
    """One line: how the process of a run died, and the last lines that it wrote to standard error."""
    if exit_status is None:
        how = "the process of the run is gone: how it ended is unknown"
    elif exit_status.code < 0:
        how = f"the run was ended by {exit_status}"
        if exit_status.code == -signal.SIGKILL:
            how += " (zot has not sent it: the kernel does that when the memory of the machine is used up)"
    else:
        how = f"the run ended with {exit_status} before it sent its result"
    if had_result:
        how += ", after its last record"
    if exit_status is not None and exit_status.code < 0:  # its own warnings say nothing about a signal
        last_words = [line for line in last_words if not line.startswith("zot: ")]
    words = " | ".join(line for line in last_words if line.strip())
    return f"{how}: {words}" if words else how
