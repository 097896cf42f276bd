"""The figures of extensions that several runs use, which only the two ends of an attach socket know.

`Supervisor.sharing` has them. A host that serves runs and a run that has attached each put their own there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from supervisor.extension.extension import Extension
    from wire.events.parts import HostedShare
    from wire.stats import SessionStats


class SharingFigures(NamedTuple):
    """Members of `wire.stats.ExtensionStats`."""

    mode: Literal["private", "leased", "shared"] | None = None
    attached: int = 0
    sessions: tuple[SessionStats, ...] = ()
    other_sessions: SessionStats | None = None
    hosted: HostedShare | None = None


UNSHARED = SharingFigures()


class Sharing:
    """No run can attach, and no extension is a host's."""

    @property
    def attached_runs(self) -> int:
        """Number of runs that are attached to this host."""
        return 0

    @property
    def attached_to(self) -> int | None:
        """Pid of the host that this run has attached to; None without one."""
        return None

    def figures(self, extension: Extension) -> SharingFigures:  # noqa: ARG002
        """The figures of one extension."""
        return UNSHARED
