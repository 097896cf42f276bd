"""How a child gets its limits before it becomes the program: by a shell that sets them in itself and then execs.

So nothing has to be run between fork and exec in the host's own image, and there is no moment in which the program
runs without them. Where nothing is asked the command is left as it is. The shell costs 0.7 ms a start, on a machine
where starting `true` takes as long; the first join of a cgroup after a quiet time can take the kernel 15 ms more.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from supervisor.process.child import SpawnError, spawn_reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from wire.manifest import Limits

SHELL = "/bin/sh"
BLOCK = 512
"""Bytes: the unit of `ulimit -f` in POSIX, and in dash, busybox and bash when they are called `sh`."""
MIB = 1024 * 1024
JOIN = '{ echo $$ > "$0"; } 2>/dev/null || echo "zot: could not join the cgroup ${0%/*}; goes on outside" >&2'
RUN = 'exec "$@"'
SHELL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
BINFMT = "/proc/sys/fs/binfmt_misc"
MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""ELF, Mach-O of both sizes, Mach-O of several machines."""


@dataclass(frozen=True)
class Confinement:
    """What is to be set in the child."""

    open_files: int | None = None
    file_bytes: int | None = None
    join_file: Path | None = None
    """`cgroup.procs` of its leaf."""

    @classmethod
    def of(cls, limits: Limits, join_file: Path | None = None) -> Confinement:
        """What the kernel limits per process: `open_files` and `file_mb`."""
        file_bytes = None if limits.file_mb is None else int(limits.file_mb * MIB)
        return cls(limits.open_files, file_bytes, join_file)

    def within_hard_limits(self) -> Confinement:
        """The same, where a limit of our own is lower already: nobody but root can raise that."""
        return replace(
            self,
            open_files=_lower(self.open_files, resource.RLIMIT_NOFILE),
            file_bytes=_lower(self.file_bytes, resource.RLIMIT_FSIZE),
        )

    @property
    def is_empty(self) -> bool:
        return self == Confinement()


def _lower(wanted: int | None, kind: int) -> int | None:
    hard = resource.getrlimit(kind)[1]
    return wanted if wanted is None or hard == resource.RLIM_INFINITY else min(wanted, hard)


def launch(argv: Sequence[str], confinement: Confinement, *, cwd: str, env: Mapping[str, str]) -> list[str]:
    """The command to start in place of `argv`, in the same folder and with the same environment.

    Raises `SpawnError`, with the words that starting `argv` itself would have had, where the program cannot be started.
    """
    if confinement.is_empty:
        return list(argv)
    program = find_program(argv[0], cwd=cwd, env=env)
    return prefixed([program, *argv[1:]], confinement.within_hard_limits(), env)


def prefixed(argv: Sequence[str], confinement: Confinement, env: Mapping[str, str]) -> list[str]:
    """Pure. The program must be an absolute path. Names and arguments reach the shell as its own arguments, so that
    nothing in them is read as a command. What cannot be set is a line on standard error; the program starts all the
    same."""
    if confinement.is_empty:
        return list(argv)
    steps = ["ulimit -c 0"]
    if confinement.open_files is not None:
        steps.append(_limit("n", confinement.open_files, "open files"))
    if confinement.file_bytes is not None:
        steps.append(_limit("f", max(1, confinement.file_bytes // BLOCK), "file size"))
    if confinement.join_file is not None:
        steps.append(JOIN)
    script = "\n".join([*steps, RUN])
    return [SHELL, "-c", script, str(confinement.join_file or "zot"), *_restored(argv[0], env), *argv]


def _limit(flag: str, value: int, what: str) -> str:
    """Both limits at once, so that the child cannot raise it again."""
    return f'ulimit -{flag} {value} 2>/dev/null || echo "zot: could not limit {what} to {value}; goes on without" >&2'


def _restored(program: str, env: Mapping[str, str]) -> list[str]:
    """dash drops variables whose names no shell could use, such as bash's exported functions: `env` puts them back. It
    would take a program with = in its path for a variable too."""
    odd = [f"{name}={value}" for name, value in env.items() if not SHELL_NAME.fullmatch(name)]
    return ["/usr/bin/env", *odd] if odd and "=" not in program else []


# --- before a shell hides what is wrong ------------------------------------------------------------------------


def find_program(program: str, *, cwd: str, env: Mapping[str, str]) -> str:
    """The absolute path that starting `program` would run. Raises `SpawnError` if it could not be run."""
    path: str | None = os.path.join(os.path.abspath(cwd), program)
    if "/" not in program:
        path = shutil.which(program, path=env.get("PATH", os.defpath))
    fault = errno.ENOENT if path is None or not os.path.isdir(cwd) else _fault_of(path)
    if fault:
        cause = OSError(fault, os.strerror(fault))  # of the subclass that belongs to the number
        raise SpawnError(spawn_reason(program, cwd, cause)) from cause
    assert path is not None
    return path


def _fault_of(path: str) -> int:
    """The error that exec would give, or 0."""
    if not os.path.exists(path):
        return errno.ENOENT
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        return errno.EACCES
    try:
        with open(path, "rb") as file:
            start = file.read(256)
    except OSError:
        return 0  # may be run, not read: nothing more can be known
    if start.startswith(b"#!"):
        words = start[2:].partition(b"\n")[0].split()
        return errno.ENOENT if words and not os.path.exists(words[0]) else 0
    if start.startswith(MAGIC) or _other_formats():
        return 0
    return errno.ENOEXEC  # a shell would run it as a script of its own


def _other_formats() -> bool:
    """Whether this system runs further kinds of files."""
    try:
        return bool(set(os.listdir(BINFMT)) - {"register", "status"})
    except OSError:
        return False


# --- core files ---------------------------------------------------------------------------------------------


def limit_core(pid: int = 0) -> None:
    """No core files: of this process and all that it starts from now on; or of one that has just been started.

    A limit is inherited, so for a host that owns its process one call at the start is all it takes: the soft limit, so
    that a child that wants its core files can still ask for them. A host that is embedded in another program must leave
    that program's limits alone, and sets both limits of each child by its pid, which takes a microsecond (Linux only).
    A `core_pattern` that pipes to a program is told the limit, and may not heed it.
    """
    try:
        if pid:
            if hasattr(resource, "prlimit"):
                resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        else:
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    except (OSError, ValueError):
        pass  # it has ended already
