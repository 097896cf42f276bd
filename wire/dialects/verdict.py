"""A verdict: the decision of one guard about an event.

Each dialect translates the answers of its guards into verdicts; the rest of the program knows only these.
"""

from __future__ import annotations

from enum import Enum

import msgspec
from msgspec import UNSET, Raw

from wire.frames import ErrorHandling, InterceptResponse, ModifiedResult


class VerdictKind(Enum):
    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    """A person has to decide. It has the same outputs as ALLOW."""
    PERMITTED = "permitted"
    """ASK, and a person has allowed it. Only a host makes this one and the next; no guard answers with them."""
    REFUSED = "refused"
    """ASK, and a person has refused it."""
    NO_VERDICT = "no verdict"


class GuardVerdict(msgspec.Struct, frozen=True):
    """The answer of one guard. Outputs that the event does not allow have no effect."""

    kind: VerdictKind
    reason: str = ""
    """The guard's reason, or a remark with ALLOW; "" without one."""
    failure: str = ""
    """With NO_VERDICT: why the request failed, as a word of the host: `timeout`, `died`; "" for an unusable answer."""
    modified_args: bytes | None = None
    """The new arguments as JSON text; None if unchanged."""
    replace_text: str | None = None
    modified_result: ModifiedResult | None = None
    additional_context: str = ""
    error_handling: ErrorHandling | None = None
    retry_count: int = 0
    """With `retry`: maximum number of repetitions."""
    notification: str = ""
    session_summary: str = ""
    system_prompt: str | None = None
    """The whole new system prompt, "" for none; None if unchanged."""

    @property
    def is_rewrite(self) -> bool:
        return (
            self.modified_args is not None
            or self.replace_text is not None
            or self.modified_result is not None
            or self.system_prompt is not None
        )


ALLOW = GuardVerdict(VerdictKind.ALLOW)
"""Allows the event and has no outputs. Code compares with it by identity."""


def answer_frame(question: str, verdict: GuardVerdict) -> InterceptResponse:
    """The frame with which a guard of zot's protocol gives this verdict on the question with this id."""
    if verdict is ALLOW:
        return InterceptResponse(question)
    return InterceptResponse(
        question,
        block=verdict.kind is VerdictKind.DENY or None,
        reason=verdict.reason or None,
        modified_args=UNSET if verdict.modified_args is None else Raw(verdict.modified_args),
        replace_text=verdict.replace_text,
        modified_result=verdict.modified_result,
        ask=verdict.kind is VerdictKind.ASK or None,
        additional_context=verdict.additional_context or None,
        error_handling=verdict.error_handling,
        retry_count=verdict.retry_count if verdict.error_handling == "retry" else None,
        notification=verdict.notification or None,
        session_summary=verdict.session_summary or None,
        system_prompt=verdict.system_prompt,
    )
