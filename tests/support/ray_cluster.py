"""Ray clusters on this machine, for tests. Their processes are children of a program of ours, so that no thread of Ray
runs in the process of the tests; at the end none is left, whatever has happened.

Without Ray, a test that asks for a cluster is skipped.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tests.support.lives import is_gone
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from types import TracebackType

PROGRAM = Path(__file__).with_name("ray_cluster_program.py")
NO_RAY = "no Ray here: pip install 'pyzot[ray]'"
SHUTDOWN_S = 30.0


def need_ray() -> None:
    """Skips the test if Ray is missing. Imports nothing: Ray starts threads."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip(NO_RAY)


def lives(process: psutil.Process) -> bool:
    """Whether it runs. A zombie does not: the one that adopts it may be busy."""
    return bool(process.is_running()) and not is_gone(process.pid)


class RayCluster:
    """A cluster of `nodes` raylets with one CPU each, while it is entered. `env` is that of its drivers: its token, and
    the folder that Ray uses instead of /tmp/ray, so that no other cluster of this machine is found."""

    def __init__(self, nodes: int = 2, *, for_clients: bool = False, more_env: dict[str, str] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="zr", dir="/tmp"))  # sockets have short paths
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        settings = {"RAY_TMPDIR": str(self.folder), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
        self.env = kept | settings | {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"} | (more_env or {})
        self.address = ""
        self.client_address = ""
        self.raylets: list[int] = []
        """Their pids; that of the head comes first."""
        self.gcs = 0
        self._args = [str(nodes)]
        if for_clients:
            with socket.create_server(("127.0.0.2", 0)) as free:
                self._args.append(str(free.getsockname()[1]))
            self.client_address = f"ray://127.0.0.2:{self._args[1]}"
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> RayCluster:
        self._errors = open(self.folder / "errors", "w")
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), *self._args],
            env=self.env,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        try:
            self._read()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def add(self) -> int:
        """Returns the pid of the new raylet."""
        self._ask("add")
        return self.raylets[-1]

    def remove(self, raylet: int) -> None:
        """As a machine that leaves in order."""
        self._ask(f"remove {raylet}")

    def kill(self, raylet: int) -> None:
        """As a machine that is switched off."""
        self._ask(f"kill {raylet}")

    def processes(self) -> list[psutil.Process]:
        """All that live: those that use its folder."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("RAY_TMPDIR") == str(self.folder) and lives(process):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def _ask(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        self._read()

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, (self.folder / "errors").read_text()
        told: dict[str, Any] = json.loads(line)
        self.address, self.raylets, self.gcs = told["address"], told["raylets"], told["gcs"]

    def _end(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        family = psutil.Process(self._process.pid).children(recursive=True)
        self._process.stdin.close()
        if self.gcs and is_gone(self.gcs):
            self._process.kill()  # it would wait for the head
        try:
            self._process.wait(SHUTDOWN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()
        until = time.monotonic() + PATIENCE_S
        while left := {*self.processes(), *filter(lives, family)}:
            assert time.monotonic() < until, left
            for process in left:
                try:
                    process.kill()
                except psutil.NoSuchProcess:
                    continue
            psutil.wait_procs(left, max(0.0, until - time.monotonic()))
        shutil.rmtree(self.folder, ignore_errors=True)
