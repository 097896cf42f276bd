"""Drives a real model worker over its pipes, as the host does."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from agent.model.worker import worker_main
from tests.support.patience import PATIENCE_S

WORKER = Path(worker_main.__file__)
ROOT = Path(__file__).parents[2]
Line = dict[str, Any]
KEY = "sk-ant-test"


SEVERAL = """
import json, os, sys
from agent.model.sdk_import.load import load_sdk
from agent.model.worker.worker_main import Worker
load_sdk()
own = dict(os.environ)
out = os.dup(1)
os.dup2(2, 1)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "configure":
        os.environ.clear()
        os.environ.update(own | message.pop("environment"))
        worker = Worker(message, out)
        worker.ready()
    else:
        worker.serve(message["id"], message["params"])
"""
"""A process with one `Worker` after the other, each with its settings and environment: it imports the SDK once."""


class WorkerProcess:
    """A worker with its own pipes; leaving the context closes its input and reaps it."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = KEY,
        auth_token: str | None = None,
        max_retries: int = 0,
        idle_timeout_s: float = 20.0,
        env: dict[str, str] | None = None,
        flags: tuple[str, ...] = ("-P",),
    ) -> None:
        argv = [sys.executable, *flags, str(WORKER)]
        self._start(argv, {**os.environ, **(env or {})})
        self.send(configure(base_url, api_key, max_retries, idle_timeout_s, auth_token))

    def _start(self, argv: list[str], env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=ROOT
        )
        self._lines = bytearray()
        self._next_id = 0

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *exc: object) -> None:
        with self.process:  # closes the pipes and waits
            assert self.process.stdin
            self.process.stdin.close()
            try:
                self.process.wait(PATIENCE_S)
            finally:
                self.process.kill()

    def send(self, line: Line) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def read(self, timeout_s: float = PATIENCE_S) -> Line:
        """The next line of output; raises EOFError at the end of it and TimeoutError when none comes."""
        assert self.process.stdout
        deadline = time.monotonic() + timeout_s
        while (end := self._lines.find(b"\n")) < 0:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no line from the worker within {timeout_s} s")
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise EOFError(self.stderr())
            self._lines += data
        line = json.loads(self._lines[:end])
        del self._lines[: end + 1]
        return line

    def start(self, **params: Any) -> str:
        """Sends a request and returns its id."""
        self._next_id += 1
        request_id = f"r{self._next_id}"
        message = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
        defaults: Line = {"model": "scripted", "max_tokens": 100, "messages": [message]}
        self.send({"type": "request", "id": request_id, "params": {**defaults, **params}})
        return request_id

    def finish(self, request_id: str) -> list[Line]:
        """All lines of a request, the last of which is `final` or `error`; each without its id."""
        lines: list[Line] = []
        while True:
            line = self.read()
            if line["type"] == "ready":
                continue
            assert line.pop("id") == request_id
            lines.append(line)
            if line["type"] in ("final", "error"):
                return lines

    def ask(self, **params: Any) -> list[Line]:
        return self.finish(self.start(**params))

    def stderr(self) -> str:
        """Its output. Call it after its end."""
        assert self.process.stderr
        return self.process.stderr.read().decode()


class SeveralWorkers(WorkerProcess):
    """Workers one after the other in one process; their start and end are not tested here."""

    def __init__(self) -> None:
        self._start([sys.executable, "-c", SEVERAL], dict(os.environ))

    def next(
        self,
        base_url: str,
        *,
        api_key: str | None = KEY,
        auth_token: str | None = None,
        max_retries: int = 0,
        idle_timeout_s: float = 20.0,
        env: dict[str, str] | None = None,
        **more: Any,
    ) -> WorkerProcess:
        """Replaces the worker by a worker with these settings, `more` among them, and waits until it is ready."""
        settings = configure(base_url, api_key, max_retries, idle_timeout_s, auth_token)
        self.send({**settings, **more, "environment": env or {}})
        assert self.read()["type"] == "ready"
        return self


def configure(
    base_url: str, api_key: str | None, max_retries: int, idle_timeout_s: float, auth_token: str | None = None
) -> Line:
    return {
        "type": "configure",
        "api_key": api_key,
        "auth_token": auth_token,
        "base_url": base_url,
        "max_retries": max_retries,
        "idle_timeout_s": idle_timeout_s,
    }


def text_of(lines: list[Line], kind: str = "text_delta") -> str:
    return "".join(line["delta"] for line in lines if line["type"] == kind)
