"""Tracks the processes of a host, so that none is left behind even if the host is killed: the record, the sweep after
earlier hosts, the reaper, and the cgroup leaves, in this order.

A failure of the tracking raises no error and stops no extension: it becomes a line for the user or for `zot doctor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.cleanup.host_record import HostRecord
from supervisor.cleanup.reaper import Reaper
from supervisor.cleanup.startup_sweep import StartupSweep
from supervisor.home import runtime_dir
from supervisor.process import fd_limit
from supervisor.process.cgroup_survey import Unavailable
from supervisor.process.cgroups import Cgroups, Leaf
from supervisor.process.child import SpawnError
from supervisor.process.exit_cause import spawn_reason
from supervisor.process.shared_table import collect_orphans
from supervisor.process.spawn_limits import Confinement, launch, limit_core

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from supervisor.cleanup.startup_sweep import SweptHost
    from supervisor.loop.loop import Loop
    from supervisor.process.child import Child
    from supervisor.process.table import Identity
    from wire.manifest import Limits

EMPTY_S = 0.5
"""Seconds that `close` waits for the last processes of killed leaves."""
EMPTY_POLL_S = 0.01


class ProcessTracker:
    """One per host. `open` it before the first child starts; `close` it when all children have ended.

    A host that is embedded in another program (`owns_process=False`) must not move that program or change its limits.
    Such a host has no leaves. A host that is kept (`Keeper`) has leaves, and neither a record nor a reaper.
    """

    def __init__(
        self,
        loop: Loop,
        token: str,
        *,
        folder: Path,
        version: str,
        owns_process: bool,
        is_kept: bool = False,
        say: Callable[[str], None],
    ) -> None:
        """`folder` is `runtime_dir()`; `say` gets lines for the user, from within the loop."""
        self.cgroups: Cgroups | Unavailable = Unavailable("not opened yet")
        self._loop = loop
        self._token = token
        self._folder = folder
        self._version = version
        self._owns_process = owns_process
        self._is_kept = is_kept
        self._is_open = False
        self._is_detected = False
        self._say = say
        self._record: HostRecord | None = None
        self._sweep: StartupSweep | None = None
        self._reaper: Reaper | None = None
        self._newest: Child | None = None
        """The last child that was started, until the reaper is told of it."""
        self._leaves: dict[Identity, Leaf] = {}
        self._used: list[Leaf] = []
        """Leaves that wait for their last processes to be gone."""

    def open(self) -> None:
        """Sweeps after dead hosts, writes the record and starts the reaper, without waiting for it. Takes about 2 ms;
        later calls do nothing."""
        if self._is_open:
            return
        self._is_open = True
        if self._owns_process:
            limit_core()
        else:
            self.cgroups = Unavailable("this host is part of another program")
        if self._is_kept:
            return  # the cgroup is made for the first extension with a limit: the survey takes 2 ms
        self._detect()
        cgroup = None if isinstance(self.cgroups, Unavailable) else self.cgroups.real_path
        # The sweep comes before our own record: ours may replace the record of a dead host that had our pid.
        self._sweep = StartupSweep(self._loop, self._folder, self._on_swept)
        self._sweep.start()
        record = self._write_record(cgroup)
        self._reaper = Reaper(self._loop, self._token, record=record, cgroup=cgroup, on_error=self._say)
        self._reaper.start()

    def _detect(self) -> None:
        if self._owns_process and not self._is_detected:
            self._is_detected = True
            self.cgroups = Cgroups.detect()

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

    def _on_swept(self, swept: SweptHost) -> None:
        if swept.line:
            self._say(swept.line)

    # --- each child ---------------------------------------------------------------------------------------

    def confine(
        self, name: str, argv: Sequence[str], limits: Limits, *, cwd: str, env: Mapping[str, str]
    ) -> tuple[list[str], Leaf | None]:
        """Returns the command to start in place of `argv`, and the leaf that this command joins, if its limits need
        one. Raises `SpawnError` if the program cannot be started, or if the host would have too few descriptors."""
        try:
            fd_limit.require_free()
        except OSError as error:
            failed = SpawnError(spawn_reason(argv[0], cwd, error))
            failed.may_pass = True
            raise failed from error
        self._remove_used()
        if self._is_kept and (limits.rss_mb, limits.processes, limits.cpu_percent) != (None, None, None):
            self._detect()
        leaf = None
        if isinstance(self.cgroups, Cgroups) and self.cgroups.is_needed(limits):
            made = self.cgroups.leaf(name, limits)
            leaf = made if isinstance(made, Leaf) else None
        try:
            confinement = Confinement.of(limits, leaf.join_file if leaf else None)
            return launch(argv, confinement, cwd=cwd, env=env), leaf
        except OSError:
            self.release(leaf)
            raise

    def release(self, leaf: Leaf | None) -> None:
        """Removes the leaf of a child that could not be started."""
        if leaf is not None and not leaf.close():
            self._used.append(leaf)

    def started(self, child: Child, leaf: Leaf | None = None) -> None:
        """Tracks a child. Call it right after the child's start. The reaper learns of the child when the next one has
        started, from `tell_reaper`, or in the next pass of the loop. Reading the identity at once would wait until
        the kernel has loaded the program. Until then the reaper finds the child by the token in its environment."""
        if leaf is not None:
            self._leaves[child.identity] = leaf
        if not self._owns_process:
            limit_core(child.pid)
        self.tell_reaper()
        if self._reaper is not None:
            self._newest = child
            self._loop.call_later(0, self.tell_reaper)

    def tell_reaper(self) -> None:
        """Tells the reaper of the newest child, if that has not been done yet. Call it after a number of starts."""
        child, self._newest = self._newest, None
        if child is not None and child.is_running and self._reaper is not None:
            self._reaper.add(child.identity)

    def adopted(self, identity: Identity) -> None:
        """Tells the reaper, once, of an orphan of an extension."""
        if self._reaper is not None:
            self._reaper.add(identity, is_child=False)

    def collected(self, identity: Identity) -> None:
        """Tells the reaper to forget a child that was waited for, or an orphan that is gone. Other processes may still
        be in the leaf."""
        if self._reaper is not None:
            self._reaper.forget(identity)

    def memory_kills(self, identity: Identity) -> int:
        """Returns how many processes in this child's leaf the kernel has killed because of `rss_mb`; known until
        `ended`. Returns 0 for a child without a leaf."""
        leaf = self._leaves.get(identity)
        return 0 if leaf is None else leaf.memory_kills()

    def limit(self, identity: Identity, limits: Limits) -> None:
        """Changes the limits of a child's leaf. Does nothing for a child without a leaf: sampling watches it."""
        if (leaf := self._leaves.get(identity)) is not None:
            leaf.limit(limits)

    def ended(self, identity: Identity) -> None:
        """Call it when the child and all found processes of its tree are gone. Kills the processes that were not found,
        and removes the leaf."""
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
        """Ends the tracking. Call it after all children have ended. The reaper ends only when no process is left: so a
        host that is killed meanwhile leaves none."""
        if not self._is_open:
            return
        for identity in list(self._leaves):
            self.ended(identity)
        self._wait_for_leaves()
        if self._sweep is not None:
            self._sweep.close()
        if self._reaper is not None:
            self._reaper.dismiss()
        if self._record is not None:
            self._record.remove(self._folder)
        if self._reaper is not None:
            self._reaper.collect()
        if isinstance(self.cgroups, Cgroups):
            self.cgroups.close()  # the reaper may have been in the same cgroup as the host

    def _wait_for_leaves(self) -> None:
        deadline = self._loop.clock() + EMPTY_S
        while not self._remove_used() and self._loop.clock() < deadline:
            if self._owns_process:
                collect_orphans(self._loop)
            self._loop.run_until(lambda: False, self._loop.clock() + EMPTY_POLL_S)
