"""A verdict and a tool call through a host, beside a bare relay of the same frames; and the memory that the host keeps
after many."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from benchmarks.hosts import Supervised, ToolCalls
from benchmarks.placement import Placement, possible
from benchmarks.report import Table
from benchmarks.samples import Rounds
from benchmarks.sharing.runs import TOOL_CALL, VERDICT, HostedRun, RawRun
from benchmarks.sharing.stack import PATIENCE_S, Stack
from benchmarks.workshop import CHILDREN, PROGRAMS
from supervisor.template.memory import anonymous

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from benchmarks.claims import Claims
    from benchmarks.report import Report
    from benchmarks.workshop import Workshop

    Take = Callable[[int], Sequence[int]]
    """Does as many round trips as told. Returns the nanoseconds of each."""

ROUNDS, SAMPLES = 40, 1000
QUICK_ROUNDS, QUICK_SAMPLES = 1, 20
MOST = 1.6
"""Times the relay."""
KEPT_CALLS, QUICK_KEPT_CALLS = 1_000_000, 4000
WARM_CALLS = 250_000
AT_ONCE = 16
KEPT_MIB = 0.5
"""MiB of memory that count as not grown: the allocator's own."""
NAME = "echo"
CALL_ARGS = b'{"text":"git status --short && git diff --stat"}'
FRAMES = {"a verdict": VERDICT, "a tool call": TOOL_CALL}


def echo(shop: Workshop) -> list[str]:
    """The C echo, or its like in Python without a compiler."""
    return [shop.compiled(CHILDREN / "echo.c"), NAME] if shop.has_compiler else shop.python(CHILDREN / "echo.py", NAME)


def shared_echo(stack: Stack, argv: Sequence[str]) -> list[str]:
    """Makes the extension. Returns the words with which a host serves it to all runs."""
    return ["-e", str(stack.extension(NAME, argv, sessions="shared")), "--share", NAME]


def hop(report: Report, shop: Workshop, claims: Claims, *, quick: bool) -> None:
    rounds, samples = (QUICK_ROUNDS, QUICK_SAMPLES) if quick else (ROUNDS, SAMPLES)
    stack, argv = Stack(shop.folder), echo(shop)
    with ExitStack() as ends, stack.host(*shared_echo(stack, argv)) as host:
        relay, relay_pids = _relay(shop.folder / "relay", argv, ends)
        raw = RawRun(host.attach_path, "raw", extension=NAME)
        ends.callback(raw.close)
        hosted = HostedRun(host.attach_path, "hosted", shop.folder)
        ends.callback(hosted.close)
        hosted.settle()
        direct = shop.started([shop.extension(NAME, argv)])
        ends.callback(direct.stop)
        own = [extension.pid for extension in direct.extensions if extension.pid is not None]
        pids = [os.getpid(), host.pid, *host.children(), *relay_pids, *own]
        ends.callback(Placement.FREE.apply, [os.getpid()], [])
        for what, frame in FRAMES.items():
            is_call = frame is TOOL_CALL
            takes = {
                "a bare relay": _raw(relay, frame),
                "through the host": _raw(raw, frame),
                "a run, direct": _of(ToolCalls(direct, NAME, CALL_ARGS) if is_call else Supervised(direct)),
                "a run, through the host": _of(
                    ToolCalls(hosted.supervisor, NAME, CALL_ARGS) if is_call else Supervised(hosted.supervisor)
                ),
            }
            possible()[0].apply(pids, [])
            found = {name: Rounds() for name in takes}
            for number in range(rounds + (not quick)):
                report.progress(f"hop, {what}, round {number}")
                for name, take in takes.items():
                    measured = take(samples)
                    if number or quick:
                        found[name].add(measured)
            _show(report, what, found, claims, quick=quick)
        _memory(report, raw, host.pid, claims, quick=quick)


def _raw(run: RawRun, frame: bytes) -> Take:
    line = run.line(frame)
    return lambda count: run.measure(line, count)


def _of(host: Supervised) -> Take:
    return lambda count: host.measure(count, 0.0)


def _relay(path: Path, argv: Sequence[str], ends: ExitStack) -> tuple[RawRun, list[int]]:
    command = [sys.executable, str(PROGRAMS / "relay.py"), str(path), NAME, *argv]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    ends.callback(process.wait, PATIENCE_S)
    ends.callback(process.stdout.close)
    pids = [int(word) for word in process.stdout.readline().split()]
    run = RawRun.of_relay(path, NAME)
    ends.callback(run.close)
    return run, pids


def _show(report: Report, what: str, found: dict[str, Rounds], claims: Claims, *, quick: bool) -> None:
    columns = ("", "p50 µs", "p90 µs", "p99 µs", "of the relay", "of a direct run", "samples")
    table = Table(f"{what}, all on one core", columns)
    relay, direct = found["a bare relay"], found["a run, direct"]
    for name, mine in found.items():
        table.add(name, *mine.figures(), mine.ratio_to(relay), mine.ratio_to(direct), mine.count)
    report.show(table)
    ratio = found["through the host"].ratio_to(relay)
    claims.add(
        f"{what} through the host: at most {MOST} times a bare relay", f"{ratio:.2f}", None if quick else ratio <= MOST
    )


def _memory(report: Report, run: RawRun, pid: int, claims: Claims, *, quick: bool) -> None:
    """Calls and verdicts by turns, many at the same time."""
    Placement.FREE.apply([os.getpid(), pid], [])
    calls = QUICK_KEPT_CALLS if quick else KEPT_CALLS
    report.progress(f"hop, memory after {calls:,} calls")
    lines = [run.line(frame) for frame in FRAMES.values()]
    run.stream(lines, WARM_CALLS if not quick else calls, AT_ONCE)
    sizes = [anonymous(pid) / 2**20]
    for _ in range(4):
        run.stream(lines, calls // 4, AT_ONCE)
        sizes.append(anonymous(pid) / 2**20)
    table = Table("memory of the host that lies in no file, MiB", ("after calls", "MiB"))
    for number, size in enumerate(sizes):
        table.add(f"{number * calls // 4:,}", size)
    report.show(table)
    grown = sizes[-1] - sizes[0]
    claim = f"no memory kept after {calls:,} calls (at most {KEPT_MIB} MiB more)"
    claims.add(claim, f"{grown:+.2f} MiB", None if quick else grown <= KEPT_MIB)
