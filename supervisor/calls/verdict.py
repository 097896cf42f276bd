"""Verdicts and judgements: a verdict is the answer of one guard, a judgement the sum of a chain's verdicts. Pure.

Verdicts count in a fixed order, see `supervisor.calls.guard_chain`. The first block wins. Each guard judges what the
guards before it have made of the event. A verdict is allow, deny, ask or no verdict. Ask means deny, unless the user
lets such events pass. `on_failure` in the guard's manifest says what no verdict means; with strict guards it means
deny. What has happened already, an error for instance, cannot be denied.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from wire import frames
from wire.lenient_json import UNREADABLE, read, reason
from wire.text import one_line

if TYPE_CHECKING:
    from supervisor.loop.future import Pending
    from wire.frames import ErrorHandling, InterceptResponse, ModifiedResult

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
EXPLAINABLE = frozenset({"session_start", "user_prompt", "tool_call", "tool_result"})
"""Events to which a guard may add context for the model."""
CONTEXT_LENGTH = 64 * 1024
"""Most characters of the context that one guard adds."""
SUMMARY_LENGTH = 64 * 1024
"""Most characters of the summary of a session."""
RETRIES_LIMIT = 3
"""The most retries after an error that a guard can have."""
REMARK_LENGTH = 600
"""Most characters of a remark."""
REASON_LENGTH = 10_000
"""Most characters of the reason of a block."""
ARGS_LIMIT = 1024 * 1024
"""Bytes of rewritten arguments. A model writes fewer, and each MiB can take 50 ms to read."""


class VerdictKind(Enum):
    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    """A person has to decide. It has the same outputs as ALLOW."""
    NO_VERDICT = "no verdict"


class Verdict(msgspec.Struct, frozen=True):
    """The answer of one guard."""

    kind: VerdictKind
    reason: str = ""
    """With ALLOW a remark."""
    modified_args: bytes | None = None
    replace_text: str | None = None
    modified_result: ModifiedResult | None = None
    additional_context: str = ""
    error_handling: ErrorHandling | None = None
    retry_count: int = 0
    """With `retry`: 0 to `RETRIES_LIMIT`."""
    notification: str = ""
    session_summary: str = ""

    @property
    def is_rewrite(self) -> bool:
        return self.modified_args is not None or self.replace_text is not None or self.modified_result is not None


ALLOW = Verdict(VerdictKind.ALLOW)


class Missing(msgspec.Struct, frozen=True):
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
    missing: tuple[Missing, ...] = ()
    remarks: tuple[Remark, ...] = ()
    contexts: tuple[str, ...] = ()
    """What guards add for the model, in their order."""
    error_handling: ErrorHandling | None = None
    """As the last guard that says so wants it."""
    handled_by: str = ""
    """The name of that guard."""
    retry_count: int = 0
    """The largest that a guard has named."""
    session_summary: str = ""
    """Of the last guard that has one."""

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


def verdict_of(event: str, pending: Pending) -> Verdict:
    """The verdict of a request that has ended. A failure, and an answer of another type, are no verdict."""
    answer = pending.value
    if type(answer) is frames.InterceptResponse:
        return read_verdict(event, answer)
    if pending.failure is not None:
        return Verdict(VerdictKind.NO_VERDICT, pending.reason)
    return Verdict(VerdictKind.NO_VERDICT, f"it answered with {answer.__struct_config__.tag}")


def read_verdict(event: str, answer: InterceptResponse) -> Verdict:
    """The verdict in a frame. A rewrite of the arguments that is not a JSON object is no verdict; an output that the
    event does not allow is ignored. The reason of a guard that neither blocks nor asks is kept as a remark."""
    if (
        not answer.block
        and answer.reason is None
        and answer.modified_args is UNSET
        and answer.replace_text is None
        and answer.modified_result is None
        and answer.ask is None
        and answer.additional_context is None
        and answer.error_handling is None
        and answer.notification is None
        and answer.session_summary is None
    ):
        return ALLOW
    if answer.block and event in DENIABLE:
        return Verdict(VerdictKind.DENY, (answer.reason or DEFAULT_REASONS[event])[:REASON_LENGTH])
    asks = bool(answer.ask) and event in DENIABLE
    args = None
    if answer.modified_args is not UNSET and event == "tool_call":
        if len(answer.modified_args) > ARGS_LIMIT:
            return Verdict(VerdictKind.NO_VERDICT, f"modified_args has more than {ARGS_LIMIT} bytes")
        try:
            value, text = read(bytes(answer.modified_args))
        except UNREADABLE as error:
            return Verdict(VerdictKind.NO_VERDICT, f"modified_args is not JSON: {reason(error)}")
        if value is not None:
            if not isinstance(value, dict):
                return Verdict(VerdictKind.NO_VERDICT, "modified_args is not a JSON object")
            args = text
    is_error = event == "error"
    verdict = Verdict(
        VerdictKind.ASK if asks else VerdictKind.ALLOW,
        (answer.reason or "")[:REASON_LENGTH] if asks else one_line(answer.reason or "", REMARK_LENGTH),
        modified_args=args,
        replace_text=(answer.replace_text or None) if event in REPLACEABLE else None,
        modified_result=answer.modified_result if event == "tool_result" else None,
        additional_context=_cut(answer.additional_context, CONTEXT_LENGTH) if event in EXPLAINABLE else "",
        error_handling=answer.error_handling if is_error else None,
        retry_count=_retries(answer) if is_error else 0,
        notification=(answer.notification or "") if is_error else "",
        session_summary=_cut(answer.session_summary, SUMMARY_LENGTH) if event == "session_end" else "",
    )
    return ALLOW if verdict == ALLOW else verdict


def _cut(text: str | None, length: int) -> str:
    text = (text or "").strip()
    return text if len(text) <= length else f"{text[: length - 2]} …"


def _retries(answer: InterceptResponse) -> int:
    if answer.error_handling != "retry":
        return 0
    return max(0, min(RETRIES_LIMIT, 1 if answer.retry_count is None else answer.retry_count))


def fold(
    judgement: Judgement, extension: str, verdict: Verdict, *, deny_on_failure: bool, let_asked_pass: bool = False
) -> Judgement:
    """The judgement with one more verdict. A blocked judgement does not change."""
    if judgement.is_blocked:
        return judgement
    if verdict.kind is VerdictKind.DENY:
        return replace(judgement, blocked_by=extension, reason=verdict.reason)
    if verdict.kind is VerdictKind.NO_VERDICT:
        missing = (*judgement.missing, Missing(extension, verdict.reason, deny_on_failure))
        if deny_on_failure:
            reason = f"guard {extension} gave no verdict ({verdict.reason}), and its failure means deny"
            return replace(judgement, missing=missing, blocked_by=extension, reason=reason)
        return replace(judgement, missing=missing)
    if verdict.kind is VerdictKind.ASK and not let_asked_pass:
        reason = f"guard {extension} wants a person to decide, and nobody can be asked here"
        return replace(
            judgement, blocked_by=extension, reason=f"{verdict.reason} ({reason})" if verdict.reason else reason
        )
    return judgement if verdict is ALLOW else _with_outputs(judgement, extension, verdict)


def _with_outputs(judgement: Judgement, extension: str, verdict: Verdict) -> Judgement:
    changed: dict[str, Any] = {}
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
    return replace(judgement, **changed) if changed else judgement


def rewritten(event: frames.Event, verdict: Verdict) -> frames.Event:
    """The event with the rewrites of this verdict, for the next guard."""
    result = verdict.modified_result
    return replace(
        event,
        tool_args=event.tool_args if verdict.modified_args is None else Raw(verdict.modified_args),
        text=event.text if verdict.replace_text is None else verdict.replace_text,
        is_error=event.is_error if result is None or result.is_error is None else result.is_error,
        content=event.content if result is None else result.content,
    )
