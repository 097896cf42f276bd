"""Sees to it that nothing of a host is left behind, whatever becomes of it: the record, the sweep of what earlier hosts
left, the watchdog, and the cgroup leaves, each in its turn.

Nothing here raises, and nothing is needed for an extension to run: what cannot be had is a line for the user, or for
`zot doctor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.cleanup.host_record import HostRecord
from supervisor.cleanup.reaper import Reaper
from supervisor.cleanup.startup_sweep import Sweep
from supervisor.home import runtime_dir
from supervisor.process.cgroup_survey import Unavailable
from supervisor.process.cgroups import Cgroups, Leaf
from supervisor.process.shared_table import reap_adopted
from supervisor.process.spawn_limits import Confinement, launch, limit_core
from supervisor.process.table import ProcessTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from supervisor.cleanup.startup_sweep import Swept
    from supervisor.loop.loop import Loop
    from supervisor.process.table import Identity
    from wire.manifest import Limits

EMPTY_S = 0.5
"""How long the last processes of killed leaves are waited for."""
EMPTY_POLL_S = 0.01


class ProcessTracker:
    """One for each host, beside its token. `open` it before anything is started, `close` it when everything has ended.

    A host that does not own its process, but is embedded in a program, moves nothing and changes no limit of that
    program: it has no leaves.
    """

    def __init__(
        self, loop: Loop, token: str, *, folder: Path, version: str, owns_process: bool, say: Callable[[str], None]
    ) -> None:
        """`folder` is `runtime_dir()`; `say` gets lines for the user, from within the loop."""
        self.cgroups: Cgroups | Unavailable = Unavailable("not opened yet")
        self._loop = loop
        self._token = token
        self._folder = folder
        self._version = version
        self._owns_process = owns_process
        self._say = say
        self._record: HostRecord | None = None
        self._sweep: Sweep | None = None
        self._reaper: Reaper | None = None
        self._leaves: dict[Identity, Leaf] = {}
        self._used: list[Leaf] = []

    def open(self) -> None:
        """Takes about 2 ms. Once; later calls do nothing."""
        if self._reaper is not None:
            return
        if self._owns_process:
            limit_core()
            self.cgroups = Cgroups.detect()
        else:
            self.cgroups = Unavailable("this host is part of another program")
        cgroup = None if isinstance(self.cgroups, Unavailable) else self.cgroups.real_path
        # Before our own record: it may take the place of one of a dead host that had our pid.
        self._sweep = Sweep(self._loop, self._folder, self._swept)
        self._sweep.start()
        record = self._write_record(cgroup)
        self._reaper = Reaper(self._loop, self._token, record=record, cgroup=cgroup, on_error=self._say)
        self._reaper.start()

    def _write_record(self, cgroup: Path | None) -> Path | None:
        record = HostRecord.of_this_process(self._token, self._version, cgroup)
        try:
            runtime_dir.prepare(self._folder)
            path = record.write(self._folder)
        except OSError as error:
            reason = str(error) if isinstance(error, runtime_dir.UnusableError) else f"{self._folder}: {error.strerror}"
            self._say(f"this host keeps no record, by which its remains could be found if it is killed: {reason}")
            return None
        self._record = record
        return path

    def _swept(self, swept: Swept) -> None:
        if swept.line:
            self._say(swept.line)

    @property
    def watchdog_pid(self) -> int | None:
        """While it runs."""
        return None if self._reaper is None else self._reaper.pid

    # --- each child ---------------------------------------------------------------------------------------

    def confine(
        self, name: str, argv: Sequence[str], limits: Limits, *, cwd: str, env: Mapping[str, str]
    ) -> tuple[list[str], Leaf | None]:
        """The command to start in place of `argv`, and the leaf that it will be in. Raises `SpawnError`."""
        self._remove_used()
        made = None if isinstance(self.cgroups, Unavailable) else self.cgroups.leaf(name, limits)
        leaf = made if isinstance(made, Leaf) else None
        try:
            confinement = Confinement.of(limits, leaf.join_file if leaf else None)
            return launch(argv, confinement, cwd=cwd, env=env), leaf
        except OSError:
            self.release(leaf)
            raise

    def release(self, leaf: Leaf | None) -> None:
        """Its child could not be started."""
        if leaf is not None and not leaf.close():
            self._used.append(leaf)

    def started(self, identity: Identity, leaf: Leaf | None = None) -> None:
        """Right after the start."""
        if leaf is not None:
            self._leaves[identity] = leaf
        if not self._owns_process:
            limit_core(identity.pid)
        if self._reaper is not None:
            self._reaper.note(identity)

    def adopted(self, identity: Identity) -> None:
        """A process of an extension that its parents have left: it is noted, once, for what may happen to us."""
        if self._reaper is not None:
            self._reaper.note(identity, is_child=False)

    def collected(self, identity: Identity) -> None:
        """The child has been waited for, or what was adopted is gone. Others may still be in the leaf."""
        if self._reaper is not None:
            self._reaper.forget(identity)

    def leaf_of(self, identity: Identity) -> Leaf | None:
        return self._leaves.get(identity)

    def memory_kills(self, identity: Identity) -> int:
        """Processes of the child's leaf that the kernel killed because of `rss_mb`. Valid until `ended`."""
        leaf = self._leaves.get(identity)
        return 0 if leaf is None else leaf.usage().memory_kills or 0

    def ended(self, identity: Identity) -> None:
        """The child and all that was found of its tree are gone: what nobody found goes now, with the leaf."""
        leaf = self._leaves.pop(identity, None)
        if leaf is not None and not leaf.close():
            leaf.kill()
            self._used.append(leaf)
            self._remove_used()

    def _remove_used(self) -> bool:
        self._used = [leaf for leaf in self._used if not leaf.close()]
        return not self._used

    # --- end ----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """After all children have ended. The watchdog goes last but for the record, so that there is no moment in which
        a killed host would leave something."""
        if self._reaper is None:
            return
        for identity in list(self._leaves):
            self.ended(identity)
        self._wait_for_leaves()
        if self._sweep is not None:
            self._sweep.close()
        self._reaper.dismiss()
        if isinstance(self.cgroups, Cgroups):
            self.cgroups.close()
        if self._record is not None:
            self._record.remove(self._folder)

    def _wait_for_leaves(self) -> None:
        deadline = self._loop.clock() + EMPTY_S
        while not self._remove_used() and self._loop.clock() < deadline:
            if self._owns_process:
                reap_adopted(self._loop, ProcessTable.read())
            self._loop.run_until(lambda: False, self._loop.clock() + EMPTY_POLL_S)
