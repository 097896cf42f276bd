"""The actor on each machine: starts the node program there on pipes, and carries bytes between it and the driver.

Ray sends this module by value, so it imports only the standard library: the machine may lack zot. The calls of a
method come one after another, in order; `receive` and `ended` have a thread of their own, and so has `beat`.
"""

from __future__ import annotations

import importlib.machinery
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

PIECE = 64 * 1024
"""Maximum of bytes of one call or reply: Ray puts more than 100 kB into the object store."""
LARGE_PIPE = 1024 * 1024
F_SETPIPE_SZ = 1031
KEPT = 4096
"""Bytes of standard error that are kept."""
HEARD_S = 60.0
"""Seconds without a word of the driver after which the program is ended: Ray may notice much later, or never."""
LEAVES_S = 10.0
"""Seconds for the program to end after SIGTERM."""
ENDS_S = 2.0
"""Seconds for the exit of a node program that has closed its standard output."""
LAST_WORDS_S = 1.0
"""Seconds for the rest of its standard error after that."""
PROGRAM = ("agent", "batch", "cluster", "node", "node_main.py")
_VERSION = re.compile(r'^VERSION = "([^"]+)"', re.MULTILINE)


class NodeActor:
    """One node program and its pipes."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._archive = -1
        self._heard = time.monotonic()
        self._last = bytearray()

    def look(self) -> dict[str, str]:
        """Facts of this machine: the versions of Python and zot (empty if missing), and its name."""
        programs = find_programs()
        return {
            "python": platform.python_version(),
            "zot": "" if programs is None else read_version(programs),
            "host": socket.gethostname(),
        }

    def begin(self, program: str, uploads: bool) -> str:
        """Starts the program: an empty name stands for the node program of the zot that is installed here. With
        `uploads`, its argument is a descriptor that brings the archive of `upload`. Returns an error, or nothing."""
        programs = find_programs()
        path = program or str(Path(programs or "/", *PROGRAM))
        archive, self._archive = os.pipe() if uploads else (-1, -1)
        given = [archive] if uploads else []
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", path, *map(str, given)],
                cwd="/",
                pass_fds=given,
                env=own_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            return str(error)
        finally:
            for one in given:
                os.close(one)
        _widen(self._process.stdin, self._process.stdout)
        self._errors = threading.Thread(target=self._read_errors, daemon=True)
        self._errors.start()
        self.beat()
        threading.Thread(target=self._listen, daemon=True).start()
        return ""

    def beat(self) -> None:
        """The driver is there."""
        self._heard = time.monotonic()
        self._has_ended = threading.Event()

    def upload(self, data: bytes) -> None:
        """The next bytes of the archive, as `send`; none at its end."""
        self.beat()
        if data:
            _write(self._archive, data)
        else:
            os.close(self._archive)

    def send(self, data: bytes) -> None:
        """Waits until the program has room for all of it. Does nothing if it has closed its input."""
        if self._process is not None and self._process.stdin is not None:
            _write(self._process.stdin.fileno(), data)

    def receive(self) -> bytes:
        """Waits for output of the program. Returns nothing at its end."""
        assert self._process is not None
        assert self._process.stdout is not None
        return os.read(self._process.stdout.fileno(), PIECE)

    def close(self) -> None:
        """Ends the input of the program, which then ends itself."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.stdin = None

    def ended(self) -> tuple[int, str]:
        """The exit status of a program whose output has ended (one that does not exit is killed), and the last bytes of
        its standard error."""
        assert self._process is not None
        self._has_ended.set()
        try:
            code = self._process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            code = self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.join(LAST_WORDS_S)  # whatever it has left behind may hold its standard error open
        return code, bytes(self._last).decode("utf-8", "replace")

    def _read_errors(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        with self._process.stderr as errors:
            while data := os.read(errors.fileno(), PIECE):
                self._last += data
                del self._last[:-KEPT]

    def _listen(self) -> None:
        """Ends the program if nothing is heard of the driver."""
        assert self._process is not None
        while (left := self._heard + HEARD_S - time.monotonic()) > 0:
            if self._has_ended.wait(left):
                return
        self._last += b"nothing was heard of the driver for %d s\n" % HEARD_S
        self._process.terminate()
        try:
            self._process.wait(LEAVES_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError:
        pass  # the program reads no more: its end is told by `receive`


def _widen(*pipes: IO[bytes] | None) -> None:
    """Makes the pipes as large as the kernel allows; the old size does, too."""
    try:
        import fcntl

        for pipe in pipes:
            if pipe is not None:
                fcntl.fcntl(pipe, F_SETPIPE_SZ, LARGE_PIPE)
    except (ImportError, OSError):
        pass


def find_programs() -> Path | None:
    """The folder of zot's programs on this machine; None without zot."""
    spec = importlib.machinery.PathFinder.find_spec("pyzot", [place for place in sys.path if place])
    if spec is None or not spec.origin:
        return None
    package = Path(spec.origin).parent
    for programs in (package / "_programs", package.parent):
        if (programs / "cli" / "version.py").is_file():
            return programs
    return None


def read_version(programs: Path) -> str:
    """The version of zot whose programs lie in this folder; empty if it cannot be read."""
    try:
        found = _VERSION.search((programs / "cli" / "version.py").read_text("utf-8"))
    except OSError:
        return ""
    return found.group(1) if found else ""


def own_environment() -> dict[str, str]:
    """The environment of the raylet, which started this process: Ray sets more here (`OMP_NUM_THREADS`,
    `CUDA_VISIBLE_DEVICES`, `PYTHONBREAKPOINT`, `RAY_…`). Without /proc, this process's own. Without the token of the
    cluster, and without the allocator that Ray loads into the raylet."""
    found = dict(os.environ)
    try:
        parent = Path("/proc", str(os.getppid()))
        if (parent / "comm").read_text().strip() == "raylet":
            pairs = (parent / "environ").read_bytes().split(b"\0")
            found = {name: value for name, _, value in (os.fsdecode(pair).partition("=") for pair in pairs) if name}
    except OSError:
        pass
    found.pop("RAY_AUTH_TOKEN", None)
    loaded = [one for one in re.split("[ :]", found.pop("LD_PRELOAD", "")) if one and "/ray/core/lib" not in one]
    return found | ({"LD_PRELOAD": ":".join(loaded)} if loaded else {})
