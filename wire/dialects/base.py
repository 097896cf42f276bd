"""A dialect translates between the supervisor's neutral messages and the bytes of one extension protocol.

The message classes of `wire.frames` are the neutral messages; another dialect translates into them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from wire import frames

if TYPE_CHECKING:
    from wire.framing import LineSplitter


class HostInfo(msgspec.Struct, frozen=True):
    """What an extension is told about its host in the handshake."""

    version: str
    provider: str
    model: str
    cwd: str


class Question(msgspec.Struct, frozen=True):
    """A request for a verdict, encoded once for all guards. The id of each request goes between `head` and `tail`."""

    head: bytes
    tail: bytes

    def frame(self, call_id: bytes) -> bytes:
        return self.head + call_id + self.tail


PanelChange = frames.PanelKey | frames.PanelResize | frames.PanelClosed
"""An action of the user on an open panel."""
Message = frames.FromExtension | frames.UnknownFrame | frames.Malformed


class Dialect(Protocol):
    """Encodes and decodes the messages of one extension protocol.

    `decode` reads one line of an extension, `decode_long` one that the splitter returns as a bytearray. All methods
    that return bytes or a `Question` make frames for an extension: `greet` answers its hello, `call` calls a tool and
    `invoke` a command, `cancel` takes back one of both, `question` asks for a verdict, `tell` reports an event, and
    `stop` asks it to exit. `args` of `call` are JSON text.
    """

    observable: frozenset[str]
    """Events that an extension of this dialect can observe."""
    guardable: frozenset[str]
    """Events that it can guard."""

    def splitter(self) -> LineSplitter: ...
    def decode(self, line: bytes | bytearray) -> Message: ...
    def decode_long(self, line: bytes | bytearray) -> Message: ...
    def greet(self, host: HostInfo, extension_dir: str, data_dir: str) -> bytes: ...
    def call(self, call_id: str, tool: str, args: bytes) -> bytes: ...
    def invoke(self, call_id: str, command: str, args: str) -> bytes: ...
    def cancel(self, call_id: str, reason: str) -> bytes: ...
    def panel(self, change: PanelChange) -> bytes: ...
    def question(self, event: frames.Event) -> Question: ...
    def tell(self, event: frames.Event) -> bytes: ...
    def stop(self) -> bytes: ...
    def ping(self, ping_id: str) -> bytes: ...
