"""A verdict: what one guard wants to be done about an event.

Each dialect translates the answers of its guards into verdicts, and nothing behind it reads the words of a protocol.
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
    """With ALLOW a remark; "" with DENY and ASK if the guard gave none."""
    modified_args: bytes | None = None
    """JSON text."""
    replace_text: str | None = None
    modified_result: ModifiedResult | None = None
    additional_context: str = ""
    error_handling: ErrorHandling | None = None
    retry_count: int = 0
    """With `retry`: how often at most."""
    notification: str = ""
    session_summary: str = ""

    @property
    def is_rewrite(self) -> bool:
        return self.modified_args is not None or self.replace_text is not None or self.modified_result is not None


ALLOW = GuardVerdict(VerdictKind.ALLOW)
"""Allows the event and says nothing else. It is told from others by identity."""
