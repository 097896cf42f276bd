"""A folder in which batches run, and the same runs as programs of their own, with what both have used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from benchmarks.workshop import PROGRAMS, ROOT
from supervisor.process.table import children_of

if TYPE_CHECKING:
    from collections.abc import Sequence

TICKS = os.sysconf("SC_CLK_TCK")
TIMEOUT_S = 300.0
PROMPT = "hi"
LEFT_OUT = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "PYTHONDONTWRITEBYTECODE")


class Used(NamedTuple):
    rate: float
    """Runs per second."""
    cpu_s: float
    """Per run: of all processes."""
    start_s: float = 0.0
    """From the start of the program until its first run has ended."""
    last_words: str = ""
    """The last line of stderr."""


class Api:
    """A local server of the Messages API, as a context manager; see `programs/messages_api.py`."""

    def __init__(self, delay_s: float = 0.0, most: int = -1) -> None:
        """`most` requests are answered, each after `delay_s` seconds; -1 is all."""
        argv = [sys.executable, "-I", "-S", str(PROGRAMS / "messages_api.py"), str(delay_s), str(most)]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.communicate(timeout=TIMEOUT_S)

    def requests(self) -> int:
        """The requests so far."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def wait_for(self, count: int) -> None:
        until = time.monotonic() + TIMEOUT_S
        while self.requests() < count:
            if time.monotonic() > until:
                raise TimeoutError(f"{count} requests did not come within {TIMEOUT_S:g} s")
            time.sleep(0.05)


class Place:
    """A project without extensions, and a home. `live` and `replayed` are the flags of the two kinds of runs. The
    programs are those of `checkout`, with this Python and its packages."""

    def __init__(self, folder: Path, *, quick: bool = False, checkout: Path = ROOT) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        self.env = {**os.environ, "ZOT_HOME": str(folder / "home"), "PYTHONPATH": str(checkout)}
        if not quick:
            self.env["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")  # compiled, as after an installation
        for name in LEFT_OUT:
            self.env.pop(name, None)
        self.cassette = folder / "cassette.jsonl"
        self.zot = [sys.executable, "-m", "pyzot"]
        self._count = 0

    def live(self, api: Api) -> list[str]:
        return ["--provider", "anthropic", "--api-key", "k", "--base-url", api.url]

    def replayed(self) -> list[str]:
        """Makes the cassette at the first call."""
        if not self.cassette.exists():
            with Api() as api:
                argv = [*self.zot, "--json", "--no-session", "--record", str(self.cassette), *self.live(api), PROMPT]
                subprocess.run(argv, cwd=self.project, env=self.env, stdin=-3, capture_output=True, check=True)
        return ["--replay", str(self.cassette)]

    # --- as programs of their own -------------------------------------------------------------------------

    def cold(self, flags: Sequence[str], runs: int, jobs: int) -> Used:
        """`xargs -P JOBS` starts a `zot --json` for each run."""
        argv = ["xargs", "-P", str(jobs), "-n", "1", *self.zot, "--json", "--no-session", *flags]
        began = time.monotonic()
        with subprocess.Popen(argv, cwd=self.project, env=self.env, stdin=subprocess.PIPE, stdout=-3) as running:
            assert running.stdin is not None
            running.stdin.write(f"{PROMPT}\n".encode() * runs)
            running.stdin.close()
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        if running.returncode:
            raise RuntimeError(f"a run failed: xargs ended with {running.returncode}")
        return Used(runs / (time.monotonic() - began), (used.ru_utime + used.ru_stime) / runs)

    # --- as a batch ---------------------------------------------------------------------------------------

    def tasks(self, count: int) -> Path:
        path = self.folder / f"tasks-{count}.jsonl"
        if not path.exists():
            path.write_text("".join(json.dumps({"id": f"t{i}", "prompt": PROMPT}) + "\n" for i in range(count)))
        return path

    def rundir(self) -> Path:
        self._count += 1
        return self.folder / f"run-{self._count}"

    def batch_argv(self, tasks: Path, rundir: Path, flags: Sequence[str], jobs: int, *, way: str = "") -> list[str]:
        program = [sys.executable, str(PROGRAMS / "batch_syncs.py"), way] if way else self.zot
        return [*program, "batch", str(tasks), "-o", str(rundir), "-j", str(jobs), "--no-progress", *flags]

    def started(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(argv, cwd=self.project, env=self.env, stdin=-3, stdout=-3, stderr=subprocess.PIPE)

    def batch(self, flags: Sequence[str], runs: int, jobs: int, *, way: str = "") -> Used:
        """The cost of a run while all places of the batch are busy: neither the start nor the end of the batch counts,
        so it makes some more runs. With `way`, of `programs/batch_syncs.py`."""
        warm = max(8, 2 * jobs)
        tasks, rundir = self.tasks(warm + runs + jobs), self.rundir()
        began = time.monotonic()
        ends: list[tuple[float, float]] = []
        start_s, line = 0.0, b""
        with self.started(self.batch_argv(tasks, rundir, flags, jobs, way=way)) as running:
            assert running.stderr is not None
            count = 0
            for line in running.stderr:
                if not line.startswith(b"["):
                    continue
                count += 1
                if count == 1:
                    start_s = time.monotonic() - began
                if count in (warm, warm + runs):
                    ends.append((time.monotonic(), tree_cpu_s(running.pid)))
        if running.returncode:
            raise RuntimeError(f"the batch failed with {running.returncode}: {line!r}")
        shutil.rmtree(rundir)
        (first_at, first_cpu), (last_at, last_cpu) = ends
        return Used(runs / (last_at - first_at), (last_cpu - first_cpu) / runs, start_s, line.decode().strip())

    # --- the floor ----------------------------------------------------------------------------------------

    def floor(self, api_url: str, forks: int, jobs: int, sdk: str = "whole") -> dict[str, Any]:
        """The figures that `programs/sdk_floor.py` prints."""
        argv = [sys.executable, str(PROGRAMS / "sdk_floor.py"), api_url, str(forks), str(jobs), sdk]
        found: dict[str, Any] = json.loads(subprocess.run(argv, env=self.env, capture_output=True, check=True).stdout)
        return found


def tree(pid: int) -> list[int]:
    """The process and all its descendants."""
    found, todo = [], [pid]
    while todo:
        found.append(pid := todo.pop())
        todo += children_of(pid) or ()
    return found


def tree_cpu_s(pid: int) -> float:
    """Of the process, its descendants, and all that they have waited for."""
    total = 0
    for each in tree(pid):
        try:
            words = Path(f"/proc/{each}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        total += sum(map(int, words[11:15]))
    return total / TICKS
