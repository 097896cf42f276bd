"""The agent's event stream: its records (`records`), the objects in them (`parts`), and how a line becomes a record."""

from __future__ import annotations

import msgspec

from wire.events.parts import *  # noqa: F403  (all of them, by the same names)
from wire.events.records import *  # noqa: F403
from wire.events.records import AnyRecord, Record

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord)


def encode(record: Record) -> bytes:
    """The record as one line, LF included."""
    return _encoder.encode(record) + b"\n"


def decode(line: bytes) -> AnyRecord:
    """Raises `msgspec.DecodeError`, which names the wrong field."""
    return _decoder.decode(line)
