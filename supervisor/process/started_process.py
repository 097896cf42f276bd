"""A process that was started before its host had a loop, with the host's ends of its pipes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import subprocess


class StartedProcess(NamedTuple):
    """A process in a session of its own. `supervisor.process.child.Child` takes it over."""

    process: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int
    """-1 if the host does not read it."""

    def drop(self) -> None:
        """Kills it, waits for its end and closes the pipes."""
        self.process.kill()
        self.process.wait()
        for fd in (self.stdin, self.stdout, self.stderr):
            if fd >= 0:
                os.close(fd)
