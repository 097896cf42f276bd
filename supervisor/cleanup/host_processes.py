"""All processes of one host: how they are marked, found where they have left their trees, and ended with the host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from supervisor.cleanup.env_marks import EXTENSION, TOKEN
from supervisor.cleanup.orphans import Orphans
from supervisor.cleanup.tracker import ProcessTracker
from supervisor.process import fd_limit
from supervisor.process.shared_table import SharedProcessTable
from supervisor.process.teardown import end_descendants, stop_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from supervisor.cleanup.keeper import Keeper
    from supervisor.loop.loop import Loop
    from supervisor.process.stop_policy import Patience
    from supervisor.process.table import Process
    from supervisor.process.teardown import Stoppable


class HostProcesses:
    """One per host: `open` it before the first child starts, `stop` the children, then `close` it. `owns_process`,
    `runtime_folder`, `keeper` and `say` are those of the `Supervisor`."""

    def __init__(
        self,
        loop: Loop,
        *,
        version: str,
        owns_process: bool,
        runtime_folder: Path | None,
        keeper: Keeper | None,
        say: Callable[[str], None] | None,
    ) -> None:
        self._loop = loop
        self._owns_process = owns_process
        self.token, self.task = (os.urandom(16).hex(), "") if keeper is None else (keeper.token, keeper.task)
        """Every child has the token in its environment. It identifies the children of a killed host. The task is what a
        kept host works on."""
        self.table = SharedProcessTable(loop)
        self.tracker: ProcessTracker | None = None
        if runtime_folder is not None:
            self.tracker = ProcessTracker(
                loop, self.token, folder=runtime_folder, version=version, owns_process=owns_process,
                is_kept=keeper is not None, say=say or (lambda _line: None),
            )  # fmt: skip
        self.adopted = Orphans(loop, self.token, self.tracker, adopts=owns_process).of
        """Returns the pids of an extension's processes that have left its process trees."""

    def open(self) -> None:
        """With cgroups, to be called before this process starts its first child."""
        if self._owns_process:
            self.table.adopt_orphans()
            os.environ[TOKEN] = self.token  # marks all children of this process
        self.table.hold()
        if self.tracker is not None:
            self.tracker.open()

    def marks(self, extension: str) -> dict[str, str]:
        """The variables by which the processes of an extension are known."""
        return {EXTENSION: extension, TOKEN: self.token}

    def provide_for(self, workers: int) -> None:
        """Raises the limit of descriptors, if needed, for this number of workers in all."""
        if self._owns_process:
            fd_limit.provide(workers)

    def tell_reaper(self) -> None:
        """Tells the reaper of the newest child. Call it after a number of starts."""
        if self.tracker is not None:
            self.tracker.tell_reaper()

    def stop(
        self,
        owners: Sequence[Stoppable],
        *,
        at_once: bool,
        known: Mapping[Stoppable, Iterable[Process]],
        patience_with: Mapping[Stoppable, Patience],
    ) -> list[Stoppable]:
        """Stops the children of all owners, see `stop_all`, and where the process is the host's own all other
        descendants. Returns the owners whose processes could not be killed."""
        stuck = stop_all(
            self._loop, owners, at_once=at_once, known=known, patience_with=patience_with, shared_table=self.table
        )
        if self._owns_process:
            end_descendants(self._loop, shared_table=self.table)
        return stuck

    def close(self) -> None:
        if self.tracker is not None:
            self.tracker.close()
        self.table.close()
