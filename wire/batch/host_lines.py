"""The messages between a batch and its host, the process that runs the extensions which its runs share: one JSON object
per line.

The batch writes one line, `order`, to the host's standard input, and keeps that pipe open: its end means that the batch
is gone, and the host ends. The host writes `serving` once, when its extensions have started or failed or 3 s have
passed, and `told` for each event in its life.
"""

from __future__ import annotations

import msgspec


class HostOrder(msgspec.Struct, frozen=True, tag_field="type", tag="order", kw_only=True):
    """The flags of the batch by which its host finds and starts extensions."""

    version: str
    """The version of zot."""
    home: str
    cwd: str
    extensions: tuple[str, ...] = ()
    mcp_configs: tuple[str, ...] = ()
    discover: bool = True
    trust_project: bool = False
    trusted_content: tuple[str, ...] = ()
    """Extensions that count as trusted, by content."""
    strict_guards: bool = False
    allow_asked: bool = False
    profile_on_stall: bool = False
    share: tuple[str, ...] = ()
    """The names of `--share`."""
    trace: str = ""
    """The trace of the batch; empty if it keeps none."""
    alerts: str = ""
    """The pipe for its events; empty if nobody is told of events."""


class Serving(msgspec.Struct, frozen=True, tag_field="type", tag="serving", kw_only=True):
    """Runs may attach."""

    socket: str
    """The path of the attach socket."""
    shared: tuple[str, ...]
    """The extensions of which one process serves all runs."""
    leased: tuple[str, ...] = ()
    """The extensions of which a process serves one run after another."""
    private: dict[str, str] = {}
    """The extensions that turned out to be private at their start, each with the reason: each run starts its own."""

    @property
    def is_useful(self) -> bool:
        """Whether any extension is shared or leased. If not, the host ends."""
        return bool(self.shared or self.leased)


class Told(msgspec.Struct, frozen=True, tag_field="type", tag="told", kw_only=True):
    """An event in the life of the host, for the batch's log."""

    level: str
    event: str
    message: str
    extension: str = ""


FromHost = Serving | Told
_encoder = msgspec.json.Encoder()
_order = msgspec.json.Decoder(HostOrder)
_from_host: msgspec.json.Decoder[FromHost] = msgspec.json.Decoder(FromHost)


def encode(message: HostOrder | FromHost) -> bytes:
    """Encodes a message as one line, LF included."""
    return _encoder.encode(message) + b"\n"


def decode_order(line: bytes) -> HostOrder:
    """Raises `msgspec.DecodeError`."""
    return _order.decode(line)


def decode_from_host(line: bytes) -> FromHost:
    """Raises `msgspec.DecodeError`."""
    return _from_host.decode(line)
