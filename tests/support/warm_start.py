"""Starts `zot` from a process that has its modules in memory (`zot_template.py`), which saves 0.25 s per start.

The child equals `python -m pyzot`: a process of its own, whose parent is this process, with its arguments, environment,
folder and standard streams. Exceptions: in /proc it has the command line and the environment of the template, except
for the marks of the run; and its end takes no module apart. Where the template lacks an option (`can`), the command
itself is started.
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

from supervisor.cleanup.env_marks import TOKEN
from supervisor.template import protocol
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = Path(__file__).with_name("zot_template.py")
ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "pyzot"]
MARK = "ZOT_TEST_RUN"
"""Inherited by everything that a run starts, so that what it leaves behind can be found."""
TURNED_OFF = "ZOT_TEST_COLD"
"""If this variable is set, the command itself is always started."""
REQUEST_BYTES = 100_000
"""Of arguments and environment. Longer ones are left to the kernel, which refuses some."""
AT_START = ("PYTHON", "LC_", "LANG", "_TYPER", "LD_", "MALLOC_")
"""Prefixes of variables that Python or typer reads at its start, which the template has already done."""
COMPLETED = "_TYPER_COMPLETE_"
"""Of those that typer reads when it completes a line."""
KNOWN = {"bufsize", "cwd", "stdin", "stdout", "stderr", "start_new_session", "process_group", "umask"}
"""The options of `Popen` that a template supports."""
OF_A_PROCESS = ("Umask", "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "CapInh", "CapEff", "NoNewPrivs", "Seccomp:")


class TemplateGoneError(Exception):
    """A test with a host in this process has ended the template with all other children."""


class WarmProcess(subprocess.Popen[bytes]):
    """A `Popen` whose child comes from a template."""

    def __init__(self, argv: list[str], *, template: ZotTemplate, **popen: Any) -> None:
        self._template = template
        super().__init__(argv, **popen)

    def _execute_child(self, args: Any, _executable: Any, *rest: Any) -> None:
        _preexec, _close, _pass, cwd, env, _info, _flags, _shell, *pipes = rest[:14]
        umask, new_session, group = rest[-3:]
        fds = [number if fd == -1 else fd for number, fd in enumerate((pipes[0], pipes[3], pipes[5]))]
        try:
            self.pid = self._template.fork(args, env, os.fspath(cwd), umask, bool(new_session), group, fds)
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


class ZotTemplate:
    """The process and the socket to it. The process ends when the socket is closed."""

    def __init__(self, entry: str) -> None:
        self._entry = entry
        self._surroundings = surroundings()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        env = {**os.environ, "PYTHONPATH": str(ROOT), MARK: "0" * 32, TOKEN: "0" * 32}
        self._read_at_start = read_at_start(env)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM), entry, str(theirs.fileno())],
                env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
            )  # fmt: skip
        self.pid = self._process.pid
        self._last_id = 0
        self._socket.settimeout(PATIENCE_S)
        try:
            self._is_ready = isinstance(self._next_reply(), protocol.Ready)
        except (TimeoutError, TemplateGoneError):
            self._is_ready = False

    def can(self, argv: list[str], env: dict[str, str], popen: dict[str, Any]) -> bool:
        """Whether a child of the template has all that is asked for."""
        return (
            self._is_ready
            and popen.keys() <= KNOWN
            and len(json.dumps([argv, env])) < REQUEST_BYTES
            and read_at_start(env) == self._read_at_start
            and surroundings() == self._surroundings
        )

    def fork(
        self, args: list[str], env: dict[str, str], cwd: str, umask: int, new_session: bool, group: int, fds: list[int]
    ) -> int:
        """The pid of the new child. Raises OSError if it cannot have this folder or group, or the template has gone."""
        argument = json.dumps([args, env[MARK], new_session, None if group == -1 else group]).encode()
        block = protocol.environment_block(env)
        self._last_id += 1
        request = protocol.Fork(
            self._last_id, self._entry, argument, os.fsencode(cwd), block, None if umask == -1 else umask
        )
        reader, writer = os.pipe()
        with open(reader, "rb") as answers:
            try:
                protocol.send_request(self._socket, request, [*fds, writer])
            except ConnectionError:
                raise TemplateGoneError from None
            finally:
                os.close(writer)
            started = self._next_reply()
            if isinstance(started, protocol.Failed):
                raise OSError(started.errno, started.reason, cwd)
            assert isinstance(started, protocol.Started)
            answer = answers.read()
        if answer:
            number, reason = json.loads(answer)
        else:
            failed = self._next_reply()
            assert isinstance(failed, protocol.Failed)
            number, reason = failed.errno, failed.reason
        if reason:
            os.waitpid(started.pid, 0)
            raise OSError(number, reason, cwd)
        return started.pid

    def _next_reply(self) -> protocol.Reply:
        received = protocol.receive(self._socket)
        for fd in received.fds:
            os.close(fd)
        if not received.data:
            raise TemplateGoneError
        return protocol.decode_reply(received.data)

    def has_gone(self) -> bool:
        return self._process.poll() is not None

    def stop(self) -> None:
        self._socket.close()
        self._process.wait()


def read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(AT_START) and not name.startswith(COMPLETED)}


def surroundings() -> list[str]:
    """The state that a child inherits besides environment and streams; a child of the template has the template's."""
    status = Path("/proc/self/status").read_text().splitlines()
    inherited = [line for line in status if line.startswith(OF_A_PROCESS)]
    return [*inherited, Path("/proc/self/limits").read_text(), Path("/proc/self/cgroup").read_text()]


_one_at_a_time = threading.Lock()
"""A template serves one thread after another."""
_of_this_process: dict[str, ZotTemplate] = {}
"""Templates by entry: `zot`, or `zot_with_model` with the SDK in memory as well."""


def start(argv: list[str], *, env: dict[str, str], **popen: Any) -> subprocess.Popen[bytes]:
    """Starts `python -m pyzot …` from a template if that makes no difference, any other program directly."""
    if protocol.is_available() and argv[: len(COMMAND)] == COMMAND and TURNED_OFF not in os.environ:
        with _one_at_a_time:
            return _forked(argv, env, popen) or subprocess.Popen(argv, env=env, **popen)
    return subprocess.Popen(argv, env=env, **popen)


def _forked(argv: list[str], env: dict[str, str], popen: dict[str, Any]) -> WarmProcess | None:
    is_with_model = any(word == "batch" or word.startswith("--base-url") for word in argv)
    entry = "zot_with_model" if is_with_model else "zot"
    if entry in _of_this_process and _of_this_process[entry].has_gone():
        _of_this_process.pop(entry).stop()
    if entry not in _of_this_process:
        _of_this_process[entry] = ZotTemplate(entry)
    if _of_this_process[entry].can(argv, env, popen):
        with suppress(TemplateGoneError):
            return WarmProcess(argv[2:], env=env, template=_of_this_process[entry], **popen)
    return None


def own_children() -> set[int]:
    """Pids of the templates, which belong to no test."""
    return {template.pid for template in _of_this_process.values()}


def stop() -> None:
    while _of_this_process:
        _of_this_process.popitem()[1].stop()
