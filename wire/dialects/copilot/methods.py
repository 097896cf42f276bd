"""What an extension wants from its host. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wire.dialects.copilot.requests import refused
from wire.dialects.jsonrpc import METHOD_NOT_FOUND

if TYPE_CHECKING:
    from msgspec import Raw, UnsetType

    from wire.dialects.base import HostInfo, Received
    from wire.dialects.copilot.events import Events
    from wire.dialects.copilot.joining import Joined
    from wire.dialects.copilot.requests import Requests


class Methods:
    """The requests of one extension."""

    def __init__(self, joined: Joined, requests: Requests, host: HostInfo, events: Events) -> None:
        self.joined = joined
        self._requests = requests
        self._host = host
        self._events = events

    def take(self, method: str, written_id: bytes, params: Raw | UnsetType) -> Received:  # noqa: ARG002
        """`written_id` is empty for a notification."""
        return (), refused(written_id, METHOD_NOT_FOUND, f"Unhandled method {method}") if written_id else b""

    def answer(self, key: str, value: Any) -> bytes:  # noqa: ARG002
        return b""

    def refuse(self, key: str, reason: str) -> bytes:  # noqa: ARG002
        return b""
