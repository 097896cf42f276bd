"""Runs an extension like a host: as a program in its own process group, with frames on its pipes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading

from ..connection import decode, encode
from .host_side import FEATURES, HostSide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from .host_side import HostTools

LAST_LINES = 20


class ExtensionEnded(AssertionError):  # noqa: N818 - it fails a test
    """The program has ended too early. The text has its exit status and the last lines of its stderr."""


def spawn(
    program: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    features: Collection[str] = FEATURES,
    data_dir: str | os.PathLike[str] | None = None,
    timeout_s: float = 20.0,
    host_tools: HostTools | None = None,
) -> Program:
    """Starts an extension, greets it and waits until it is ready: `with spawn(["python3", "main.py"]) as host:`.

    It also takes a folder with an `extension.json` instead of a command line. `env` is added to the environment, and
    `host_tools` are those of `HostSide`. Raises `ExtensionEnded` or `TimeoutError` if it does not become ready.
    """
    if isinstance(program, (str, os.PathLike)):
        folder = os.path.abspath(program)
        argv = _argv(folder)
    else:
        folder = os.path.abspath(cwd or ".")
        argv = [os.fspath(part) for part in program]
    started = Program(argv, os.fspath(cwd or folder), {**os.environ, **(env or {})}, timeout_s, host_tools)
    try:
        started.greet(folder, data_dir, features)
    except BaseException:
        started.kill()
        raise
    return started


class Program(HostSide):
    """An extension that runs as a program. The end of the `with` block stops it, by force if necessary."""

    def __init__(
        self, argv: list[str], cwd: str, env: Mapping[str, str], timeout_s: float, host_tools: HostTools | None
    ) -> None:
        super().__init__(timeout_s, host_tools)
        self.junk: list[str] = []
        """Lines on stdout that are not frames."""
        self._ended = self._stderr_ended = False
        self._stderr: list[str] = []
        self._temporary = ""
        self._child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read_frames, self._read_stderr)]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def stderr(self) -> str:
        """All text on its stderr so far."""
        return "".join(self._stderr)

    def greet(self, folder: str, data_dir: str | os.PathLike[str] | None, features: Collection[str]) -> None:
        """Waits for its hello, answers it, and waits for its `ready`."""
        self.wait_for(lambda: self._said("hello"), "its hello")
        if data_dir is None:
            data_dir = self._temporary = tempfile.mkdtemp(prefix="zotext-")
        self._send(self._hello_ack(os.getcwd(), folder, os.path.abspath(data_dir), features))
        self.wait_for(lambda: self._said("ready"), "its ready")

    def send(self, frame: Mapping[str, Any] | bytes) -> None:
        """Sends a frame, or any bytes."""
        if isinstance(frame, bytes):
            self._write(frame)
        else:
            self._send(dict(frame))

    def stop(self) -> int:
        """Sends `shutdown` and returns the exit status at the end. Raises `TimeoutError` if it does not end."""
        try:
            self.send({"type": "shutdown"})
        except ExtensionEnded:
            pass
        return self.wait()

    def close_stdin(self) -> None:
        """Closes its stdin, as the death of a host does."""
        try:
            if self._child.stdin is not None:
                self._child.stdin.close()
        except OSError:
            pass

    def signal(self, number: int) -> None:
        """Sends a signal to it, for example `signal.SIGTERM`."""
        self._child.send_signal(number)

    def wait(self) -> int:
        """Waits for its end, and returns the exit status. Raises `TimeoutError` after `timeout_s`."""
        try:
            status = self._child.wait(self.timeout_s)
        except subprocess.TimeoutExpired:
            last_words = self._last_words()
            self.kill()
            raise TimeoutError(f"it has not ended within {self.timeout_s} s{last_words}") from None
        self._clean()
        return status

    def kill(self) -> None:
        """Kills it and every process in its process group."""
        self._clean()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._child.poll() is None and kind is None:
            self.stop()
        self.kill()

    # --- the pipes ----------------------------------------------------------------------------------------

    def _send(self, frame: dict[str, Any]) -> None:
        self._write(encode(frame))

    def _write(self, line: bytes) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(line)
            self._child.stdin.flush()
        except (OSError, ValueError):
            raise ExtensionEnded(f"it reads no more{self._last_words()}") from None

    def _read_frames(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            try:
                self._receive(decode(line))
            except ValueError:
                self.junk.append(line.decode(errors="replace").rstrip("\n"))
        with self._arrived:
            self._ended = True
            self._arrived.notify_all()

    def _read_stderr(self) -> None:
        assert self._child.stderr is not None
        for line in self._child.stderr:
            with self._arrived:
                self._stderr.append(line.decode(errors="replace"))
                self._arrived.notify_all()
        with self._arrived:
            self._stderr_ended = True
            self._arrived.notify_all()

    def _check_alive(self) -> None:
        if self._ended:
            self._arrived.wait_for(lambda: self._stderr_ended, 1.0)
            try:
                how = f"it has ended, with status {self._child.wait(1.0)}"
            except subprocess.TimeoutExpired:
                how = "it has closed its stdout"
            raise ExtensionEnded(how + self._last_words())

    def _last_words(self) -> str:
        lines = self._stderr[-LAST_LINES:]
        return "; its stderr ends with:\n" + "".join(lines) if lines else "; nothing is on its stderr"

    def _clean(self) -> None:
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # the whole group has ended; macOS raises PermissionError
            pass
        self._child.wait()
        for reader in self._readers:
            reader.join(5.0)  # a child that has left the group may hold the pipes open
        if not any(reader.is_alive() for reader in self._readers):
            for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
                try:
                    if pipe is not None:
                        pipe.close()
                except OSError:
                    pass
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)


def _argv(folder: str) -> list[str]:
    with open(os.path.join(folder, "extension.json"), "rb") as file:
        manifest = json.load(file)
    command = manifest["exec"]
    if "/" in command and not os.path.isabs(command):
        command = os.path.normpath(os.path.join(folder, command))
    return [command, *(manifest.get("args") or ())]
