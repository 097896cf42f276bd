"""The messages on a host's control socket: `requests`, `replies` and their `parts`, and the codec."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from wire.control.parts import *  # noqa: F403  (all of them, by the same names)
from wire.control.replies import *  # noqa: F403
from wire.control.replies import Reply
from wire.control.requests import *  # noqa: F403
from wire.control.requests import Request
from wire.lenient_json import UNREADABLE, reason

AnyMessage = TypeVar("AnyMessage")
_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_replies: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


class ControlError(ValueError):
    """The protocol does not allow the line; the text says why."""


def encode(message: msgspec.Struct) -> bytes:
    """The message as one line, LF included."""
    return _encoder.encode(message) + b"\n"


def decode_request(line: bytes) -> Request:
    """Decodes one line of a client. Raises `ControlError`."""
    return decode_with(_requests, line)


def decode_reply(line: bytes) -> Reply:
    """Decodes one line of a host. Raises `ControlError`."""
    return decode_with(_replies, line)


def decode_with(decoder: msgspec.json.Decoder[AnyMessage], line: bytes) -> AnyMessage:
    """Raises `ControlError`."""
    try:
        return decoder.decode(line)
    except UNREADABLE as error:
        raise ControlError(reason(error)) from None
