"""Sets the limits of a child before its program runs: a shell limits itself, then execs the program.

So the host runs no code between fork and exec, and the program never runs without its limits. A command without limits
is started directly. The shell costs 0.7 ms per start, as much as a start of `true` on the same machine. The first join
of a cgroup after a quiet time can take the kernel 15 ms more. Some shells drop variables whose names they cannot use,
such as bash's exported functions: only with such variables Python takes the shell's place, which costs 8 ms.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import sys
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from supervisor.process.child import SpawnError
from supervisor.process.exit_cause import spawn_reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from wire.manifest import Limits

SHELL = "/bin/sh"
BLOCK = 512
"""Unit of `ulimit -f` in bytes: in POSIX, and in dash, busybox and bash when they are called `sh`."""
MIB = 1024 * 1024
JOIN = '{ echo $$ > "$0"; } 2>/dev/null || echo "zot: could not join the cgroup ${0%/*}; continues outside" >&2'
RUN = 'exec "$@"'
SHELL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LIMITED_EXEC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "limited_exec.py")
BINFMT = "/proc/sys/fs/binfmt_misc"
MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""ELF; Mach-O of 64 and 32 bits; Mach-O for several machines."""


class Confinement(msgspec.Struct, frozen=True):
    """The limits to set in a child."""

    open_files: int | None = None
    file_bytes: int | None = None
    join_file: Path | None = None
    """`cgroup.procs` of the child's leaf."""

    @classmethod
    def of(cls, limits: Limits, join_file: Path | None = None) -> Confinement:
        """Takes the limits that the kernel enforces for each process: `open_files` and `file_mb`."""
        file_bytes = None if limits.file_mb is None else int(limits.file_mb * MIB)
        return cls(limits.open_files, file_bytes, join_file)

    def within_hard_limits(self) -> Confinement:
        """Lowers these limits to the host's own hard limits: only root can raise a hard limit."""
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
    """Returns the command to start in place of `argv`, in the same folder and with the same environment.

    Raises `SpawnError`, with the same text as a direct start of `argv`, if the program cannot be started.
    """
    if confinement.is_empty:
        return list(argv)
    program = find_program(argv[0], cwd=cwd, env=env)
    return limit_command([program, *argv[1:]], confinement.within_hard_limits(), env)


def limit_command(argv: Sequence[str], confinement: Confinement, env: Mapping[str, str]) -> list[str]:
    """Returns `argv` behind a shell, or Python, that sets the limits. Pure. The program must be an absolute path. The
    shell gets names and arguments as its own arguments, so it never reads them as commands. If a limit cannot be set,
    a line is written to standard error and the program still starts. No value of `env` is among the arguments, which
    all users may read."""
    if confinement.is_empty:
        return list(argv)
    if not all(map(SHELL_NAME.fullmatch, env)):
        return [*_python(confinement), f"={env['LC_CTYPE']}" if "LC_CTYPE" in env else "", *argv]
    steps = ["ulimit -c 0"]
    if confinement.open_files is not None:
        steps.append(_limit("n", confinement.open_files, "open files"))
    if confinement.file_bytes is not None:
        steps.append(_limit("f", max(1, confinement.file_bytes // BLOCK), "file size"))
    if confinement.join_file is not None:
        steps.append(JOIN)
    script = "\n".join([*steps, RUN])
    return [SHELL, "-c", script, str(confinement.join_file or "zot"), *argv]


def _limit(flag: str, value: int, what: str) -> str:
    """Sets the soft and the hard limit, so that the child cannot raise it again."""
    return f'ulimit -{flag} {value} 2>/dev/null || echo "zot: could not limit {what} to {value}; continues without" >&2'


def _python(confinement: Confinement) -> list[str]:
    """The command of `limited_exec`, with the values that the shell would set."""
    file_bytes = confinement.file_bytes and max(1, confinement.file_bytes // BLOCK) * BLOCK
    values = (confinement.open_files, file_bytes, confinement.join_file)
    return [sys.executable, "-I", "-S", LIMITED_EXEC, *("" if value is None else str(value) for value in values)]


# --- faults that the shell would hide -------------------------------------------------------------------------


def find_program(program: str, *, cwd: str, env: Mapping[str, str]) -> str:
    """Returns the absolute path that a direct start of `program` would run. Raises `SpawnError` if it cannot be run."""
    path: str | None = os.path.join(os.path.abspath(cwd), program)
    if "/" not in program:
        path = shutil.which(program, path=env.get("PATH", os.defpath))
    fault = errno.ENOENT if path is None or not os.path.isdir(cwd) else _fault_of(path)
    if fault:
        cause = OSError(fault, os.strerror(fault))  # Python picks the subclass of `OSError` for this number
        raise SpawnError(spawn_reason(program, cwd, cause)) from cause
    assert path is not None
    return path


def _fault_of(path: str) -> int:
    """Returns the error number that exec would give, or 0."""
    if not os.path.exists(path):
        return errno.ENOENT
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        return errno.EACCES
    try:
        with open(path, "rb") as file:
            start = file.read(256)
    except OSError:
        return 0  # executable, but not readable: its content cannot be checked
    if start.startswith(b"#!"):
        words = start[2:].partition(b"\n")[0].split()
        return errno.ENOENT if words and not os.path.exists(words[0]) else 0
    if start.startswith(MAGIC) or _other_formats():
        return 0
    return errno.ENOEXEC  # the shell would run it as a shell script


def _other_formats() -> bool:
    """Whether this system runs further file formats (binfmt_misc)."""
    try:
        return bool(set(os.listdir(BINFMT)) - {"register", "status"})
    except OSError:
        return False


# --- core files ---------------------------------------------------------------------------------------------


def limit_core(pid: int = 0) -> None:
    """Turns off core files: for this process and all its later children, or for the child `pid`.

    A host that owns its process calls this once at the start, since limits are inherited. It lowers only the soft
    limit: a child that wants core files can raise it again. A host inside another program must not change that
    program's limits. So it sets both limits of each child by the child's pid, which takes a microsecond (Linux only).
    If `core_pattern` pipes to a program, that program gets the limit and may ignore it.
    """
    try:
        if pid:
            if hasattr(resource, "prlimit"):
                resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        else:
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    except (OSError, ValueError):
        pass  # the process has ended already
