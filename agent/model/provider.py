"""The interface between a run and a model provider: requests in, lines of a reply out."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from agent.model import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.process.teardown import Stoppable
    from wire.exit_codes import Status


Line = dict[str, Any]
"""One line of a reply, as `agent.model.worker.worker_main` describes it. A provider adds `advice` for the user to an
`error` line."""
TERMINAL = frozenset({"final", "error"})
UNRECORDED = frozenset({"retry"})
"""Types of lines before a reply that are no part of it; a cassette has none of them."""


class Stream:
    """The reply to one request. The loop adds lines; the last one has the type `final` or `error`."""

    def __init__(self, lines: Sequence[Line] = (), *, on_empty: Callable[[], None] | None = None) -> None:
        """`on_empty` is called each time the last waiting line is taken."""
        self._lines: deque[Line] = deque(lines)
        self._on_empty = on_empty

    @property
    def waiting(self) -> int:
        """The number of waiting lines."""
        return len(self._lines)

    def feed(self, line: Line) -> None:
        """Adds a line to the end."""
        self._lines.append(line)

    def has_line(self) -> bool:
        return bool(self._lines)

    def take(self) -> Line:
        """Removes and returns the oldest line. Raises IndexError if there is none."""
        line = self._lines.popleft()
        if not self._lines and self._on_empty is not None:
            self._on_empty()
        return line


class ProviderUnavailable(msgspec.Struct, frozen=True):
    """Replaces a provider that cannot be used, for example without a credential. A run with it fails at once."""

    status: Status
    reason: str
    error: str | None = None


class Provider(Protocol):
    """Answers requests to the model, one at a time."""

    name: str
    error: str | None
    """A failure outside the replies, such as an incomplete cassette: a line for the user at the end of the run."""

    def start(self) -> None:
        """Prepares in the background; returns at once."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether a request would be sent at once."""
        ...

    def request(self, params: dict[str, Any]) -> Stream:
        """Sends a request; `params` are those of `agent.model.request.build_params`. Returns its reply."""
        ...

    def cancel(self) -> None:
        """Cancels the open request; its stream gets no more lines."""
        ...

    def warm_up(self) -> None:
        """Prepares again, if needed, for a possible request; returns at once. Call it between requests."""
        ...

    def stoppables(self) -> Sequence[Stoppable]:
        """The processes to stop at the end of the run, which begins with this call."""
        ...


class Provided:
    """A provider that is started once, or its replacement. `say` gets lines for the user."""

    def __init__(self, provider: Provider | ProviderUnavailable, say: Callable[[str], None]) -> None:
        self.provider = provider
        self.name = "none" if isinstance(provider, ProviderUnavailable) else provider.name
        self.is_started = False
        self._say = say

    def start(self, provider: Provider, model: str) -> None:
        """Starts the provider; `model` is the model of the first request."""
        self.is_started = True
        provider.start()
        info = catalogue.find(model)
        if info is not None and info.retires is not None:
            self._say(f"the provider retires {info.id} on {info.retires}; choose another one with --model")

    def warm_up(self) -> None:
        """Prepares for a possible request; restarts its process if that has ended."""
        if self.is_started and not isinstance(self.provider, ProviderUnavailable):
            self.provider.warm_up()

    def stoppables(self) -> Sequence[Stoppable]:
        """The processes to stop at the end, which begins with this call."""
        return () if isinstance(self.provider, ProviderUnavailable) else self.provider.stoppables()

    def close(self) -> None:
        """Tells the user about a cassette that could not be written. Call it when the processes have ended."""
        if self.provider.error:
            self._say(self.provider.error)
