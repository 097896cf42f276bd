"""The chain of guards of one event. Pure: it says which guards to ask, takes their verdicts and gives the judgement.

The guards are asked in rounds. A round is the next guard or, if that guard is independent, all independent guards that
follow one another: they are asked at the same time. Verdicts count in the order of the guards, whatever the order in
which they come. The first block ends the chain. A rewrite ends the round: the guards behind it in the round are asked
again, about the rewritten event. So the judgement is the same as if each guard was asked alone.

A verdict is allow, deny, ask or no verdict; a judgement is the sum of the verdicts. Each guard judges the event as the
guards before it have rewritten it. At an ask the chain stands still until a person has decided; without a person ask
means deny, unless the user lets such events pass. `on_failure` in the guard's manifest says what no verdict means; with
strict guards it means deny. An event that has happened already, an error for instance, cannot be denied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from wire.dialects.base import GuardAnswer
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind
from wire.lenient_json import UNREADABLE, read, reason
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from supervisor.loop.future import Pending
    from wire.frames import ErrorHandling, Event, ModifiedResult

DEFAULT_REASONS = {
    "tool_call": "tool call refused by extension guard",
    "turn_start": "turn blocked by extension guard",
    "assistant_message": "message withheld by extension guard",
    "user_prompt": "prompt refused by extension guard",
    "tool_result": "tool result withheld by extension guard",
}
DENIABLE = frozenset(DEFAULT_REASONS)
"""Events that a guard can block. The others have happened."""
REPLACEABLE = frozenset({"assistant_message", "user_prompt"})
"""Events whose text a guard may replace."""
BEFORE_AGENT_START = "before_agent_start"
"""Guards may replace the system prompt. They cannot block this event, and are asked one after another."""
EXPLAINABLE = frozenset({"session_start", "user_prompt", "tool_call", "tool_result"})
"""Events to which a guard may add context for the model."""
CONTEXT_LENGTH = 64 * 1024
"""Maximum number of characters of the context that one guard adds."""
SUMMARY_LENGTH = 64 * 1024
"""Maximum number of characters of the summary of a session."""
RETRIES_LIMIT = 3
"""Maximum number of retries after an error that a guard can have."""
REMARK_LENGTH = 600
"""Maximum number of characters of a remark."""
REASON_LENGTH = 10_000
"""Maximum number of characters of the reason of a block."""
ARGS_LIMIT = 1024 * 1024
"""Maximum of rewritten arguments in bytes. A model writes fewer, and each MiB can take 50 ms to read."""
SYSTEM_PROMPT_LIMIT = 1024 * 1024
"""Maximum of a system prompt of a guard in bytes of JSON text. Source: zot's docs/extensions.md."""


class MissingVerdict(msgspec.Struct, frozen=True):
    """A guard that gave no verdict, and whether that blocked the event."""

    extension: str
    reason: str
    denied: bool


class Remark(msgspec.Struct, frozen=True):
    """The reason that a guard gave without a block."""

    extension: str
    text: str


class Judgement(msgspec.Struct, frozen=True):
    """The sum of the verdicts so far."""

    args: bytes | None = None
    """The rewritten arguments, for the next guard or the tool."""
    text: str | None = None
    """The rewritten text, for the next guard, then for the reader; a rewritten prompt is for the model."""
    result: ModifiedResult | None = None
    """The tool's rewritten result, for the next guard or the model."""
    blocked_by: str | None = None
    """The name of the guard that blocked the event, or `host`; None if the event is allowed."""
    reason: str = ""
    missing: tuple[MissingVerdict, ...] = ()
    remarks: tuple[Remark, ...] = ()
    contexts: tuple[str, ...] = ()
    """Texts of guards for the model, in guard order."""
    was_asked: bool = False
    """Whether a guard wanted a person to decide, and the user lets such events pass."""
    decided_for: str = ""
    """The name of the last guard for which a person has decided; "" without one."""
    error_handling: ErrorHandling | None = None
    """The last one that a guard has named; None if none has."""
    handled_by: str = ""
    """The name of the guard whose `error_handling` this is."""
    retry_count: int = 0
    """The largest one that a guard has named."""
    session_summary: str = ""
    """The summary of the last guard that wrote one."""
    system_prompt: str | None = None
    """The new system prompt; None if unchanged."""

    @property
    def additional_context(self) -> str:
        return "\n\n".join(self.contexts)

    @property
    def is_blocked(self) -> bool:
        return self.blocked_by is not None

    @property
    def explanation(self) -> str:
        """The reason of a block, then the remarks of the guards."""
        remarks = (f"{remark.extension}: {remark.text}" for remark in self.remarks)
        return "; ".join(text for text in (self.reason, *remarks) if text)


