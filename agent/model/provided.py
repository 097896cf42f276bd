"""The provider of an engine, from its start to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.model import catalogue
from agent.model.provider import ProviderUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.model.provider import Provider
    from supervisor.process.teardown import Stoppable


class Provided:
    """A provider that is started once, or what stands in for one that cannot be used. `say` gets lines for the user."""

    def __init__(self, provider: Provider | ProviderUnavailable, say: Callable[[str], None]) -> None:
        self.provider = provider
        self.name = "none" if isinstance(provider, ProviderUnavailable) else provider.name
        self.is_started = False
        self._say = say

    def start(self, provider: Provider, model: str) -> None:
        """Starts the provider, which is to be asked for this model first."""
        self.is_started = True
        provider.start()
        info = catalogue.find(model)
        if info is not None and info.retires is not None:
            self._say(f"the provider retires {info.id} on {info.retires}; choose another one with --model")

    def warm_up(self) -> None:
        """Has it ready for a request that may come, also if its process has ended."""
        if self.is_started and not isinstance(self.provider, ProviderUnavailable):
            self.provider.warm_up()

    def stoppables(self) -> Sequence[Stoppable]:
        """The processes to stop at the end, which begins with this call."""
        return () if isinstance(self.provider, ProviderUnavailable) else self.provider.stoppables()

    def close(self) -> None:
        """Tells the user what could not be written to the cassette. To be called when its processes have ended."""
        if self.provider.error:
            self._say(self.provider.error)
