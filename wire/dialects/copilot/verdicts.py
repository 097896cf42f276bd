"""Questions to the hooks and the permission handler of an extension, and their answers as verdicts. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire import frames
from wire.dialects.copilot.requests import Kind, Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from msgspec import Raw, UnsetType

    from wire.dialects.base import HostInfo, Received
    from wire.dialects.copilot.joining import Joined
    from wire.dialects.copilot.requests import Requests
    from wire.dialects.jsonrpc import Incoming


class Verdicts:
    """The questions to one extension that wait for a verdict."""

    def __init__(self, joined: Joined, requests: Requests, host: HostInfo, unix_ms: Callable[[], int]) -> None:
        self.joined = joined
        self._requests = requests
        self._host = host
        self._unix_ms = unix_ms

    def begin(self, call_id: str, event: frames.Event) -> bytes:  # noqa: ARG002
        return self._requests.send(Request(Kind.HOOK, call_id), b'{"sessionId":%b}' % self._requests.session_id)

    def hook_answered(self, request: Request, message: Incoming) -> Received:  # noqa: ARG002
        return (frames.InterceptResponse(request.id),), b""

    def permission_answered(self, params: Raw | UnsetType) -> Received:  # noqa: ARG002
        return (), b""