UNTOUCHED = Judgement()
"""The judgement before the first verdict: allowed, nothing rewritten."""


def verdict_of(event: str, pending: Pending) -> GuardVerdict:
    """The verdict of a request that has ended. A failure, and an answer of another type, are no verdict."""
    answer = pending.value
    if type(answer) is GuardAnswer:
        verdict = answer.verdict
        return verdict if verdict is ALLOW else allowed_part(event, verdict)
    if pending.failure is not None:
        return GuardVerdict(VerdictKind.NO_VERDICT, pending.reason, pending.failure.value)
    return GuardVerdict(VerdictKind.NO_VERDICT, f"it answered with {answer.__struct_config__.tag}")


def allowed_part(event: str, verdict: GuardVerdict) -> GuardVerdict:
    """The part of a verdict that the event allows, within its limits; `ALLOW` itself if nothing is left. A rewrite of
    the arguments that is not a JSON object is no verdict. The reason of a guard that neither denies nor asks is kept as
    a remark."""
    is_deniable = event in DENIABLE
    if verdict.kind is VerdictKind.NO_VERDICT:
        return verdict
    if verdict.kind is VerdictKind.DENY and is_deniable:
        if 0 < len(verdict.reason) <= REASON_LENGTH:
            return verdict
        return GuardVerdict(VerdictKind.DENY, (verdict.reason or DEFAULT_REASONS[event])[:REASON_LENGTH])
    asks = verdict.kind is VerdictKind.ASK and is_deniable
    args = None
    if verdict.modified_args is not None and event == "tool_call":
        if len(verdict.modified_args) > ARGS_LIMIT:
            return GuardVerdict(VerdictKind.NO_VERDICT, f"modified_args has more than {ARGS_LIMIT} bytes")
        try:
            value, text = read(verdict.modified_args)
        except UNREADABLE as error:
            return GuardVerdict(VerdictKind.NO_VERDICT, f"modified_args is not JSON: {reason(error)}")
        if value is not None:
            if not isinstance(value, dict):
                return GuardVerdict(VerdictKind.NO_VERDICT, "modified_args is not a JSON object")
            args = text
    prompt = verdict.system_prompt if event == BEFORE_AGENT_START else None
    if event == BEFORE_AGENT_START and (fault := _prompt_fault(verdict.kind, prompt)):
        return GuardVerdict(VerdictKind.NO_VERDICT, fault)
    is_error = event == "error"
    left = GuardVerdict(
        VerdictKind.ASK if asks else VerdictKind.ALLOW,
        verdict.reason[:REASON_LENGTH] if asks else one_line(verdict.reason, REMARK_LENGTH),
        modified_args=args,
        replace_text=(verdict.replace_text or None) if event in REPLACEABLE else None,
        modified_result=verdict.modified_result if event == "tool_result" else None,
        additional_context=_cut(verdict.additional_context, CONTEXT_LENGTH) if event in EXPLAINABLE else "",
        error_handling=verdict.error_handling if is_error else None,
        retry_count=max(0, min(RETRIES_LIMIT, verdict.retry_count)) if is_error else 0,
        notification=verdict.notification if is_error else "",
        session_summary=_cut(verdict.session_summary, SUMMARY_LENGTH) if event == "session_end" else "",
        system_prompt=prompt,
    )
    return ALLOW if left == ALLOW else left


def _prompt_fault(kind: VerdictKind, prompt: str | None) -> str:
    """Why this verdict on the system prompt is of no use; "" if it is."""
    if prompt is None:
        return "a block has no effect here" if kind is VerdictKind.DENY else ""
    is_long = len(msgspec.json.encode(prompt)) > SYSTEM_PROMPT_LIMIT
    return f"system_prompt has more than {SYSTEM_PROMPT_LIMIT} bytes of JSON" if is_long else ""


def _cut(text: str, length: int) -> str:
    text = text.strip()
    return text if len(text) <= length else f"{text[: length - 2]} …"


