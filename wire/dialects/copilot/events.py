"""What happens in the host as events of the extension's session. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire import frames
    from wire.dialects.copilot.joining import Joined
    from wire.dialects.copilot.requests import Requests


class Events:
    """The events that one extension is told."""

    def __init__(self, joined: Joined, requests: Requests, unix_ms: Callable[[], int]) -> None:
        self.joined = joined
        self._requests = requests
        self._unix_ms = unix_ms

    def event(self, event: frames.Event) -> bytes:  # noqa: ARG002
        return b""
