"""The lines between a host and its process `exporter_main`, beside those of `wire.traces.span`. Pure.

The first line to the process is an `Order`; spans and figures follow. The process answers with `Sent` and `Failed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from supervisor.telemetry.settings import Signal, Way  # noqa: TC001  (msgspec reads the annotations)

if TYPE_CHECKING:
    from supervisor.telemetry.extension_metrics import Figures


class Order(msgspec.Struct, frozen=True, tag_field="type", tag="order"):
    """The signals to export, and the host that they are about."""

    traces: Way
    metrics: Way
    metrics_s: float
    """Seconds between two exports of metrics."""
    flush_s: float
    """Maximum of seconds from the end of its input to its own."""
    version: str
    """The version of zot."""
    pid: int
    """Pid of the host."""
    instance: str
    """Names this start of the host."""


class Sent(msgspec.Struct, frozen=True, tag_field="type", tag="sent"):
    """A collector has taken these."""

    signal: Signal
    count: int
    """Number of spans; of metrics 1 for each export."""


class Failed(msgspec.Struct, frozen=True, tag_field="type", tag="failed"):
    """An export has failed."""

    signal: Signal
    where: str
    """The address, without anything secret; empty if no address is the cause."""
    reason: str


_encoder = msgspec.json.Encoder()
_answers: msgspec.json.Decoder[Sent | Failed] = msgspec.json.Decoder(Sent | Failed)
_order: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)


def encode(line: Order | Figures | Sent | Failed) -> bytes:
    """Encodes a line, LF included."""
    return _encoder.encode(line) + b"\n"


def decode_answer(line: bytes) -> Sent | Failed:
    """Decodes a line of the process. Raises `msgspec.DecodeError`."""
    return _answers.decode(line)


def decode_order(line: bytes) -> Order:
    """Decodes the first line to the process. Raises `msgspec.DecodeError`."""
    return _order.decode(line)
