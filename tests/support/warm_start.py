"""Starts `zot` from a process that has its modules in memory (`zygote.py`), which saves 0.25 s per start.

The child equals `python -m pyzot`: a process of its own, whose parent is this process, with its arguments, environment,
folder and standard streams. Exceptions: in /proc it has the command line and the environment of the zygote, except for
the mark of the run; and its end takes no module apart. Where the zygote lacks an option (`can`), the command itself is
started.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = Path(__file__).with_name("zygote.py")
ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "pyzot"]
MARK = "ZOT_TEST_RUN"
"""Inherited by everything that a run starts, so that what it leaves behind can be found."""
TURNED_OFF = "ZOT_TEST_COLD"
"""If this variable is set, the command itself is always started."""
PATIENCE_S = 30.0
REPLY_BYTES = 4096
REQUEST_BYTES = 100_000
"""A request is one packet; a longer request is started as a program."""
AT_START = ("PYTHON", "LC_", "LANG", "_TYPER", "LD_", "MALLOC_")
"""Prefixes of variables that Python or typer reads at its start, which the zygote has already done."""
KNOWN = {"bufsize", "cwd", "stdin", "stdout", "stderr", "start_new_session", "process_group"}
"""The options of `Popen` that a zygote supports."""
OF_A_PROCESS = ("Umask", "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "CapInh", "CapEff", "NoNewPrivs", "Seccomp:")


class ZygoteGoneError(Exception):
    """A test with a host in this process has ended the zygote with all other children."""


class WarmProcess(subprocess.Popen[bytes]):
    """A `Popen` whose child a zygote has forked."""

    def __init__(self, argv: list[str], *, zygote: Zygote, **popen: Any) -> None:
        self._zygote = zygote
        super().__init__(argv, **popen)

    def _execute_child(self, args: Any, _executable: Any, *rest: Any) -> None:
        _preexec, _close, _pass, cwd, env, _info, _flags, _shell, *pipes = rest[:14]
        new_session, group = rest[-2:]
        fds = [number if fd == -1 else fd for number, fd in enumerate((pipes[0], pipes[3], pipes[5]))]
        try:
            self.pid = self._zygote.fork(args, env, os.fspath(cwd), bool(new_session), group, fds)
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


class Zygote:
    """The process and the socket to it. The process ends when the socket is closed."""

    def __init__(self, kind: str) -> None:
        self._surroundings = surroundings()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        env = {**os.environ, "PYTHONPATH": str(ROOT), MARK: "0" * 32}
        self._read_at_start = read_at_start(env)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(theirs.fileno()), kind],
                env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
            )  # fmt: skip
        self.pid = self._process.pid
        self._socket.settimeout(PATIENCE_S)
        try:
            self._is_ready = self._socket.recv(REPLY_BYTES) == b"ready"
        except TimeoutError:
            self._is_ready = False

    def can(self, argv: list[str], env: dict[str, str], popen: dict[str, Any]) -> bool:
        """Whether a child of the zygote has all that is asked for."""
        return (
            self._is_ready
            and popen.keys() <= KNOWN
            and len(json.dumps([argv, env])) < REQUEST_BYTES
            and read_at_start(env) == self._read_at_start
            and surroundings() == self._surroundings
        )

    def fork(
        self, args: list[str], env: dict[str, str], cwd: str, new_session: bool, group: int, fds: list[int]
    ) -> int:
        """The pid of the new child. Raises OSError if it cannot have this folder or group, or the zygote has gone."""
        request = [args, env, cwd, new_session, None if group == -1 else group]
        try:
            socket.send_fds(self._socket, [json.dumps(request).encode()], fds)
            reply = json.loads(self._socket.recv(REPLY_BYTES) or b"{}")
        except ConnectionError:
            reply = {}
        if "errno" in reply:
            os.waitpid(reply["pid"], 0)
            raise OSError(reply["errno"], reply["why"], cwd)
        if "pid" not in reply:
            raise ZygoteGoneError
        return int(reply["pid"])

    def has_gone(self) -> bool:
        return self._process.poll() is not None

    def stop(self) -> None:
        self._socket.close()
        self._process.wait()


def read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(AT_START)}


def surroundings() -> list[str]:
    """What a child inherits besides environment and streams; a child of the zygote inherits it from the zygote."""
    status = Path("/proc/self/status").read_text().splitlines()
    inherited = [line for line in status if line.startswith(OF_A_PROCESS)]
    return [*inherited, Path("/proc/self/limits").read_text(), Path("/proc/self/cgroup").read_text()]


_one_at_a_time = threading.Lock()
"""A zygote serves one thread after another."""
_of_this_process: dict[str, Zygote] = {}
"""Zygotes by kind: `plain`, or `model` with the SDK in memory as well."""


def start(argv: list[str], *, env: dict[str, str], **popen: Any) -> subprocess.Popen[bytes]:
    """Starts `python -m pyzot …` from a zygote if that makes no difference, any other program directly."""
    if sys.platform == "linux" and argv[: len(COMMAND)] == COMMAND and TURNED_OFF not in os.environ:
        with _one_at_a_time:
            return _forked(argv, env, popen) or subprocess.Popen(argv, env=env, **popen)
    return subprocess.Popen(argv, env=env, **popen)


def _forked(argv: list[str], env: dict[str, str], popen: dict[str, Any]) -> WarmProcess | None:
    kind = "model" if any(word.startswith("--base-url") for word in argv) else "plain"
    if kind in _of_this_process and _of_this_process[kind].has_gone():
        _of_this_process.pop(kind).stop()
    if kind not in _of_this_process:
        _of_this_process[kind] = Zygote(kind)
    if _of_this_process[kind].can(argv, env, popen):
        with suppress(ZygoteGoneError):
            return WarmProcess(argv[2:], env=env, zygote=_of_this_process[kind], **popen)
    return None


def own_children() -> set[int]:
    """Pids of the zygotes, which belong to no test."""
    return {zygote.pid for zygote in _of_this_process.values()}


def stop() -> None:
    while _of_this_process:
        _of_this_process.popitem()[1].stop()
