"""What the answer of an extension's permission handler means. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from wire.dialects.copilot.hooks import THROWN
from wire.dialects.json_values import kind_of, text_of
from wire.text import one_line

QUOTED = 80
"""Characters of an unknown kind that are shown."""


class Answer(Enum):
    APPROVED = "approved"
    REFUSED = "refused"
    NOBODY = "nobody could be asked"
    NO_OPINION = "no opinion"
    UNKNOWN = "not understood"


class Permission(NamedTuple):
    """What a permission handler has said."""

    answer: Answer
    reason: str = ""
    """With REFUSED what the model is told, with UNKNOWN what is wrong; else empty."""


_APPROVED = frozenset(
    {
        "approve-once", "approve-for-session", "approve-for-location", "approve-permanently", "approved",
        "approved-for-session", "approved-for-location",
    }
)  # fmt: skip
"""Each allows one call: the handler is asked again about the next."""
_REASONS = ("feedback", "message", "reason")
_SAID = {
    "reject": "refused by the extension's permission handler",
    "cancelled": "the extension's permission handler has cancelled the request",
    "denied-by-rules": "denied by rules of the extension",
    "denied-interactively-by-user": "denied by the user",
    "denied-by-content-exclusion-policy": "denied by a content exclusion policy of the extension",
}


def read_permission(result: Any) -> Permission:
    """What the `result` of an answer to a permission request says. A kind that begins like a refusal is one. Never
    raises."""
    if not isinstance(result, dict):
        return Permission(Answer.UNKNOWN, f"the permission result is {kind_of(result)}, not an object")
    thrown = result.get(THROWN)
    if thrown is not None:
        return Permission(Answer.UNKNOWN, f"its onPermissionRequest threw: {text_of(thrown)}")
    inner = result.get("result")
    if result.get("kind") == "attributed" and isinstance(inner, dict):
        result = inner  # newer SDKs say besides how the decision was reached
    kind = result.get("kind")
    if not isinstance(kind, str):
        said = "missing" if kind is None else f"{kind_of(kind)}, not a string"
        return Permission(Answer.UNKNOWN, f"the kind of the permission result is {said}")
    if kind in _APPROVED:
        return Permission(Answer.APPROVED)
    if kind in ("no-opinion", "no-result"):
        return Permission(Answer.NO_OPINION)
    if kind == "user-not-available":
        return Permission(Answer.NOBODY)
    if kind.startswith(("reject", "den", "cancel")):
        given = (result.get(name) for name in _REASONS)
        reason = next((text for text in given if isinstance(text, str) and text.strip()), "")
        return Permission(Answer.REFUSED, reason or _SAID.get(kind, _SAID["reject"]))
    return Permission(
        Answer.UNKNOWN, f"the kind of the permission result is {one_line(kind, QUOTED)!r}, not a known one"
    )
