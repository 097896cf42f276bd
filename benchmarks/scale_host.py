"""Starts, holds and stops many extensions with one host, measures itself, and prints the results as JSON. `scale` runs
it in a fresh process each time, so that no contender starts with the memory of another.

argv: `zot` or `plain`, `sh` or `Python`, number of extensions, seconds to hold them while young, seconds to hold them
once idle.
"""

from __future__ import annotations

import gc
import os
import selectors
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Protocol

import msgspec

from benchmarks.workshop import PROGRAMS, Workshop
from supervisor.discovery.environment import child_environment
from supervisor.loop.loop import Loop
from supervisor.monitoring.sampler import IDLE_S
from supervisor.process.fd_limit import provide
from supervisor.process.table import count_open_files, read_process
from supervisor.supervisor import Supervisor
from wire.dialects.base import HostInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.discovery.found_extension import FoundExtension

PATIENCE_S = 60.0


class Hold(msgspec.Struct):
    """The host's work while nothing happened, from one sample to another."""

    seconds: float
    cpu_s: float
    samples: int
    sampling_cpu_s: float
    wakeups: int
    """Passes of the loop without a sample."""

    @property
    def cpu_percent(self) -> float:
        """Percent of one core."""
        return self.cpu_s / self.seconds * 100

    @property
    def sampling_percent(self) -> float:
        return self.sampling_cpu_s / self.seconds * 100


class Figures(msgspec.Struct):
    ready_s: float
    stop_s: float
    rss: int
    """Bytes by which the host grew."""
    files: int
    """Descriptors that the host took."""
    young: Hold | None = None
    idle: Hold | None = None


class Contender(Protocol):
    def start(self) -> None:
        """Starts all extensions. Returns when all are ready."""

    def stop(self) -> None: ...


class Supervised:
    """A host like `zot host`: with its record and its reaper."""

    def __init__(self, workshop: Workshop, found: Sequence[FoundExtension]) -> None:
        self._found = found
        self._loop = Loop()
        self._supervisor = Supervisor(
            self._loop,
            host=HostInfo("0", "replay", "none", str(workshop.folder)),
            logs=workshop.folder / "logs",
            runtime_folder=workshop.folder / "run",
            owns_process=True,
        )

    def start(self) -> None:
        self._supervisor.start(self._found, child_environment())
        self._supervisor.settle(self._loop.clock() + PATIENCE_S)
        late = [extension.name for extension in self._supervisor.extensions if not extension.was_ready]
        if late:
            self._supervisor.stop(at_once=True)
            raise RuntimeError(f"{len(late)} not ready within {PATIENCE_S:g} s: {', '.join(late[:5])}")

    def hold(self, seconds: float) -> Hold:
        """Holds the extensions for about `seconds`, from right after one sample to right after another. Each sample
        counts with the pause after it, since its cost decides the length of that pause."""
        loop, sampler = self._loop, self._supervisor.sampler
        cost_before = cost = sampler.cpu_s
        self._await_sample()
        began, cpu, passes, samples = loop.clock(), time.process_time(), loop.passes, sampler.samples
        while loop.clock() - began < seconds:
            cost = sampler.cpu_s
            self._await_sample()
        samples = sampler.samples - samples
        used, taken = time.process_time() - cpu, loop.clock() - began
        return Hold(taken, used, samples, cost - cost_before, loop.passes - passes - samples)

    def await_idle(self) -> None:
        """Waits until the pause between samples is longest."""
        while self._supervisor.sampler.interval_s < IDLE_S:
            self._await_sample()

    def _await_sample(self) -> None:
        sampler = self._supervisor.sampler
        seen = sampler.samples
        if not self._loop.run_until(lambda: sampler.samples > seen, self._loop.clock() + PATIENCE_S):
            raise RuntimeError(f"no sample within {PATIENCE_S:g} s")

    def stop(self) -> None:
        self._supervisor.stop()
        self._loop.close()


class Plain:
    """The peer: `subprocess.Popen`, `select` until each program has said that it is ready, close of stdin, `wait`."""

    def __init__(self, found: Sequence[FoundExtension]) -> None:
        self._found = found
        self._children: list[subprocess.Popen[bytes]] = []
        self._selector = selectors.DefaultSelector()

    def start(self) -> None:
        provide(len(self._found))
        env = child_environment()
        for found in self._found:
            pipe, null = subprocess.PIPE, subprocess.DEVNULL
            child = subprocess.Popen(
                found.argv, stdin=pipe, stdout=pipe, stderr=null, bufsize=0, env=env, cwd=found.folder
            )
            self._children.append(child)
            assert child.stdout is not None
            self._selector.register(child.stdout, selectors.EVENT_READ, bytearray())
        silent = {key.fd for key in self._selector.get_map().values()}
        deadline = time.monotonic() + PATIENCE_S
        while silent:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{len(silent)} not ready within {PATIENCE_S:g} s")
            for key, _ in self._selector.select(1.0):
                key.data.extend(os.read(key.fd, 65536))
                if b'"ready"' in key.data:
                    silent.discard(key.fd)

    def stop(self) -> None:
        for child in self._children:
            assert child.stdin is not None
            child.stdin.close()
        for child in self._children:
            try:
                child.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            assert child.stdout is not None
            child.stdout.close()
        self._selector.close()


def extensions(workshop: Workshop, language: str, count: int) -> list[FoundExtension]:
    if language == "sh":
        return workshop.bystanders(count)
    program = PROGRAMS / "service.py"
    return [workshop.extension(f"s{i}", workshop.python(program, f"s{i}"), i) for i in range(count)]


def measure(contender: Contender, young_s: float, idle_s: float) -> Figures:
    gc.collect()
    rss, files = _rss(), _files()
    began = time.monotonic()
    contender.start()
    ready = time.monotonic() - began
    figures = Figures(ready, 0.0, _rss() - rss, _files() - files)
    try:
        if isinstance(contender, Supervised):
            if young_s:
                figures.young = contender.hold(young_s)
            if idle_s:
                contender.await_idle()
                figures.idle = contender.hold(idle_s)
    finally:
        began = time.monotonic()
        contender.stop()
        figures.stop_s = time.monotonic() - began
    return figures


def _rss() -> int:
    own = read_process(os.getpid())
    return own.rss if own else 0


def _files() -> int:
    return count_open_files(os.getpid()) or 0


def main() -> None:
    kind, language, count, young_s, idle_s = sys.argv[1:]
    with Workshop() as workshop:
        found = extensions(workshop, language, int(count))
        contender = Supervised(workshop, found) if kind == "zot" else Plain(found)
        figures = measure(contender, float(young_s), float(idle_s))
    sys.stdout.buffer.write(msgspec.json.encode(figures) + b"\n")


if __name__ == "__main__":
    main()
