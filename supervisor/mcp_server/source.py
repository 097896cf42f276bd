"""The source of tools and commands: the extensions of the server's own host, or of a running host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from supervisor.calls.call_driver import CallSource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.calls.request_in_flight import Cancellable
    from supervisor.loop.loop import Loop
    from wire import frames
    from wire.mcp_server.offer import Offer


PATIENCE_S = 5.0
"""Seconds for which the first list of tools waits for extensions that are not required. Clients give a server at least
10 s to start."""


class ExtensionSource(CallSource, Protocol):
    """The extensions, for the server. It never waits: callbacks are called in a later pass of the loop, once each."""

    is_ready: bool
    """Whether the offer may be sent: all extensions are ready or have failed, or the needed ones are ready and the time
    to wait for the others is over."""
    on_change: Callable[[], None]
    """Called when `is_ready`, or the offer, may have changed."""
    on_log: Callable[[str, str, str], None]
    """Gets the level (of MCP), the extension and the text of each note and notice."""

    @property
    def extensions(self) -> Sequence[str]:
        """The names of the extensions."""

    @property
    def instructions(self) -> str:
        """The extensions' instructions to the model about their tools."""

    @property
    def is_described(self) -> bool:
        """Whether the instructions are complete: no starting extension is likely to add to them."""

    def offer(self) -> Offer: ...

    def unknown_tool(self, name: str) -> str:
        """Why this tool cannot be called; "" if it can be."""

    def invoke(self, name: str, args: str, done: Callable[[frames.CommandResponse], None]) -> Cancellable:
        """Runs a command. A failure of the extension is an answer with an error."""


class StartingSource:
    """The part of a source that waits for its extensions to start."""

    def __init__(self, loop: Loop) -> None:
        self.is_ready = False
        self.on_change: Callable[[], None] = lambda: None
        self.on_log: Callable[[str, str, str], None] = lambda _level, _extension, _text: None
        self._loop = loop
        self._is_over = False
        """Whether `PATIENCE_S` are over."""

    @property
    def _has_started(self) -> bool:
        raise NotImplementedError

    def _begin_to_wait(self) -> None:
        self._loop.call_later(PATIENCE_S, self._patience_over)

    def _patience_over(self) -> None:
        self._is_over = True
        self._changed()

    def _changed(self) -> None:
        self.is_ready = self.is_ready or self._has_started
        self.on_change()
