"""The cost of losing nothing: the journal's syncs, and the start on a folder with many results."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec

from agent.batch.journal.folder import RunFolder
from agent.batch.journal.writer import JOURNAL, Journal
from agent.batch.log import utc_now
from agent.batch.tasks.read import read_tasks
from benchmarks.batch.place import PROMPT, TIMEOUT_S, Place
from benchmarks.batch.rounds import Spread
from benchmarks.report import Table
from benchmarks.workshop import PROGRAMS
from supervisor.loop.loop import Loop
from supervisor.loop.steps import run_in_steps
from wire.batch.outcome import Outcome, TaskStatus, Usage

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.claims import Claims
    from benchmarks.report import Report

JOBS, QUICK_JOBS = (8, 32), (2,)
RUNS, QUICK_RUNS = 300, 4
ROUNDS, QUICK_ROUNDS = 5, 1
WAYS = {"none": "no syncs", "turn": "a sync per turn", "line": "a sync per line"}
MOST = 0.02
SIZES, QUICK_SIZES = (10_000, 100_000), (100,)
RESUME_ROUNDS = 5
RESUME_S = (0.1, 0.6)
"""The most for each of `SIZES`."""
PASS_S = 0.1
LOADS = """
import sys, time, orjson
began = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    kept = [orjson.loads(line) for line in file]
print(time.perf_counter() - began)
"""


def journal(report: Report, place: Place, claims: Claims, *, quick: bool) -> None:
    """Replayed runs, which are the shortest: so they write the most lines."""
    all_jobs, runs, rounds = (QUICK_JOBS, QUICK_RUNS, QUICK_ROUNDS) if quick else (JOBS, RUNS, ROUNDS)
    flags = place.replayed()
    columns = ("", "runs/s", "of no syncs", "lowest", "highest", "syncs per run", "share of the time in syncs")
    table = Table("the journal, replayed runs", columns)
    for jobs in all_jobs:
        rates: dict[str, list[float]] = {way: [] for way in WAYS}
        syncs: dict[str, list[float]] = {way: [] for way in WAYS}
        shares: dict[str, list[float]] = {way: [] for way in WAYS}
        for number in range(rounds):
            report.progress(f"the journal, {jobs} jobs, round {number + 1} of {rounds}")
            for way in WAYS:
                began = time.monotonic()
                used = place.batch(flags, runs, jobs, way=way)
                wall_s = time.monotonic() - began - used.start_s
                counted = json.loads(used.last_words)
                rates[way].append(used.rate)
                syncs[way].append(counted["syncs"] / (runs + max(8, 2 * jobs) + jobs))
                shares[way].append(counted["seconds"] / wall_s)
        for way, name in WAYS.items():
            ratio = Spread.of_ratios(rates[way], rates["none"])
            share = Spread(shares[way]).middle
            table.add(f"{jobs} jobs, {name}", Spread(rates[way]).middle, *ratio.cells, Spread(syncs[way]).middle, share)
        lost = Spread([1 - this / that for this, that in zip(rates["turn"], rates["none"], strict=True)])
        claim = f"{jobs} jobs: the journal's syncs cost at most {MOST:.0%} of the runs/s"
        claims.add(claim, str(lost), None if quick else lost.middle <= MOST)
    report.show(table)


def resume(report: Report, place: Place, claims: Claims, *, quick: bool) -> None:
    """From the start of the program to the first `started` in the journal; one task is left to do. Processor time of
    the batch process, which waits for nothing until then but the disk."""
    sizes = QUICK_SIZES if quick else SIZES
    folders = {f"{size:,}{end}": each for size in (0, *sizes) for end, each in _finished(place, size).items()}
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in folders}
    floor: dict[str, list[float]] = {name: [] for name in folders}
    for number in range(1 if quick else RESUME_ROUNDS):
        report.progress(f"resume, round {number + 1}")
        for name, (tasks, rundir) in folders.items():
            took[name].append(_to_first_start(place, tasks, rundir))
            if rundir.exists():
                argv = [sys.executable, "-c", LOADS, str(rundir / JOURNAL)]
                floor[name].append(float(subprocess.run(argv, capture_output=True, check=True).stdout))
    table = Table(
        "resume: from the start to the first new run, and the longest pass of the loop, CPU ms",
        ("finished tasks", "first", "above none finished", "lowest", "highest", "orjson.loads, ms", "longest pass"),
    )
    none, *others = folders
    for name in folders:
        firsts = [first_s * 1e3 for first_s, _ in took[name]]
        longest = Spread([longest_s * 1e3 for _, longest_s in took[name]])
        if name == none:
            table.add(name, Spread(firsts).middle, None, None, None, None, longest.middle)
            continue
        above = Spread([this - first_s * 1e3 for this, (first_s, _) in zip(firsts, took[none], strict=True)])
        loads = Spread(floor[name]).middle * 1e3
        table.add(name, Spread(firsts).middle, *above.cells, loads, longest.middle)
        most = RESUME_S[others.index(name) // 2 % len(RESUME_S)] * 1e3
        claim = f"{name}: the first new run starts at most {most:g} ms later than in an empty folder"
        claims.add(claim, f"{above} ms", None if quick else above.middle <= most)
        claim = f"{name}: no pass of the loop takes more than {PASS_S * 1e3:g} ms"
        claims.add(claim, f"{longest} ms", None if quick else longest.highest <= PASS_S * 1e3)
    report.show(table)


def _finished(place: Place, size: int) -> dict[str, tuple[Path, Path]]:
    """A file of `size` + 1 tasks, and folders in which all but the last one are finished: as a batch of these tasks has
    left it that was then ended, or killed, with results of about 900 bytes."""
    tasks, rundir = place.folder / f"resume-{size}.jsonl", place.folder / f"resume-{size}"
    lines = [json.dumps({"id": f"r{number}", "prompt": PROMPT}) + "\n" for number in range(size + 1)]
    tasks.write_text(lines[0])
    argv = place.batch_argv(tasks, rundir, place.replayed(), 1)
    subprocess.run(argv, cwd=place.project, env=place.env, stdin=-3, capture_output=True, check=True)
    if not size:  # nothing is finished
        shutil.rmtree(rundir)
        return {"": (tasks, rundir)}
    tasks.write_text("".join(lines))
    RunFolder(rundir).write_tasks(read_tasks(str(tasks), template=None, base=place.project).tasks)
    loop = Loop()
    file = Journal.open(rundir, loop, on_failure=_fail)
    now, text = utc_now(), "What the model has said in the end. " * 10
    digest = _digest(rundir)
    for number in range(1, size):
        name = f"r{number}"
        file.started(name, 1, digest)
        outcome = Outcome(
            id=name, attempt=1, status=TaskStatus.OK, text=text, steps=1, usage=Usage(10, 5, 0, 0), cost_usd=0.0001,
            known_cost_usd=0.0001, duration_ms=100, requests=1, started=now, ended=now, provider="anthropic",
            model="claude-sonnet-4-5", session="0123456789", exit_status=0, cpu_s=0.01, digest=digest,
        )  # fmt: skip
        file.finished(outcome, final=True)
        if not number % 100:
            loop.run_until(lambda: False, loop.clock())
    file.sync()
    killed = place.folder / f"killed-{size}"
    shutil.copytree(rundir, killed)
    run_in_steps(loop, file.checkpoint())
    file.close()
    loop.close()
    return {"": (tasks, rundir), ", killed": (tasks, killed)}


def _digest(rundir: Path) -> str:
    """Of a task of the journal. Only its form matters: a task that has changed is as done as another one."""
    for line in (rundir / JOURNAL).read_bytes().splitlines():
        found: dict[str, Any] = msgspec.json.decode(line)
        if found.get("digest"):
            return str(found["digest"])
    return ""


def _fail(reason: str) -> None:
    raise OSError(reason)


def _to_first_start(place: Place, tasks: Path, rundir: Path) -> tuple[float, float]:
    """Processor seconds of the batch process until then, and of the longest pass of its loop. Works on a copy of the
    folder, which is therefore in memory."""
    copy = place.rundir()
    if rundir.exists():
        shutil.copytree(rundir, copy)
    argv = [sys.executable, str(PROGRAMS / "batch_passes.py"), *place.batch_argv(tasks, copy, place.replayed(), 1)[3:]]
    run = subprocess.run(
        argv, cwd=place.project, env=place.env, stdin=-3, stdout=-3, stderr=-1, check=True, timeout=TIMEOUT_S
    )
    shutil.rmtree(copy)
    found = json.loads(run.stderr.splitlines()[-1])
    return found["first_s"], found["longest_s"]
