"""The context that a host gives its extensions: shared data, and the functions by which they report to the host; and
the functions by which a generation reports to its extension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from supervisor.extension.connection.open_calls import refuse_all
from wire.settings.limit_changes import LimitRules

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from supervisor.accounting.account import Account
    from supervisor.accounting.fall import Fall
    from supervisor.cleanup.tracker import ProcessTracker
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.connection.open_calls import HostCallAnswer
    from supervisor.extension.notices import NoticeKind
    from supervisor.extension.worker import Shown, Worker
    from supervisor.loop.loop import Loop
    from supervisor.process.shared_table import SharedProcessTable
    from supervisor.process.table import ProcessTable
    from supervisor.profile.stall_profiles import StallProfiles
    from wire.dialects.base import HostInfo
    from wire.dialects.host_calls import HostCall


class RestartGate:
    """Whether a worker whose start has failed is restarted. A host that may end soon holds such restarts."""

    def __init__(self) -> None:
        self.is_held = False
        self._waiting: list[Callable[[], None]] = []

    def hold(self) -> None:
        """Until `release`, a worker that was never ready is not restarted."""
        self.is_held = True

    def add(self, start_again: Callable[[], None]) -> None:
        """Keeps a function that `release` calls."""
        self._waiting.append(start_again)

    def release(self) -> None:
        """Starts the workers whose restarts were held."""
        self.is_held = False
        waiting, self._waiting = self._waiting, []
        for start_again in waiting:
            start_again()


class HostContext(msgspec.Struct):
    """The data and functions that all extensions of a host share."""

    loop: Loop
    info: HostInfo
    """Facts about the host that extensions get when they start."""
    logs: Path
    """The folder of their logs."""
    shared_table: SharedProcessTable
    stall_profiles: StallProfiles
    tracker: ProcessTracker | None = None
    limits: LimitRules = msgspec.field(default_factory=LimitRules)
    """Where the limits of the extensions come from."""
    is_strict: bool = False
    """Whether a missing verdict of any guard means deny."""
    lets_asked_pass: bool = False
    """Whether an event is allowed if a guard wants a person to decide."""
    has_person: bool = False
    """Whether a person may use panels: else calls that wait for one are refused."""
    registrations: Path | None = None
    """The folder of the registrations of last starts; None if no extension sleeps."""
    restarts: RestartGate = msgspec.field(default_factory=RestartGate)
    starting: Callable[[FoundExtension, Worker], dict[str, str]] = lambda _found, _worker: {}
    """Called before each start of a worker's process; returns further variables for it."""

    def set_model(self, model: str) -> None:
        """Sets the model that extensions get from now on when they start."""
        self.info = msgspec.structs.replace(self.info, model=model)


def _ignore(*_: object) -> None:
    pass


def _no_objection(_found: FoundExtension, _claimed: Collection[str]) -> str:
    return ""


def _no_panel() -> bool:
    return False


def _none_adopted(_table: ProcessTable, _start: str) -> Iterable[int]:
    return ()


class EventSink(msgspec.Struct, frozen=True):
    """The reports of one extension. They run within the loop and must not wait. Defaults do nothing, or refuse."""

    changed: Callable[[], None] = _ignore
    """The tools, commands, subscriptions or state of the extension changed."""
    replaced: Callable[[], None] = _ignore
    """Another generation is current. The extension's place in guard order may have changed, too."""
    settled: Callable[[], None] = _ignore
    """The first start of the current generation is over, with or without success."""
    notice: Callable[[NoticeKind, str], None] = _ignore
    """Gets each notice: a line for the user about the extension."""
    fell: Callable[[Worker, Fall], None] = _ignore
    """Gets each fall of the extension, before the notice about it, with the worker that has fallen."""
    note: Callable[[str, str], None] = _ignore
    """Gets the level and text of each note that the extension sends to the user."""
    showed: Callable[[Worker, Shown], None] = _ignore
    """The extension clears its notes, or redraws or closes a panel."""
    has_panel: Callable[[], bool] = _no_panel
    """Returns whether a panel of the extension is open."""
    claims: Callable[[FoundExtension, Collection[str]], str] = _no_objection
    """Returns why this version of the extension cannot have the tools that it claims; "" if it can."""
    activated: Callable[[Sequence[str], str], None] = _ignore
    """Gets the names of tools that a result has the model offered from now on, and the tool of the result."""
    called: Callable[[HostCall, HostCallAnswer], None] = refuse_all
    """Gets each call of the extension to its host, which answers now or later; the default refuses."""
    adopted: Callable[[ProcessTable, str], Iterable[int]] = _none_adopted
    """Returns the pids of processes that have left the tree of the worker with this start mark."""


class GenerationOwner(Protocol):
    """The extension that a generation belongs to."""

    account: Account
    dice: Callable[[], float]

    def next_mark(self) -> str:
        """Returns the mark of the next start of a worker. No two starts have the same mark."""

    def got_ready(self) -> None:
        """A worker of the current generation is ready."""

    def settled(self) -> None:
        """The start of the current generation is over."""

    def rest(self, generation: object) -> bool:
        """A generation without processes takes the place of this one, which has nothing to do. Returns False if that
        cannot be now."""

    def changed(self) -> None:
        """The lead of the current generation, its state or its registrations changed."""