def fold(
    judgement: Judgement, extension: str, verdict: GuardVerdict, *, deny_on_failure: bool, let_asked_pass: bool = False
) -> Judgement:
    """The judgement with one more verdict. A blocked judgement does not change."""
    if judgement.is_blocked:
        return judgement
    if verdict.kind in (VerdictKind.DENY, VerdictKind.REFUSED):
        decided_for = extension if verdict.kind is VerdictKind.REFUSED else judgement.decided_for
        return replace(judgement, blocked_by=extension, reason=verdict.reason, decided_for=decided_for)
    if verdict.kind is VerdictKind.NO_VERDICT:
        missing = (*judgement.missing, MissingVerdict(extension, verdict.reason, deny_on_failure))
        if deny_on_failure:
            reason = f"guard {extension} gave no verdict ({verdict.reason}), and its failure means deny"
            return replace(judgement, missing=missing, blocked_by=extension, reason=reason)
        return replace(judgement, missing=missing)
    if verdict.kind is VerdictKind.ASK and not let_asked_pass:
        reason = f"guard {extension} wants a person to decide, and no user can be asked here"
        reason = f"{verdict.reason} ({reason})" if verdict.reason else reason
        return replace(judgement, blocked_by=extension, reason=reason)
    if verdict.kind is VerdictKind.PERMITTED:
        judgement = replace(judgement, decided_for=extension)
    return judgement if verdict is ALLOW else _with_outputs(judgement, extension, verdict)


def _with_outputs(judgement: Judgement, extension: str, verdict: GuardVerdict) -> Judgement:
    changed: dict[str, Any] = {}
    if verdict.kind is VerdictKind.ASK:
        changed["was_asked"] = True
    if verdict.reason:
        changed["remarks"] = (*judgement.remarks, Remark(extension, one_line(verdict.reason, REMARK_LENGTH)))
    if verdict.modified_args is not None:
        changed["args"] = verdict.modified_args
    if verdict.replace_text is not None:
        changed["text"] = verdict.replace_text
    if verdict.modified_result is not None:
        changed["result"] = verdict.modified_result
    if verdict.additional_context:
        changed["contexts"] = (*judgement.contexts, verdict.additional_context)
    if verdict.error_handling is not None:
        changed |= {"error_handling": verdict.error_handling, "handled_by": extension}
        changed["retry_count"] = max(judgement.retry_count, verdict.retry_count)
    if verdict.session_summary:
        changed["session_summary"] = verdict.session_summary
    if verdict.system_prompt is not None:
        changed["system_prompt"] = verdict.system_prompt
    return replace(judgement, **changed) if changed else judgement


def rewrite_event(event: Event, verdict: GuardVerdict) -> Event:
    """The event with the rewrites of this verdict, for the next guard."""
    result = verdict.modified_result
    return replace(
        event,
        tool_args=event.tool_args if verdict.modified_args is None else Raw(verdict.modified_args),
        text=event.text if verdict.replace_text is None else verdict.replace_text,
        is_error=event.is_error if result is None or result.is_error is None else result.is_error,
        content=event.content if result is None else result.content,
        system_prompt=event.system_prompt if verdict.system_prompt is None else verdict.system_prompt,
    )


class Guard(Protocol):
    """The part of an extension that a chain reads."""

    name: str
    denies_on_failure: bool
    """Whether no verdict of this guard means deny."""
    lets_asked_pass: bool
    """Whether an event is allowed if a guard wants a person to decide."""
    is_independent: bool

    @property
    def guards(self) -> Collection[str]:
        """The events that it guards now. A reload can change them."""
        ...


AGuard = TypeVar("AGuard", bound=Guard)


def rounds_of(guards: Iterable[AGuard]) -> tuple[tuple[AGuard, ...], ...]:
    """Divides guards into rounds: each is one guard, or independent guards that follow one another."""
    rounds: list[tuple[AGuard, ...]] = []
    for guard in guards:
        if rounds and guard.is_independent and rounds[-1][0].is_independent:
            rounds[-1] += (guard,)
        else:
            rounds.append((guard,))
    return tuple(rounds)


