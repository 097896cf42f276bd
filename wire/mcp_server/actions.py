"""What a session wants done: lines for the client, and work for the extensions."""

from __future__ import annotations

import msgspec

from wire.mcp_server.requests import Key  # noqa: TC001  (msgspec looks at the annotations)


class Say(msgspec.Struct, frozen=True):
    """A line for the client, LF included."""

    line: bytes
    is_vital: bool = True
    """An answer. Others may be left out for a client that reads slowly."""


class Call(msgspec.Struct, frozen=True):
    """Call a tool; the answer goes to `ServedSession.called`."""

    key: Key
    name: str
    args: bytes
    """The JSON text of an object."""


class Invoke(msgspec.Struct, frozen=True):
    """Run a command; the answer goes to `ServedSession.invoked`."""

    key: Key
    name: str
    args: str


class Abandon(msgspec.Struct, frozen=True):
    """The client has cancelled a call or a command: end it. It has no answer."""

    key: Key
    reason: str


Action = Say | Call | Invoke | Abandon
