"""A kill storm: calls and verdicts of a hundred sessions while extensions, runs and the host are killed.

Each call must end once and with its own session's secret, and in the end no process may be left.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.report import Table
from benchmarks.sharing.stack import ALWAYS, PATIENCE_S, Stack, ZotHost, wait_until
from benchmarks.workshop import PROGRAMS, ROOT
from tests.support.marked_processes import command_line, marked_pids

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.claims import Claims
    from benchmarks.report import Report
    from benchmarks.workshop import Workshop

CALLS, QUICK_CALLS = 100_000, 2000
RAW, RAW_SESSIONS = 4, 23
"""Processes of raw sessions, and sessions of each."""
RUNS = 3
"""Sessions of supervisors."""
VICTIM_SESSIONS = 5
"""Sessions of a process that is killed again and again: together a hundred."""
SERVICES: dict[str, dict[str, Any]] = {"one": {"workers": 1}, "two": {"workers": 2}, "leased": {"sessions": "leased"}}
SERVICE = "storm_service.py"
EXTENSION_KILL_S, VICTIM_KILL_S, HOST_KILL_S = 0.25, 1.0, 4.0
"""Mean seconds from one kill to the next."""
MARK = "ZOT_BENCH_STORM"
PAUSE_S = 0.02
COUNTED = ("begun", "answered", "failed", "dropped", "sessions", "convicted")


class Storm:
    """The host, the programs with sessions, and the kills."""

    def __init__(self, shop: Workshop, calls: int, seed: int) -> None:
        self._stack = Stack(shop.folder)
        self._mark = secrets.token_hex(8)
        self._stack.env[MARK] = self._mark
        self._dice = random.Random(seed)
        self._host_file = shop.folder / "host"
        self.kills = {"extensions": 0, "runs": 0, "hosts": 0}
        folders = [self._service(shop, name, fields) for name, fields in SERVICES.items()]
        self._words = [word for folder in folders for word in ("-e", str(folder))]
        self._host = self._started()
        share = calls // (RAW * RAW_SESSIONS + RUNS)
        names = ",".join(SERVICES)
        self._clients = [
            self._client("storm_raw", share * RAW_SESSIONS, RAW_SESSIONS, names) for _ in range(RAW)
        ]  # fmt: skip
        self._clients.append(self._client("storm_runs", calls - RAW * RAW_SESSIONS * share, RUNS))
        self._names = names
        self._victim = self._new_victim()
        self.victims: list[dict[str, Any]] = []
        """The figures of killed programs that have found a fault."""

    def _service(self, shop: Workshop, name: str, fields: dict[str, Any]) -> Path:
        argv = shop.python(PROGRAMS / SERVICE, name, *(["leased"] if "sessions" in fields else []))
        manifest = {"sessions": "shared", "on_failure": "deny", "restart": ALWAYS, **fields}
        return self._stack.extension(name, argv, **manifest)

    def _started(self) -> ZotHost:
        """Starts a host, and lets the sessions find it."""
        host = self._stack.host(*self._words).__enter__()
        new = self._host_file.with_suffix(".new")
        new.write_text(str(host.attach_path))
        new.rename(self._host_file)
        return host

    def _client(self, module: str, calls: int, sessions: int, *names: str) -> subprocess.Popen[bytes]:
        words = [str(self._host_file), str(self._dice.getrandbits(32)), str(calls), str(sessions), *names]
        argv = [sys.executable, "-m", f"benchmarks.sharing.{module}", *words]
        return subprocess.Popen(argv, cwd=ROOT, env=self._stack.env, stdin=-3, stdout=subprocess.PIPE)

    def _new_victim(self) -> subprocess.Popen[bytes]:
        return self._client("storm_raw", 1_000_000_000, VICTIM_SESSIONS, self._names)

    # --- kills --------------------------------------------------------------------------------------------------

    def rage(self) -> None:
        """Kills until the sessions have made all their calls."""
        now = time.monotonic()
        due = {kill: now + self._dice.expovariate(1 / mean) for kill, mean in self._plan.items()}
        while any(client.poll() is None for client in self._clients):
            time.sleep(PAUSE_S)
            for kill, mean in self._plan.items():
                if time.monotonic() >= due[kill]:
                    kill()
                    due[kill] = time.monotonic() + self._dice.expovariate(1 / mean)

    @property
    def _plan(self) -> dict[Any, float]:
        return {
            self._kill_extension: EXTENSION_KILL_S, self._kill_victim: VICTIM_KILL_S, self._kill_host: HOST_KILL_S,
        }  # fmt: skip

    def _kill_extension(self) -> None:
        pids = [pid for pid in self._host.children() if SERVICE in command_line(pid)]
        if pids:
            os.kill(self._dice.choice(pids), signal.SIGKILL)
            self.kills["extensions"] += 1

    def _kill_victim(self) -> None:
        self._end_victim()
        self._victim = self._new_victim()
        self.kills["runs"] += 1

    def _kill_host(self) -> None:
        self._host.kill()
        self._host = self._started()
        self.kills["hosts"] += 1

    # --- the end ------------------------------------------------------------------------------------------------

    def _end_victim(self) -> None:
        self._victim.kill()
        out, _ = self._victim.communicate(timeout=PATIENCE_S)
        if out:  # it ends by itself after a fault alone
            self.victims.append(json.loads(out))

    def figures(self) -> list[dict[str, Any]]:
        """Of each program with sessions."""
        return [json.loads(client.communicate(timeout=PATIENCE_S)[0]) for client in self._clients]

    def stop(self) -> list[str]:
        """Ends all. Returns the command lines of processes that are left."""
        for client in self._clients:
            if client.poll() is None:
                client.kill()
                client.communicate()
        self._end_victim()
        self._host.stop()
        try:
            wait_until(lambda: not marked_pids(MARK, self._mark), "nothing is left")
        except TimeoutError:
            return [command_line(pid) for pid in marked_pids(MARK, self._mark)]
        return []


def storm(report: Report, shop: Workshop, claims: Claims, *, quick: bool, calls: int = CALLS, seed: int = 1) -> None:
    calls = QUICK_CALLS if quick else calls
    report.progress(f"storm, {calls:,} calls")
    raging, began, left = Storm(shop, calls, seed), time.monotonic(), ["not stopped"]
    try:
        raging.rage()
        took = time.monotonic() - began
        found = raging.figures()
    finally:
        left = raging.stop()
    total = {name: sum(each[name] for each in found) for name in COUNTED}
    table = Table(f"a kill storm of {calls:,} calls, {took:.0f} s", ("", "count"))
    for name, value in {**total, **{f"kills of {what}": count for what, count in raging.kills.items()}}.items():
        table.add(name, value)
    report.show(table)
    records = [*found, *raging.victims]
    faults = [f"{what}: {line}" for each in records for what, lines in each["faults"].items() for line in lines]
    for line in faults[:20]:
        report.note(line)
    ended = sum(total[name] for name in ("answered", "failed", "dropped"))
    claims.add(
        f"each of {calls:,} calls ends once, none with another session's secret",
        f"{ended:,} ends, {sum(sum(each['counts'].values()) for each in records)} faults",
        ended == total["begun"] == calls and not faults,
    )
    claims.add("nothing is left alive", "; ".join(left)[:200] or "0 processes", not left)
