"""A hundred runs with ten extensions each, eight at a time: a stack for each run, leased processes, and one stack for
all. As programs of their own they use a `zot host`; a batch brings its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.batch.place import TIMEOUT_S, tree
from benchmarks.report import Table
from benchmarks.sharing.pss import pss
from benchmarks.sharing.stack import Stack
from benchmarks.workshop import PROGRAMS
from supervisor.process.table import children_of
from tests.support.marked_processes import command_line
from tests.support.messages_server import MessagesServer, text_reply, tool_reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.claims import Claims
    from benchmarks.report import Report
    from benchmarks.sharing.stack import ZotHost
    from benchmarks.workshop import Workshop

RUNS, JOBS, ROUNDS = 100, 8, 3
QUICK_RUNS, QUICK_JOBS, QUICK_ROUNDS = 4, 2, 1
PYTHONS, NODES, SERVERS = 5, 3, 2
EXTENSIONS = PYTHONS + NODES + SERVERS
COUNT_S, WEIGH_S = 0.1, 0.5
"""Seconds between two looks at the processes; in a round that weighs them, at their memory."""
HELD_S, QUICK_HELD_S = 5, 1
"""Seconds that a run waits in a tool when memory is weighed: a short run ends before its extensions have settled."""
MOST_PROCESSES, MOST_OF_THEIRS, MOST_OF_ALL, MOST_WALL = 12, 1 / 6, 1 / 3, 1 / 4
PRIVATE, LEASED, SHARED = "private", "leased", "shared"
WAIT = ["--ext-wait", "60s"]
PROMPT = "hi"
PROGRAM = "pool_extension."


class Taken(NamedTuple):
    """The figures of one round."""

    wall_s: float
    alive: int
    """Maximum number of extension processes at the same time."""
    started: int
    theirs: float
    """Maximum PSS of extension processes, MiB; 0 if they were not weighed."""
    all: float
    """The same of all processes."""


class Way:
    """One way to give a run its extensions."""

    def __init__(self, shop: Workshop, mode: str, held_s: int, *, as_batch: bool) -> None:
        self._stack = Stack(shop.folder / f"{mode}-{'batch' if as_batch else 'cold'}")
        self._mode = mode
        self._as_batch = as_batch
        self._starts = self._stack.folder / "started"
        self._count = 0
        folders = list(self._extensions())
        own = [word for folder in folders for word in ("-e", str(folder))]
        servers = ["--mcp-config", str(self._servers())]
        self._host_words = {PRIVATE: [], LEASED: own, SHARED: [*own, *servers]}[mode]
        self._run_words = {PRIVATE: [*own, *servers], LEASED: servers, SHARED: []}[mode]
        if as_batch:  # it brings its own host
            self._host_words, self._run_words = [], [*own, *servers]
        calls: list[tuple[str, dict[str, Any]]] = [
            ("echo_p0", {"text": "one"}), (f"echo_p{PYTHONS}", {"text": "two"})
        ]  # fmt: skip
        self._cassette = self._record("cassette", calls)
        self._held = self._record("held", [*calls, ("bash", {"command": f"sleep {held_s}"})])

    def _extensions(self) -> Iterator[Path]:
        fields: dict[str, Any] = {} if self._mode == PRIVATE else {"sessions": self._mode, "on_failure": "deny"}
        node = shutil.which("node")
        for number in range(PYTHONS + NODES):
            name = f"p{number}"
            words = [name, str(self._stack.folder)]
            program = [sys.executable, "-I", str(PROGRAMS / "pool_extension.py")]
            if number >= PYTHONS and node is not None:
                program = [node, str(PROGRAMS / "pool_extension.js")]
            yield self._stack.extension(name, [*program, *words], **fields)

    def _servers(self) -> Path:
        file = self._stack.folder / "servers.json"
        words = ["-I", str(PROGRAMS / "pool_extension.py")]
        servers = {
            f"s{number}": {
                "command": sys.executable,
                "args": [*words, f"s{number}", str(self._stack.folder), "mcp"],
                **({"sessions": "shared"} if self._mode == SHARED else {}),
            }
            for number in range(SERVERS)
        }
        file.write_text(json.dumps({"mcpServers": servers}))
        return file

    def _hosted(self) -> ZotHost | None:
        return self._stack.host(*self._host_words).__enter__() if self._host_words else None

    def _record(self, name: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> Path:
        """Records a run with these calls of tools."""
        cassette = self._stack.folder / f"{name}.jsonl"
        host = self._hosted()
        with MessagesServer(tool_reply(calls), text_reply("done")) as server:
            flags = ["--record", str(cassette), "--base-url", server.base_url, "--api-key", "k"]
            argv = [*self._stack.zot, "--json", "--no-session", *self._flags(host), *flags, PROMPT]
            done = subprocess.run(argv, cwd=self._stack.project, env=self._stack.env, stdin=-3, capture_output=True)
        if host is not None:
            host.stop()
        if done.returncode or b'"two"' not in done.stdout:
            raise RuntimeError(f"{self._mode}: no recording: {done.stdout!r} {done.stderr!r}")
        return cassette

    def _flags(self, host: ZotHost | None) -> list[str]:
        return [*self._run_words, *([] if host is None else ["--host", str(host.pid)]), *WAIT]

    def take(self, runs: int, jobs: int, *, weighs: bool) -> Taken:
        """Does all runs once. The start of the host counts."""
        self._starts.write_bytes(b"")
        began = time.monotonic()
        host = self._hosted()
        flags = [*self._flags(host), "--replay", str(self._held if weighs else self._cassette)]
        running = self._batch(flags, runs, jobs) if self._as_batch else self._cold(flags, runs, jobs)
        pids = [running.pid] if host is None else [running.pid, host.pid]
        alive, theirs, everything = 0, 0.0, 0.0
        looked = 0.0
        while running.poll() is None:
            if time.monotonic() - began > TIMEOUT_S:
                running.kill()
            extensions = [pid for root in pids for pid in _extensions_of(root)]
            alive = max(alive, len(extensions))
            if weighs and time.monotonic() - looked > WEIGH_S:
                looked = time.monotonic()
                theirs = max(theirs, sum(map(pss, extensions)))
                everything = max(everything, sum(pss(pid) for root in pids for pid in tree(root)))
            time.sleep(COUNT_S)
        wall_s = time.monotonic() - began
        if host is not None:
            host.stop()
        if running.returncode:
            raise RuntimeError(f"{self._mode}: a run has failed: {running.returncode}")
        return Taken(wall_s, alive, self._starts.read_bytes().count(b"\n"), theirs / 2**20, everything / 2**20)

    def _cold(self, flags: Sequence[str], runs: int, jobs: int) -> subprocess.Popen[bytes]:
        argv = ["xargs", "-P", str(jobs), "-n", "1", *self._stack.zot, "--json", "--no-session", *flags]
        running = subprocess.Popen(
            argv, cwd=self._stack.project, env=self._stack.env, stdin=subprocess.PIPE, stdout=-3
        )  # fmt: skip
        assert running.stdin is not None
        running.stdin.write(f"{PROMPT}\n".encode() * runs)
        running.stdin.close()
        return running

    def _batch(self, flags: Sequence[str], runs: int, jobs: int) -> subprocess.Popen[bytes]:
        tasks = self._stack.folder / "tasks.jsonl"
        tasks.write_text("".join(json.dumps({"id": f"t{i}", "prompt": PROMPT}) + "\n" for i in range(runs)))
        self._count += 1
        words = ["batch", str(tasks), "-o", str(self._stack.folder / f"run-{self._count}"), "-j", str(jobs)]
        argv = [*self._stack.zot, *words, "--no-progress", *flags]
        return subprocess.Popen(argv, cwd=self._stack.project, env=self._stack.env, stdin=-3, stdout=-3, stderr=-3)


def _extensions_of(root: int) -> list[int]:
    """The extension processes among the descendants. An extension has none itself."""
    found: list[int] = []
    todo = [root]
    while todo:
        for pid in children_of(todo.pop()) or ():
            (found if PROGRAM in command_line(pid) else todo).append(pid)
    return found


def processes(report: Report, shop: Workshop, claims: Claims, *, quick: bool) -> None:
    runs, jobs, rounds = (QUICK_RUNS, QUICK_JOBS, QUICK_ROUNDS) if quick else (RUNS, JOBS, ROUNDS)
    if shutil.which("node") is None:
        report.note("no Node here: Python in its place")
    for what, as_batch in {"as programs of their own": False, "of one batch": True}.items():
        ways = {
            mode: Way(shop, mode, QUICK_HELD_S if quick else HELD_S, as_batch=as_batch)
            for mode in (PRIVATE, LEASED, SHARED)
        }
        timed: dict[str, list[Taken]] = {mode: [] for mode in ways}
        weighed: dict[str, Taken] = {}
        for number in range(rounds):
            for mode, way in ways.items():
                report.progress(f"processes, {what}, {mode}, round {number}")
                timed[mode].append(way.take(runs, jobs, weighs=False))
        for mode, way in ways.items():
            report.progress(f"processes, {what}, {mode}, memory")
            weighed[mode] = way.take(2 * jobs, jobs, weighs=True)
        _show(
            report,
            f"{runs} runs {what}, {jobs} at a time, {EXTENSIONS} extensions",
            timed,
            weighed,
        )
        _judge(claims, what, timed, weighed, quick=quick)


def _show(report: Report, title: str, timed: dict[str, list[Taken]], weighed: dict[str, Taken]) -> None:
    columns = (
        "", "wall s", "of private", "processes of extensions", "started", "PSS MiB", "of private",
        "PSS MiB of all", "of private",
    )  # fmt: skip
    table = Table(title, columns)
    base = weighed[PRIVATE]
    for mode, mine in timed.items():
        weight = weighed[mode]
        table.add(
            mode, median(each.wall_s for each in mine), _of(mine, timed[PRIVATE]),
            max(each.alive for each in (*mine, weight)), max(each.started for each in mine), weight.theirs,
            weight.theirs / base.theirs, weight.all, weight.all / base.all,
        )  # fmt: skip
    report.show(table)


def _of(mine: Sequence[Taken], private: Sequence[Taken]) -> float:
    return median(each.wall_s / other.wall_s for each, other in zip(mine, private, strict=True))


def _judge(claims: Claims, what: str, timed: dict[str, list[Taken]], weighed: dict[str, Taken], *, quick: bool) -> None:
    alive = max(each.alive for each in (*timed[SHARED], weighed[SHARED]))
    theirs = weighed[SHARED].theirs / weighed[PRIVATE].theirs
    everything = weighed[SHARED].all / weighed[PRIVATE].all
    wall = _of(timed[SHARED], timed[PRIVATE])
    for claim, found, most in (
        (f"shared, {what}: at most {MOST_PROCESSES} extension processes", alive, MOST_PROCESSES),
        (f"shared, {what}: extensions' PSS at most 1/6 of private", theirs, MOST_OF_THEIRS),
        (f"shared, {what}: PSS of all at most 1/3 of private", everything, MOST_OF_ALL),
        (f"shared, {what}: wall time at most 1/4 of private", wall, MOST_WALL),
    ):
        claims.add(claim, f"{found:.3g}", None if quick else found <= most)