class GuardChain(Generic[AGuard]):
    """Ask each guard in `asked` about `event`, and pass its verdict to `answered`. When `asked` becomes another object,
    a new round has begun. When it is empty, the judgement is final. While `question` is set, a person has to decide."""

    def __init__(
        self,
        event: Event,
        rounds: Iterable[tuple[AGuard, ...]],
        judgement: Judgement = UNTOUCHED,
        can_ask: Callable[[], bool] = lambda: False,
    ) -> None:
        """Verdicts count in the order of `rounds`, see `rounds_of`. The chain begins with `judgement`. `can_ask` says
        whether a person can be asked."""
        self.event = event
        """The event with all rewrites so far."""
        self.judgement = judgement
        self.question: tuple[AGuard, GuardVerdict] | None = None
        """The guard and the verdict that ask a person. `answered` takes the verdict of `permissions.Question` next."""
        self._can_ask = can_ask
        self._rounds = iter(rounds)
        """The rounds that follow."""
        self.asked = () if judgement.is_blocked else next(self._rounds, ())
        """The guards of this round."""
        self._verdicts: list[GuardVerdict | None] = []
        """The verdicts of this round, None for each that has not come; unused in a round of one guard."""

    def answered(self, guard: AGuard, verdict: GuardVerdict) -> Sequence[tuple[AGuard, GuardVerdict]]:
        """Takes the verdict of a guard of this round. A failed request is no verdict. Returns the verdicts that count
        from now on, in order, without each plain allow."""
        asked = self.asked
        if len(asked) > 1:
            return self._answered_one_of(asked, guard, verdict)
        if verdict is ALLOW:
            self._next_round(())
            return ()
        if self._must_ask(guard, verdict):
            return ()
        if not self._ends_round(guard, verdict, ()):
            self._next_round(())
        return ((guard, verdict),)

    def _answered_one_of(
        self, asked: tuple[AGuard, ...], guard: AGuard, verdict: GuardVerdict
    ) -> Sequence[tuple[AGuard, GuardVerdict]]:
        """Counts the verdicts up to the first missing one."""
        verdicts = self._verdicts = self._verdicts or [None] * len(asked)
        before = verdicts.index(None)
        verdicts[asked.index(guard)] = verdict
        news: list[tuple[AGuard, GuardVerdict]] = []
        for place, came in enumerate(verdicts[before:], before):
            if came is None:
                return news
            if came is not ALLOW:
                if self._must_ask(asked[place], came):
                    verdicts[place] = None
                    return news
                news.append((asked[place], came))
                if self._ends_round(asked[place], came, asked[place + 1 :]):
                    return news
        self._next_round(())
        return news

    def _must_ask(self, guard: AGuard, verdict: GuardVerdict) -> bool:
        """Whether a person must decide before this verdict counts."""
        asks = verdict.kind is VerdictKind.ASK and not guard.lets_asked_pass and self._can_ask()
        self.question = (guard, verdict) if asks else None
        return asks

    def _ends_round(self, guard: AGuard, verdict: GuardVerdict, behind: tuple[AGuard, ...]) -> bool:
        """Counts a verdict. Returns whether it has ended the round, by a block, or by a rewrite that the guards
        `behind` it in this round must see."""
        self.judgement = fold(
            self.judgement,
            guard.name,
            verdict,
            deny_on_failure=guard.denies_on_failure and self.event.event in DENIABLE,
            let_asked_pass=guard.lets_asked_pass,
        )
        if self.judgement.is_blocked:
            self._end()
            return True
        if verdict.is_rewrite:
            self.event = rewrite_event(self.event, verdict)
            self._next_round(behind)
        return verdict.is_rewrite

    def _next_round(self, behind: tuple[AGuard, ...]) -> None:
        """Begins a round of the guards `behind`, or else the next round. Leaves out guards that no longer guard the
        event."""
        event = self.event.event
        asked = behind or next(self._rounds, ())
        while asked:
            if len(asked) > 1:
                asked = tuple([guard for guard in asked if event in guard.guards])
            elif event not in asked[0].guards:
                asked = ()
            if asked:
                break
            asked = next(self._rounds, ())
        self.asked = asked
        if self._verdicts:
            self._verdicts = []

    def _end(self) -> None:
        self._rounds, self.asked, self.question = iter(()), (), None

    def cancel(self, reason: str) -> None:
        """Ends the chain with a block by the host."""
        self.judgement = Judgement(blocked_by="host", reason=reason)
        self._end()
