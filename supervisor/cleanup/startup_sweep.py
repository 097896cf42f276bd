"""What hosts that were killed have left: each start looks for the records of dead hosts, ends the processes that still
carry a dead host's token, and says so.

The watchdog process does the same at once when its host dies; this is for when it was killed too.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.cleanup.env_marks import TOKEN
from supervisor.cleanup.host_record import (
    EXPIRY_S,
    UNFINISHED,
    Entry,
    HostStatus,
    fate_of,
    names_in,
    open_entry,
    record_paths,
    unlink,
)
from supervisor.cleanup.kill_leftovers import HostMarks, LeftoverKiller
from supervisor.process.cgroup_files import remove_leaves
from supervisor.process.table import read_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.loop.loop import Loop, Timer


@dataclass(frozen=True)
class Swept:
    """What became of one dead host's remains."""

    pid: int
    """The host's."""
    ended: int
    left: int = 0
    """Processes that could not be ended."""

    @property
    def line(self) -> str:
        """For the user; empty if there was nothing that they need hear of."""
        said = []
        if self.ended:
            said.append(f"ended {_processes(self.ended)} that a host (pid {self.pid}), which was killed, had left")
        if self.left:
            said.append(
                f"{_processes(self.left)} that a host (pid {self.pid}), which was killed, had left could not be ended"
            )
        return "; ".join(said)


def _processes(count: int) -> str:
    return f"{count} process{'es' * (count > 1)}"


# --- sweeping -----------------------------------------------------------------------------------------------


class Sweep:
    """Cleans up after dead hosts while the loop goes on. `on_swept` is called for each of them as it is done."""

    def __init__(self, loop: Loop, folder: Path, on_swept: Callable[[Swept], None]) -> None:
        self._loop = loop
        self._folder = folder
        self._on_swept = on_swept
        self._cases: list[_Case] = []
        self._timer: Timer | None = None

    @property
    def is_over(self) -> bool:
        return not self._cases

    def start(self) -> None:
        """Reads the records, which takes well under 1 ms if there are none; the rest is done from the loop."""
        for path, pid in record_paths(self._folder):
            entry = open_entry(path)
            if entry is None:
                continue
            if entry.lock() and self._is_ours_to_end(entry, pid):
                self._cases.append(_Case(entry, self._loop))
            else:
                entry.close()
        self._remove_unfinished()
        if self._cases:
            self._timer = self._loop.call_later(0, self._step)

    def close(self) -> None:
        """The host ends: what is left is killed now. A record of what has not gone by then stays for the next start."""
        if self._timer is not None:
            self._timer.cancel()
        for case in self._cases:
            case.hunt.kill_now()
            if case.hunt.left:
                case.entry.close()
            else:
                self._on_swept(case.finish(self._folder))
        self._cases.clear()

    def _is_ours_to_end(self, entry: Entry, pid: int) -> bool:
        record = entry.record
        if record is None or record.pid != pid:
            if read_process(pid) is None:  # no record at all: nothing can be found by it
                entry.remove()
            return False
        if os.environ.get(TOKEN) == record.token:
            return False  # it has started us: we, and who called us, are what it has left
        became = fate_of(record)
        if became is HostStatus.OF_ANOTHER_BOOT or (became is HostStatus.FOREIGN and entry.age_s > EXPIRY_S):
            entry.remove()
        return became is HostStatus.DEAD

    def _step(self) -> None:
        self._timer = None
        delays = []
        for case in list(self._cases):
            delay = case.hunt.step()
            if delay is not None:
                delays.append(delay)
                continue
            self._cases.remove(case)
            self._on_swept(case.finish(self._folder))
        if delays:
            self._timer = self._loop.call_later(max(delays), self._step)

    def _remove_unfinished(self) -> None:
        for name in names_in(self._folder):
            match = UNFINISHED.fullmatch(name)
            if match and read_process(int(match[1])) is None:
                unlink(self._folder / name)


class _Case:
    def __init__(self, entry: Entry, loop: Loop) -> None:
        assert entry.record is not None
        self.entry = entry
        self.record = entry.record
        # A host that lives now may have this pid, and then the folder is its.
        cgroup = self.record.cgroup if read_process(self.record.pid) is None else None
        self.trail = HostMarks(self.record.token, cgroup=_own_cgroup(cgroup, self.record.pid))
        self.hunt = LeftoverKiller(self.trail, loop.clock)

    def finish(self, folder: Path) -> Swept:
        left = len(self.hunt.left)
        if not left:
            remove_leaves(self.trail.cgroup)
            if read_process(self.record.pid) is None:
                unlink(folder / f"{self.record.pid}.sock")
            self.entry.remove()
        self.entry.close()
        return Swept(self.record.pid, len(self.hunt.seen) - left, left)


def _own_cgroup(cgroup: str | None, pid: int) -> str | None:
    """The folder that a record names, if it is what a host makes: a record must not make us kill others."""
    if cgroup is None or os.path.basename(cgroup) != f"zot-{pid}":
        return None
    return cgroup if os.path.exists(f"{cgroup}/cgroup.procs") else None
