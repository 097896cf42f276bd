"""The cost of sessions: to read a long one, to start a run that goes on with it, and to write a message to the disk."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from agent.sessions import rows
from agent.sessions.file import SessionFile
from agent.sessions.places import folder_of
from agent.sessions.rows import Meta
from agent.transcript import Message, Text, ToolCall, ToolResult
from benchmarks.claims import Claims
from benchmarks.report import Report, Table, parse
from benchmarks.workshop import Workshop
from wire.events import Totals

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedWriter

ROOT = Path(__file__).parents[1]
SIZE, QUICK_SIZE = 50_000_000, 500_000
"""Bytes of the long session."""
ROUNDS, QUICK_ROUNDS = 10, 1
APPENDS, QUICK_APPENDS = 500, 10
TIME = "2026-01-02T03:04:05+00:00"
LOAD_LIMIT, MEMORY_LIMIT, APPEND_LIMIT = 2.0, 2.0, 1.25
"""The most times of the floor."""
READS = """
import resource, sys, time
from pathlib import Path
import orjson
from agent.sessions.load import load
from agent.sessions.file import SessionFile
path, way = Path(sys.argv[1]), sys.argv[2]
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
def floor():
    with path.open("rb") as file:
        return [orjson.loads(line) for line in file]
read = {"floor": floor, "load": lambda: load(path), "reopen": lambda: SessionFile.reopen(path)}[way]
before, began = resident(), time.process_time()
kept = read()
took = time.process_time() - began
print(took, resident() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before)
"""
"""Prints seconds of processor time, and the bytes by which the process has grown: afterwards, and at most."""


def write_session(file: BufferedWriter, size: int, cwd: str) -> int:
    """A session of about `size` bytes, as a coding agent leaves one: eight calls of tools for each answer, with results
    of 200 bytes to 20 kB. Returns how many messages it has."""
    chance = random.Random(1)
    words = [f"w{chance.randrange(10**6):x}" for _ in range(5000)]

    def text(length: int) -> str:
        return " ".join(chance.choices(words, k=length // 7 + 1)) + ' "quoted"\n'

    written = file.write(rows.meta_line(Meta(id="0" * 8, cwd=cwd, model="claude-sonnet-4-5", provider="anthropic")))
    count = 0
    while written < size:
        said = [Message("user", (Text(text(300)),), TIME)]
        for number in range(8):
            call = f"t{count}_{number}"
            args = json.dumps({"command": text(120)}).encode()
            said.append(Message("assistant", (Text(text(200)), ToolCall(call, "bash", args)), TIME))
            result = Text(text(chance.choice([200, 2000, 20000])))
            said.append(Message("tool", (ToolResult(call, (result,)),), TIME))
        said.append(Message("assistant", (Text(text(800)),), TIME))
        for message in said:
            written += file.write(rows.message_line(message))
            if message.role == "assistant":
                written += file.write(rows.usage_line(Totals(count, 2, 3, 4, 0.1)))
        count += len(said)
    return count


class Bench:
    def __init__(self, report: Report, folder: Path, *, quick: bool) -> None:
        self._report = report
        self._folder = folder
        self._quick = quick
        self._size = QUICK_SIZE if quick else SIZE
        self._rounds = QUICK_ROUNDS if quick else ROUNDS
        self._claims = Claims()
        self._env = {**os.environ, "PYTHONPATH": str(ROOT), "ZOT_HOME": str(folder / "home")}
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            self._env.pop(name, None)

    def run(self) -> int:
        project = self._folder / "project"
        project.mkdir()
        home = self._folder / "home"
        path = folder_of(home, str(project)) / "20260102-030405-00000000.jsonl"
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            count = write_session(file, self._size, str(project))
        self._report.note(f"the session: {path.stat().st_size:,} bytes, {count:,} messages")
        self._read(path)
        self._resume(project)
        self._append(home, str(project))
        self._report.show(self._claims.table)
        return self._claims.exit_code

    def _read(self, path: Path) -> None:
        ways = ("floor", "load", "reopen")
        found: dict[str, list[tuple[float, ...]]] = {way: [] for way in ways}
        for number in range(self._rounds):
            self._report.progress(f"reading, round {number + 1} of {self._rounds}")
            for way in ways:
                argv = [sys.executable, "-c", READS, str(path), way]
                said = subprocess.run(argv, env=self._env, capture_output=True, text=True, check=True).stdout
                found[way].append(tuple(map(float, said.split())))
        floor = [median(column) for column in zip(*found["floor"], strict=True)]
        table = Table(
            "reading the session, each time in a new process", ("", "CPU ms", "of floor", "MiB kept", "MiB at most")
        )
        names = {"floor": "floor: orjson.loads of each line", "load": "read", "reopen": "locked and read"}
        figures = {}
        for way in ways:
            took, kept, most = figures[way] = [median(column) for column in zip(*found[way], strict=True)]
            table.add(names[way], took * 1e3, took / floor[0], kept / 2**20, most / 2**20)
        self._report.show(table)
        slow = figures["load"][0] / floor[0]
        large = figures["load"][2] / floor[2]
        self._claim(f"reading takes at most {LOAD_LIMIT:g} times the floor", slow, LOAD_LIMIT)
        self._claim(f"reading takes at most {MEMORY_LIMIT:g} times the floor's memory", large, MEMORY_LIMIT)

    def _resume(self, project: Path) -> None:
        """Up to the end of a run that has no credential: all but the request. Processor time, as reading is little
        else."""
        runs: dict[str, list[float]] = {"a new session": [], "zot -c": []}
        for number in range(self._rounds + 1):
            self._report.progress(f"runs, round {number} of {self._rounds}")
            for name, times in runs.items():
                flags = ["--json", "--no-ext", "--no-stdin", *(["-c"] if name == "zot -c" else [])]
                argv = [sys.executable, "-m", "pyzot", *flags, "go"]
                with subprocess.Popen(argv, env=self._env, cwd=project, stdout=-3, stderr=-3) as running:
                    _, _, used = os.wait4(running.pid, 0)
                    running.returncode = 0
                if number:
                    times.append(used.ru_utime + used.ru_stime)
        table = Table("a run without a credential, start to end", ("", "median CPU ms"))
        for name, times in runs.items():
            table.add(name, median(times) * 1e3)
        self._report.show(table)

    def _append(self, home: Path, cwd: str) -> None:
        message = Message("assistant", (Text("x" * 2000), ToolCall("t1", "bash", b'{"command": "ls"}')), TIME)
        line = rows.message_line(message)
        file = SessionFile.new(home, Meta(cwd=cwd))
        file.message(message)
        floor = os.open(home / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

        def plain() -> None:
            os.write(floor, line)
            os.fsync(floor)

        ways: dict[str, Callable[[], Any]] = {
            "floor: write and fsync": plain,
            "a message": lambda: file.message(message),
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(QUICK_APPENDS if self._quick else APPENDS):
            for name, write in ways.items():
                began = time.perf_counter()
                write()
                times[name].append(time.perf_counter() - began)
        os.close(floor)
        file.close()
        table = Table(f"writing a message of {len(line):,} bytes", ("", "median µs", "of floor"))
        peer = median(times["floor: write and fsync"])
        for name, taken in times.items():
            table.add(name, median(taken) * 1e6, median(taken) / peer)
        self._report.show(table)
        ratio = median(times["a message"]) / peer
        self._claim(f"a message costs at most {APPEND_LIMIT:g} times a write with fsync", ratio, APPEND_LIMIT)

    def _claim(self, claim: str, ratio: float, limit: float) -> None:
        self._claims.add(claim, f"{ratio:.2f}", None if self._quick else ratio <= limit)


def main(argv: list[str] | None = None) -> int:
    options = parse(Path(__file__).stem, __doc__ or "", argv)
    report = Report(Path(__file__).stem, options)
    with Workshop() as workshop:
        code = Bench(report, workshop.folder, quick=options.quick).run()
    report.finish()
    return code


if __name__ == "__main__":
    sys.exit(main())
