"""Verdicts and judgements: a verdict is the answer of one guard, a judgement the sum of a chain's verdicts. Pure.

Verdicts count in a fixed order, see `supervisor.calls.guard_chain`. The first block wins. Each guard judges what the
guards before it have made of the event. A verdict is allow, deny or no verdict. `on_failure` in the guard's manifest
says what no verdict means; with strict guards it means deny.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from wire import frames
from wire.lenient_json import UNREADABLE, read, reason
from wire.text import one_line

if TYPE_CHECKING:
    from supervisor.loop.future import Pending
    from wire.frames import InterceptResponse, ModifiedResult

DEFAULT_REASONS = {
    "tool_call": "tool call refused by extension guard",
    "turn_start": "turn blocked by extension guard",
    "assistant_message": "message withheld by extension guard",
    "user_prompt": "prompt refused by extension guard",
    "tool_result": "tool result withheld by extension guard",
}
REPLACEABLE = frozenset({"assistant_message", "user_prompt"})
"""Events whose text a guard may replace."""
REMARK_LENGTH = 600
"""Most characters of a remark."""
REASON_LENGTH = 10_000
"""Most characters of the reason of a block."""
ARGS_LIMIT = 1024 * 1024
"""Bytes of rewritten arguments. A model writes fewer, and each MiB can take 50 ms to read."""


class VerdictKind(Enum):
    ALLOW = "allow"
    DENY = "deny"
    NO_VERDICT = "no verdict"


class Verdict(msgspec.Struct, frozen=True):
    """The answer of one guard."""

    kind: VerdictKind
    reason: str = ""
    """With ALLOW a remark."""
    modified_args: bytes | None = None
    replace_text: str | None = None
    modified_result: ModifiedResult | None = None

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
    """The verdict in a frame. A rewrite of the arguments that is not a JSON object is no verdict; a rewrite that the
    event does not allow is ignored. The reason of a guard that does not block is kept as a remark."""
    if answer.block:
        return Verdict(VerdictKind.DENY, (answer.reason or DEFAULT_REASONS[event])[:REASON_LENGTH])
    remark = one_line(answer.reason, REMARK_LENGTH) if answer.reason else ""
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
            return Verdict(VerdictKind.ALLOW, remark, modified_args=text)
    elif answer.replace_text and event in REPLACEABLE:
        return Verdict(VerdictKind.ALLOW, remark, replace_text=answer.replace_text)
    elif answer.modified_result is not None and event == "tool_result":
        return Verdict(VerdictKind.ALLOW, remark, modified_result=answer.modified_result)
    return Verdict(VerdictKind.ALLOW, remark) if remark else ALLOW


def fold(judgement: Judgement, extension: str, verdict: Verdict, *, deny_on_failure: bool) -> Judgement:
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
    if verdict.reason:
        judgement = replace(judgement, remarks=(*judgement.remarks, Remark(extension, verdict.reason)))
    if verdict.modified_args is not None:
        return replace(judgement, args=verdict.modified_args)
    if verdict.replace_text is not None:
        return replace(judgement, text=verdict.replace_text)
    if verdict.modified_result is not None:
        return replace(judgement, result=verdict.modified_result)
    return judgement


def rewritten(event: frames.Event, verdict: Verdict) -> frames.Event:
    """The event with the rewrites of this verdict, for the next guard."""
    result = verdict.modified_result
    return frames.Event(
        event.event,
        step=event.step,
        tool_id=event.tool_id,
        tool_name=event.tool_name,
        tool_args=event.tool_args if verdict.modified_args is None else Raw(verdict.modified_args),
        text=event.text if verdict.replace_text is None else verdict.replace_text,
        is_error=event.is_error if result is None or result.is_error is None else result.is_error,
        content=event.content if result is None else result.content,
    )
