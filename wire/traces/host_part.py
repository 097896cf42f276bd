"""The host's part of a black box: its frames in order, each with the answers that the extension had given before. Pure.

The handshake and the request to stop are no part of it: who plays it, makes those.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

from wire.lenient_json import read
from wire.traces.frame_heads import NO_MESSAGE, FrameHead, head_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wire.traces.black_box import BoxFrame

HANDSHAKE = frozenset({"hello_ack", "initialize", "notifications/initialized"})
STOP = frozenset({"shutdown"})
PERMISSION = "permission.requested"
CANCELS = frozenset({"cancel", "tool_cancel", "notifications/cancelled"})


class HostStep(NamedTuple):
    """One frame of the host."""

    number: int
    """The number of the frame in the black box, from 1."""
    head: FrameHead
    body: bytes | None
    """The frame; None if the black box does not have all of it."""
    awaited: frozenset[str]
    """The ids of the host's requests in the black box that were answered before it."""

    def __str__(self) -> str:
        named = f" {self.head.name}" if self.head.name else ""
        return f"{self.head.kind or 'a frame'}{named}"


class HostPart(NamedTuple):
    """The frames of the host that are to be played."""

    steps: tuple[HostStep, ...]
    unneeded: frozenset[str]
    """The ids of requests that need no answer: the host cancelled them, or another side may give the permission."""
    session: str
    """The id of the session that its frames name; empty if they name none."""


def host_part(frames: Iterable[BoxFrame]) -> HostPart:
    """The host's part of these frames."""
    steps: list[HostStep] = []
    open_ids: set[str] = set()
    answered: set[str] = set()
    unneeded: set[str] = set()
    for number, frame in enumerate(frames, 1):
        body = body_of(frame)
        head = _head(frame, body)
        if frame.side == "extension":
            if head.role == "answer" and head.id in open_ids:
                answered.add(head.id)
            continue
        if head.kind in HANDSHAKE | STOP:
            continue
        if head.kind in CANCELS:
            unneeded.add(head.id or _cancelled_id(body))
        if head.kind == PERMISSION:
            unneeded.add(head.id)
        if head.role == "request":
            open_ids.add(head.id)
            answered.discard(head.id)
        steps.append(HostStep(number, head, None if frame.is_cut else body, frozenset(answered)))
    sessions = (named_session(step.body) for step in steps)
    return HostPart(tuple(steps), frozenset(unneeded), next(filter(None, sessions), ""))


def named_session(body: bytes | None) -> str:
    """The id of the session that a frame of the host names; empty without one."""
    message = (None if body is None else _message(body)) or {}
    params = message.get("params")
    named = params.get("sessionId") if isinstance(params, dict) else message.get("session_id")
    return named if isinstance(named, str) else ""


def body_of(frame: BoxFrame) -> bytes | None:
    """The bytes of a frame; None if they are not in the black box."""
    if frame.base64 is not None:
        try:
            return base64.b64decode(frame.base64, validate=True)
        except ValueError:
            return None
    return None if frame.text is None else frame.text.encode("utf-8", "replace")


def _head(frame: BoxFrame, body: bytes | None) -> FrameHead:
    """The head by the contents; without contents by the fields of the frame."""
    is_sent = frame.side == "host"
    if body is not None and (message := _message(body)) is not None:
        return head_of(message, is_sent=is_sent)
    if not frame.kind:
        return NO_MESSAGE
    head = head_of({"type": frame.kind, "id": frame.id}, is_sent=is_sent)._replace(name=frame.name)
    if frame.kind == "answer" or "handlePending" in frame.kind:
        return head._replace(role="answer")
    return head._replace(role="") if frame.kind.startswith("notifications/") else head


def _message(body: bytes) -> dict[str, object] | None:
    try:
        value, _text = read(body)
    except Exception:
        return None
    return value if isinstance(value, dict) else None


def _cancelled_id(body: bytes | None) -> str:
    message = _message(body) if body is not None else None
    params = message.get("params") if message is not None else None
    return str(params.get("requestId", "")) if isinstance(params, dict) else ""
