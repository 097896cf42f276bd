"""The frames of a run for a hosted extension, as the host decodes and forwards them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

import msgspec
from msgspec.structs import force_setattr

from wire import frames
from wire.dialects.attach import AttachError
from wire.lenient_json import UNREADABLE, reason

if TYPE_CHECKING:
    from wire.dialects.base import RunSession


class Question(frames.Event, frozen=True, tag="event_intercept"):
    """An event about which a guard is asked. It can be asked again as it is: the id of the run is not part of it."""

    id: str | None = None


Frame = Union[  # noqa: UP007  (msgspec builds a decoder of it)
    Question,
    frames.Event,
    frames.ToolCall,
    frames.CommandInvoked,
    frames.Cancel,
    frames.ToolCancel,
    frames.CalledToolResult,
    frames.PanelKey,
    frames.PanelClosed,
    frames.PanelResize,
    frames.Ping,
    frames.Shutdown,
    frames.HelloAck,
]
_decoder: msgspec.json.Decoder[Frame] = msgspec.json.Decoder(Frame)


def decode(frame: bytes | bytearray) -> Frame:
    """Decodes a frame of a run. Raises `AttachError`."""
    try:
        return _decoder.decode(frame)
    except UNREADABLE as error:
        raise AttachError(reason(error)) from None


def stamp(event: Question | frames.Event, session: RunSession) -> None:
    """Puts the session and the folder into an event, whatever the run has written there."""
    force_setattr(event, "session_id", session.id)
    force_setattr(event, "cwd", session.cwd)
