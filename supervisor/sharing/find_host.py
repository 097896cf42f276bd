"""Finds the host that a run attaches to, and attaches: the run's first lines and the host's answer. Blocks briefly."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.control import unix_socket
from supervisor.home.runtime_dir import ATTACH_SUFFIX, runtime_dirs, sockets_in
from wire.dialects import attach
from wire.dialects.attach import PROTOCOL, AttachError
from wire.framing import DEFAULT_FRAME_LIMIT, LineSplitter, Oversize

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

WAIT_S = 5.0
"""Seconds that a host may take to answer."""


class NoHostError(Exception):
    """There is no host to attach to, or it refuses; the text says why, and what to do."""


def attach_to(
    wanted: str, home: Path, *, cwd: str, session_id: str, version: str
) -> tuple[socket.socket, attach.Attached]:
    """Attaches to the host that `wanted` names: a pid, a folder, or the path of an attach socket. Returns the
    connection, from which all lines were read, and the host's answer. Raises `NoHostError`."""
    line = attach.Attach(PROTOCOL, version, os.getpid(), session_id, cwd)
    folders = runtime_dirs(home)
    if wanted.endswith(ATTACH_SUFFIX):
        return _attach(Path(wanted), line)
    if wanted.isdecimal():
        for folder in folders:
            if int(wanted) in dict(sockets_in(folder, ATTACH_SUFFIX)):
                return _attach(folder / f"{int(wanted)}{ATTACH_SUFFIX}", line)
        raise NoHostError(f"--host {wanted}: no zot host with this pid; zot ps lists hosts, zot host starts one")
    place = os.path.realpath(os.path.join(cwd, os.path.expanduser(wanted)))
    if not os.path.isdir(place):
        raise NoHostError(f"--host {wanted}: neither the pid of a host nor a folder")
    found = list(_hosts_in(place, folders, line))
    if len(found) == 1:
        return found[0]
    for sock, _ in found:
        sock.close()
    if found:
        pids = ", ".join(str(each.pid) for _, each in found)
        raise NoHostError(f"--host {wanted}: {len(found)} hosts work in {place}; name one by its pid: {pids}")
    raise NoHostError(f"--host {wanted}: no zot host works in {place}; start one: zot host --cwd {place}")


def _hosts_in(place: str, folders: list[Path], line: attach.Attach) -> Iterator[tuple[socket.socket, attach.Attached]]:
    for folder in folders:
        for _, path in sockets_in(folder, ATTACH_SUFFIX):
            try:
                sock, attached = _attach(path, line)
            except NoHostError:
                continue  # it has ended, or is of another version: another one may be meant
            if os.path.realpath(attached.cwd) == place:
                yield sock, attached
            else:
                sock.close()


def _attach(path: Path, line: attach.Attach) -> tuple[socket.socket, attach.Attached]:
    pid = path.name.partition(".")[0]
    try:
        sock = unix_socket.connect(path, WAIT_S)
    except (ConnectionRefusedError, FileNotFoundError):
        raise NoHostError(f"host {pid} no longer runs; start one: zot host") from None
    except OSError as error:
        raise NoHostError(f"host {pid} cannot be reached: {error.strerror or error}") from None
    try:
        uid = unix_socket.peer_uid(sock)
        if uid is not None and uid != os.geteuid():
            raise NoHostError(
                f"host {pid} belongs to another user (uid {uid}); a run trusts only hosts of its own user"
            )
        return sock, _answer(sock, pid, line)
    except BaseException:
        sock.close()
        raise


def _answer(sock: socket.socket, pid: str, line: attach.Attach) -> attach.Attached:
    splitter, deadline = LineSplitter(DEFAULT_FRAME_LIMIT), time.monotonic() + WAIT_S
    try:
        with suppress(BrokenPipeError):  # a host that refuses all runs closes at once: its reason is there to be read
            sock.sendall(attach.encode(line))
        while True:
            sock.settimeout(max(0.01, deadline - time.monotonic()))
            data = sock.recv(64 * 1024)
            if not data:
                raise NoHostError(f"host {pid} has closed the connection")
            for each in splitter.feed(data):
                return _read(each, pid)
    except TimeoutError:
        raise NoHostError(f"host {pid} does not answer within {WAIT_S:g} s") from None
    except OSError as error:
        raise NoHostError(f"host {pid} cannot be reached: {error.strerror or error}") from None


def _read(line: bytes | bytearray | Oversize, pid: str) -> attach.Attached:
    if isinstance(line, Oversize):
        raise NoHostError(f"host {pid} sent a line of {line.size} bytes")
    try:
        answer = attach.decode_from_host(bytes(line))
    except AttachError as error:
        raise NoHostError(
            f"host {pid} speaks another version of the attach protocol ({error}); restart it with this zot"
        ) from None
    if isinstance(answer, attach.Refused):
        raise NoHostError(f"host {pid} refuses this run: {answer.message}")
    if not isinstance(answer, attach.Attached) or answer.protocol != PROTOCOL:
        raise NoHostError(f"host {pid} speaks another version of the attach protocol; restart it with this zot")
    return answer
