"""The order that the process of a conversation gets on its stdin, which no other process can read. Pure."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from wire.rpc.responses import Response, encode


class Order(msgspec.Struct, frozen=True):
    """The conversation to carry out."""

    request: Raw
    """The flags of the listener, as `agent.batch.run.begin.encode_request` writes them."""
    token: str
    """The token that the client must say; "" if none is needed."""
    mark: str
    """In the environment of every process that the conversation starts: the listener's own, a dot, and a number."""
    name: str
    """Unique among the conversations. Ids of requests to the model begin with it."""
    version: str
    drain_s: float
    """Seconds that the first prompt has after the end of the input."""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Order)


def encode_order(order: Order) -> bytes:
    return _encoder.encode(order)


def decode_order(data: bytes) -> Order:
    """Raises `msgspec.DecodeError`."""
    return _decoder.decode(data)


def refusal_line(reason: str) -> bytes:
    """The only line to a client that is not served, LF included."""
    return encode(Response(command="", success=False, error=reason))
