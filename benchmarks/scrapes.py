"""One scrape of `zot metrics --listen` from the request to the last byte, beside the floor: the same figures as JSON,
by `get_stats` on the control socket of the same host."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.interval import of_median
from benchmarks.report import Report, Table, parse
from benchmarks.workshop import PROGRAMS, ROOT, Workshop
from supervisor.process.table import read_process

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COUNTS, QUICK_COUNTS = (1, 10, 100), (1, 2)
ROUNDS, QUICK_ROUNDS = 100, 3
PATIENCE_S = 120.0
ASKED = b'{"type":"get_stats","id":"1"}\n'


class Place(NamedTuple):
    """A host with its extensions, and what serves its metrics."""

    control: Path
    """The control socket of the host."""
    port: int
    metrics: int
    """The pid of `zot metrics`."""


def extensions(workshop: Workshop, count: int) -> list[Path]:
    folders = []
    for number in range(count):
        folder = workshop.folder / f"{count}-extensions" / f"bystander{number}"
        folder.mkdir(parents=True)
        words = [str(PROGRAMS / "bystander.sh"), folder.name]
        (folder / "extension.json").write_text(json.dumps({"name": folder.name, "exec": "/bin/sh", "args": words}))
        folders.append(folder)
    return folders


@contextmanager
def placed(workshop: Workshop, count: int) -> Iterator[Place]:
    """Starts a host with so many extensions, which are all ready, and `zot metrics`."""
    home = workshop.folder / f"home-{count}"
    env = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    env |= {"ZOT_HOME": str(home), "PYTHONPATH": str(ROOT)}
    zot = [sys.executable, "-m", "pyzot"]
    named = [word for folder in extensions(workshop, count) for word in ("-e", str(folder))]
    started: list[subprocess.Popen[str]] = []

    def start(*words: str, stderr: int) -> subprocess.Popen[str]:
        process = subprocess.Popen([*zot, *words], env=env, cwd=workshop.folder, stderr=stderr, text=True)
        started.append(process)
        return process

    try:
        host = start("host", "--no-ext", *named, stderr=subprocess.DEVNULL)
        control = home / "run" / f"{host.pid}.sock"
        await_ready(control, count)
        metrics = start("metrics", "--listen", "127.0.0.1:0", stderr=subprocess.PIPE)
        assert metrics.stderr is not None
        port = int(metrics.stderr.readline().partition("/metrics")[0].rpartition(":")[2])
        yield Place(control, port, metrics.pid)
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(PATIENCE_S)
            if process.stderr is not None:
                process.stderr.close()


def await_ready(control: Path, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if control.exists():
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(control))
                found = json.loads(ask(connection))["stats"]["extensions"].values()
            if sum(each["state"] == "ready" for each in found) == count:
                return
        time.sleep(0.05)
    raise RuntimeError(f"{count} extensions were not ready within {PATIENCE_S:g} s")


def ask(connection: socket.socket) -> bytes:
    """The answer to `get_stats`, not decoded."""
    connection.sendall(ASKED)
    parts: list[bytes] = []
    while not parts or not parts[-1].endswith(b"\n"):
        parts.append(connection.recv(1 << 20))
        if not parts[-1]:
            raise RuntimeError("the host has closed the connection")
    return b"".join(parts)


def scrape(client: http.client.HTTPConnection) -> bytes:
    client.request("GET", "/metrics")
    return client.getresponse().read()


def measure(report: Report, workshop: Workshop, counts: Sequence[int], rounds: int) -> None:
    columns = ("extensions", "scrape ms", "95 % from", "to", "get_stats ms", "of it", "CPU ms", "KB", "KB of JSON")
    table = Table("one scrape of a host", columns)
    for count in counts:
        report.progress(f"{count} extensions")
        with placed(workshop, count) as place, socket.socket(socket.AF_UNIX) as control:
            control.connect(str(place.control))
            client = http.client.HTTPConnection("127.0.0.1", place.port, timeout=PATIENCE_S)
            ours: list[float] = []
            floor: list[float] = []
            text, stats = scrape(client), ask(control)
            spent = cpu_s(place.metrics)
            for _ in range(rounds):
                began = time.perf_counter()
                text = scrape(client)
                between = time.perf_counter()
                stats = ask(control)
                ours.append((between - began) * 1000)
                floor.append((time.perf_counter() - between) * 1000)
            spent = cpu_s(place.metrics) - spent
            client.close()
        middle, low, high = of_median(ours)
        ratio = median(mine / least for mine, least in zip(ours, floor, strict=True))
        sizes = (len(text) / 1000, len(stats) / 1000)
        table.add(str(count), middle, low, high, median(floor), ratio, spent / rounds * 1000, *sizes)
    report.show(table)


def cpu_s(pid: int) -> float:
    found = read_process(pid)
    assert found is not None
    return found.cpu_s


def main(argv: list[str] | None = None) -> None:
    options = parse(Path(__file__).stem, __doc__ or "", argv)
    report = Report(Path(__file__).stem, options)
    counts, rounds = (QUICK_COUNTS, QUICK_ROUNDS) if options.quick else (COUNTS, ROUNDS)
    with Workshop() as workshop:
        measure(report, workshop, counts, rounds)
    report.finish()


if __name__ == "__main__":
    main()
