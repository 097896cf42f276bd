"""A `zot host` as a child, with extensions made for it, and what its runs need to reach it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from benchmarks.batch.place import LEFT_OUT, tree
from benchmarks.workshop import ROOT
from supervisor.home.runtime_dir import ATTACH_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

PATIENCE_S = 30.0
ALWAYS = {"policy": "permanent", "max": 1000, "window_s": 1, "backoff_s": [0.02, 0.1]}
"""The restart rules of an extension that is killed again and again."""


class Stack:
    """A project with extensions, and a home for hosts and runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.env = {**os.environ, "ZOT_HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        for name in (*LEFT_OUT, "XDG_RUNTIME_DIR"):
            self.env.pop(name, None)
        self.zot = [sys.executable, "-m", "pyzot"]

    def extension(self, name: str, argv: Sequence[str], **fields: Any) -> Path:
        """Makes the folder of an extension. `fields` are further ones of its manifest."""
        folder = self.folder / "extensions" / name
        folder.mkdir(parents=True, exist_ok=True)
        manifest = {"name": name, "version": "1.0.0", "exec": argv[0], "args": list(argv[1:]), **fields}
        (folder / "extension.json").write_text(json.dumps(manifest))
        return folder

    def host(self, *words: str, env: Mapping[str, str] | None = None) -> ZotHost:
        return ZotHost(self, words, env or {})


class ZotHost:
    """A host with these command-line words, until `stop`, `kill` or the end of the block."""

    def __init__(self, stack: Stack, words: Sequence[str], env: Mapping[str, str]) -> None:
        argv = [*stack.zot, "host", "--no-ext", "--cwd", str(stack.project), "--log-level", "error", *words]
        self.process = subprocess.Popen(
            argv, cwd=stack.project, env={**stack.env, **env}, stdin=-3, stdout=-3, stderr=subprocess.PIPE
        )
        self.pid = self.process.pid
        self.attach_path = stack.home / "run" / f"{self.pid}{ATTACH_SUFFIX}"

    def __enter__(self) -> Self:
        wait_until(lambda: self.attach_path.exists() or self.process.poll() is not None, "the host listens")
        if self.process.poll() is not None:
            assert self.process.stderr is not None
            raise RuntimeError(f"the host ended with {self.process.returncode}: {self.process.stderr.read()!r}")
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def children(self) -> list[int]:
        """Pids of all its descendants."""
        return [pid for pid in tree(self.pid) if pid != self.pid]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self._collect()

    def kill(self) -> None:
        self.process.kill()
        self._collect()

    def _collect(self) -> None:
        self.process.wait(PATIENCE_S)
        if self.process.stderr is not None:
            self.process.stderr.close()


def wait_until(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError(f"not within {PATIENCE_S:g} s: {what}")
        time.sleep(0.005)
