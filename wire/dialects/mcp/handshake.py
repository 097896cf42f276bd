"""The handshake with one server: finds out its era, and sends the first messages of that era. Pure."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from wire import frames
from wire.dialects import jsonrpc
from wire.dialects.base import Instructions, Unusable
from wire.dialects.mcp import versions
from wire.dialects.mcp.call_answers import value_of
from wire.dialects.mcp.limits import TooLongError, opening_result
from wire.dialects.mcp.protocol import MODERN
from wire.dialects.mcp.requests import Purpose, SentRequest
from wire.dialects.mcp.versions import Discover, ServerInfo, UnfitServer
from wire.lenient_json import UNREADABLE, reason

if TYPE_CHECKING:
    from wire.dialects.base import Message, Received, Setup
    from wire.dialects.jsonrpc import Incoming
from wire.dialects.mcp.requests import SentRequests

CAPABILITIES = ["cancel", "ping"]
"""The abilities of every MCP server, in the words of zot's hello."""
BAD_ANSWER_S = 2.0
"""Seconds after an unreadable answer to the opening until the server is given up: it may have been junk."""
_ERA = "mcp_era"
_HAD_INSTRUCTIONS = "mcp_instructions"


class HandshakePhase(Enum):
    """The phase of a session. The phases follow in this order; after any but the last two, `UNUSABLE` may follow."""

    OPENING = "opening"
    """The host waits for the answer to `initialize`."""
    DISCOVERING = "discovering"
    """The host waits for the answer to `server/discover`. A session may begin here."""
    ACCEPTED = "accepted"
    """The server has answered; the host has not greeted it yet."""
    OPEN = "open"
    UNUSABLE = "unusable"


class Handshake:
    """The beginning of a session. It keeps the era for the next process of the extension in `kept` of the setup."""

    __slots__ = ("_fault", "_kept", "_requests", "_server", "_setup", "_was_modern", "due_at", "phase", "version")

    def __init__(self, setup: Setup, requests: SentRequests) -> None:
        self._setup = setup
        self._kept = setup.kept
        self._requests = requests
        self._server: ServerInfo | None = None
        self.version = ""
        """The version of the protocol; "" until it is known."""
        self._fault = ""
        self.due_at: float | None = None
        """The time at which to call `on_time`; None if never."""
        # Kept again once the server has answered: if it never does, the next process opens in the other era.
        self._was_modern = self._kept.pop(_ERA, None) == MODERN
        self.phase = HandshakePhase.DISCOVERING if self._was_modern else HandshakePhase.OPENING

    @property
    def is_over(self) -> bool:
        return self.phase in (HandshakePhase.ACCEPTED, HandshakePhase.OPEN)

    @property
    def _method(self) -> str:
        kind = Purpose.OPENING if self.phase is HandshakePhase.OPENING else Purpose.DISCOVER
        return kind.value

    @property
    def ping_method(self) -> str:
        return Purpose.DISCOVER.value if self._requests.meta else Purpose.PING.value

    def opening(self) -> bytes:
        """The first request."""
        if self.phase is HandshakePhase.DISCOVERING:
            return self._discover()
        return self._requests.send(SentRequest(Purpose.OPENING), versions.initialize_params(self._setup.host_version))

    def _discover(self) -> bytes:
        self._requests.meta = versions.meta(self._setup.host_version)
        self.phase = HandshakePhase.DISCOVERING
        return self._requests.send(SentRequest(Purpose.DISCOVER))

    def answered(self, message: Incoming) -> Received:
        """Takes the answer to the first or the second request."""
        self.due_at = None
        failure = message.failure
        try:
            value = value_of(failure) if failure else opening_result(message.result)
        except TooLongError as error:
            return self._refuse(UnfitServer(str(error)))
        except UNREADABLE as error:
            return self._refuse(UnfitServer(f"bad answer to {self._method}: {reason(error)}", may_pass=True))
        if self.phase is HandshakePhase.OPENING:
            judged = versions.judge_refusal(value) if failure else versions.judge_initialize(value)
        elif failure:
            judged = versions.refuse_opening(Purpose.DISCOVER.value, value)
        else:
            judged = versions.judge_discover(value)
        if isinstance(judged, Discover):
            return (), self._discover()
        if isinstance(judged, UnfitServer):
            return self._refuse(judged)
        self.version = MODERN if self.phase is HandshakePhase.DISCOVERING else value["protocolVersion"]
        return self._accept(judged), b""

    def failed(self, why: str, now: float) -> None:
        """The answer to the opening was unreadable. If no other comes, the server is given up soon."""
        if self.due_at is None:
            self._fault = f"bad answer to {self._method}: {why}"
            self.due_at = now + BAD_ANSWER_S

    def on_time(self, now: float) -> Received:
        """Gives the server up if no answer has followed an unreadable one."""
        if self.due_at is None or now < self.due_at:
            return (), b""
        return self._refuse(UnfitServer(self._fault, may_pass=True))

    def _refuse(self, refused: UnfitServer) -> Received:
        self.phase = HandshakePhase.UNUSABLE
        return (Unusable(refused.reason, refused.may_pass or self._was_modern),), b""

    def _accept(self, server: ServerInfo) -> list[Message]:
        if self.phase is HandshakePhase.DISCOVERING:
            self._kept[_ERA] = MODERN
            self._requests.meta = versions.meta(self._setup.host_version, has_logging=server.has_logging)
        self.phase = HandshakePhase.ACCEPTED
        self._server = server
        messages: list[Message] = [frames.Hello(server.name or self._setup.name, server.version, CAPABILITIES)]
        instructions = "" if self._setup.options.get("instructions") is False else server.instructions
        if instructions or self._kept.get(_HAD_INSTRUCTIONS):
            messages.append(Instructions(instructions))
        self._kept[_HAD_INSTRUCTIONS] = bool(instructions)
        return messages

    def greet(self) -> tuple[bytes, ServerInfo]:
        """Accepts the hello. Returns the bytes to send before the requests for the lists, and the server."""
        server = self._server
        assert server is not None
        self.phase = HandshakePhase.OPEN
        if not self._requests.meta:
            return jsonrpc.notification("notifications/initialized"), server
        if not server.tells_changes:
            return b"", server
        wanted = jsonrpc.encode({f"{kind}ListChanged": True for kind in server.tells_changes})
        return self._requests.send(SentRequest(Purpose.LISTEN), b'"notifications":%b' % wanted), server

    def set_level(self) -> bytes:
        """Returns the request for log messages; empty if the server has none, or if every request asks for them."""
        if self._requests.meta or self._server is None or not self._server.has_logging:
            return b""
        return self._requests.send(SentRequest(Purpose.LEVEL), b'"level":"%b"' % versions.LOG_LEVEL.encode())
