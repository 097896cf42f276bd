"""A verdict: the decision of one guard about an event.

Each dialect translates the answers of its guards into verdicts; the rest of the program knows only these.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from wire.frames import ErrorHandling, ModifiedResult  # noqa: TC001  (msgspec reads the annotations)


class VerdictKind(Enum):
    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    """A person has to decide. It has the same outputs as ALLOW."""
    NO_VERDICT = "no verdict"


class GuardVerdict(msgspec.Struct, frozen=True):
    """The answer of one guard. Outputs that the event does not allow have no effect."""

    kind: VerdictKind
    reason: str = ""
    """The guard's reason, or a remark with ALLOW; "" without one."""
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
