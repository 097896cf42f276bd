"""Verdicts: what one guard answered, and what a chain of answers comes to. Pure.

Guards are asked one after another in a fixed order. The first block wins; rewrites chain, each guard seeing what the
one before it made. An answer is one of three: allow, deny, no verdict. What no verdict means is the guard's own
`on_failure`, or deny for all with strict guards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from msgspec import UNSET, Raw

from wire import frames
from wire.lenient_json import UNREADABLE, read, reason

if TYPE_CHECKING:
    from supervisor.loop.pending import Pending
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


class Outcome(Enum):
    ALLOW = "allow"
    DENY = "deny"
    NO_VERDICT = "no verdict"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one guard said."""

    outcome: Outcome
    reason: str = ""
    modified_args: bytes | None = None
    replace_text: str | None = None
    modified_result: ModifiedResult | None = None

    @property
    def is_rewrite(self) -> bool:
        return self.modified_args is not None or self.replace_text is not None or self.modified_result is not None


ALLOW = Verdict(Outcome.ALLOW)


@dataclass(frozen=True, slots=True)
class Missing:
    """A guard that gave no verdict."""

    extension: str
    reason: str
    denied: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the chain has come to so far."""

    args: bytes | None = None
    """The arguments as the next guard, or the tool, sees them."""
    text: str | None = None
    """The visible text as the next guard, or the reader, sees it; of a prompt, the text as the model gets it."""
    result: ModifiedResult | None = None
    """The tool's result as the next guard, or the model, sees it."""
    blocked_by: str | None = None
    reason: str = ""
    missing: tuple[Missing, ...] = ()

    @property
    def is_blocked(self) -> bool:
        return self.blocked_by is not None


UNTOUCHED = Judgement()
"""What a chain begins with."""


def read_verdict(event: str, answer: InterceptResponse) -> Verdict:
    """A frame as a verdict. Rewriting what cannot be rewritten, or into what cannot be used, is no verdict."""
    if answer.block:
        return Verdict(Outcome.DENY, answer.reason or DEFAULT_REASONS[event])
    if answer.modified_args is not UNSET and event == "tool_call":
        try:
            value, text = read(bytes(answer.modified_args))
        except UNREADABLE as error:
            return Verdict(Outcome.NO_VERDICT, f"modified_args is not JSON: {reason(error)}")
        if value is None:
            return ALLOW
        if not isinstance(value, dict):
            return Verdict(Outcome.NO_VERDICT, "modified_args is not a JSON object")
        return Verdict(Outcome.ALLOW, modified_args=text)
    if answer.replace_text and event in REPLACEABLE:
        return Verdict(Outcome.ALLOW, replace_text=answer.replace_text)
    if answer.modified_result is not None and event == "tool_result":
        return Verdict(Outcome.ALLOW, modified_result=answer.modified_result)
    return ALLOW


def fold(judgement: Judgement, extension: str, verdict: Verdict, *, deny_on_failure: bool) -> Judgement:
    """Adds one guard's verdict. Nothing changes after a block."""
    if judgement.is_blocked:
        return judgement
    if verdict.outcome is Outcome.DENY:
        return replace(judgement, blocked_by=extension, reason=verdict.reason)
    if verdict.outcome is Outcome.NO_VERDICT:
        missing = (*judgement.missing, Missing(extension, verdict.reason, deny_on_failure))
        if deny_on_failure:
            reason = f"guard {extension} gave no verdict ({verdict.reason}), and its failure means deny"
            return replace(judgement, missing=missing, blocked_by=extension, reason=reason)
        return replace(judgement, missing=missing)
    if verdict.modified_args is not None:
        return replace(judgement, args=verdict.modified_args)
    if verdict.replace_text is not None:
        return replace(judgement, text=verdict.replace_text)
    if verdict.modified_result is not None:
        return replace(judgement, result=verdict.modified_result)
    return judgement


def no_answer(pending: Pending) -> Verdict:
    """What is to be made of anything but a verdict."""
    if pending.failure is not None:
        return Verdict(Outcome.NO_VERDICT, pending.reason)
    return Verdict(Outcome.NO_VERDICT, f"it answered with {pending.value.__struct_config__.tag}")


def rewritten(event: frames.Event, verdict: Verdict) -> frames.Event:
    """The event as the next guard is to see it."""
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
