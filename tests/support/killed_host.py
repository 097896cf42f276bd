"""Hosts that are going to be killed, and processes that must not be touched by that."""

from __future__ import annotations

import os
import secrets
import select
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from supervisor.process.cgroup_survey import OPT_OUT
from supervisor.process.table import ProcessTable
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = Path(__file__).with_name("killed_host_program.py")
VISIBLE = ",".join(
    (
        "plain", "stubborn", "daemon", "gone", "left behind", "scrubbed in a session", "scrubbed", "busy", "stopped",
    )
)  # fmt: skip
"""All kinds of children except the one that only a cgroup leaf can hold."""


class KilledHost:
    """A running `killed_host_program.py`."""

    def __init__(self, folder: Path, kinds: str = VISIBLE, pause_s: float = 0.0, *, leaves: bool = False) -> None:
        self.folder = folder
        self.token = secrets.token_hex(16)
        self.mark = str(secrets.randbelow(10**12) + 10**12)
        command = [sys.executable, "-I", str(PROGRAM), str(folder), self.token, self.mark, kinds, str(pause_s)]
        env = {**os.environ, OPT_OUT: "0" if leaves else "1"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, bufsize=0, start_new_session=True
        )
        self.reaper = int(self.hear("reaper"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.reaper_ends()

    def hear(self, word: str) -> str:
        """The rest of the next line that begins with this word."""
        while line := self.process.stdout.readline().decode():
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise AssertionError(f"it ended without a word of {word}")

    def say(self, *words: object) -> None:
        self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n")

    def survivors(self) -> list[str]:
        """Command lines of what the host has started and still runs."""
        found = []
        for pid in ProcessTable.read().by_pid:
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if self.mark.encode() in command and str(PROGRAM).encode() not in command:
                found.append(f"{pid}: {command!r}")
        return found

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def reaper_ends(self) -> None:
        wait_for_exit(self.reaper)


def wait_for_exit(pid: int) -> None:
    """Waits for the exit of a process that became a child of the test when its parent died."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([fd], [], [], PATIENCE_S)[0], f"{pid} does not end"
    finally:
        os.close(fd)


def collect_orphans() -> None:
    """Collects what dead hosts had started: the tests are a subreaper, and get their children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


@contextmanager
def sleeper(env: dict[str, str] | None = None, *, stubborn: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own that has this environment already."""
    script = "trap '' TERM; echo; while :; do read _; done" if stubborn else "echo; read _"
    command = ["/bin/sh", "-c", script]
    env = dict(os.environ) if env is None else {"PATH": os.environ["PATH"], **env}
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as child:
        try:
            child.stdout.readline()
            yield child
        finally:
            child.kill()
