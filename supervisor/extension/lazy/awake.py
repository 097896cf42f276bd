"""An extension that never sleeps: most are so, and the modules for the others are imported only where one sleeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.extension.process_worker import ProcessWorker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.extension.host_context import HostContext
    from supervisor.extension.lazy.lazy_start import LazyStart, Sleeper
    from supervisor.extension.slot import WorkerSlot
    from supervisor.extension.worker import Worker

FOLDER = "registrations"
"""The folder in `$ZOT_HOME` with the registrations of last starts."""


class Awake:
    """Does nothing, in place of a `LazyStart`."""

    has_run = False

    def new_worker(self, *given: Any, **told: Any) -> Worker:
        return ProcessWorker(*given, **told)

    def begin(self, env: Mapping[str, str]) -> bool:  # noqa: ARG002
        return False

    def follow(self, before: object) -> None: ...
    def registered(self, worker: Worker) -> None: ...
    def go_on(self) -> None: ...
    def leave(self, reason: str) -> None: ...
    def end(self, reason: str, *, starts_needed: bool = False) -> None: ...


AWAKE = Awake()


def lazy_start(
    host: HostContext,
    generation: Sleeper,
    *,
    start: Callable[[WorkerSlot, str], None],
    has_panel: Callable[[], bool],
    rest: Callable[[], bool],
) -> LazyStart | Awake:
    """Returns the rules for the starts and stops of a generation. The functions are those of `LazyStart`."""
    found = generation.found
    if found.manifest.start != "lazy" or found.link is not None or host.registrations is None:
        return AWAKE
    from supervisor.extension.lazy.lazy_start import LazyStart  # `supervisor.preload` has imported it for reloads

    return LazyStart(host, host.registrations, generation, start=start, has_panel=has_panel, rest=rest)
