"""The cost of `--otel` for a replayed run, with a collector in another process on loopback, and of a run without it,
beside one of an earlier checkout.

Three kinds of runs: turns whose tool takes a tenth of a second, five milliseconds, and no time at all.
Contenders take turns on the same processors; a ratio is the median of the rounds' own ratios.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.interval import of_median
from benchmarks.report import Report, Table, flags
from benchmarks.workshop import Workshop
from tests.support.replay_script import Script, ok

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS, QUICK_ROUNDS = 30, 1
TURNS, QUICK_TURNS = 40, 3
WORKS_MS = (100, 5, 0)
"""How long the tool takes, in milliseconds: as long as a build step, a shell command, and no time at all."""
TOOL = """\
import json, sys, time
def say(**frame): print(json.dumps(frame), flush=True)
say(type="hello", name="worker")
say(type="register_tool", name="work", description="", schema={"type": "object"})
say(type="ready")
for line in sys.stdin:
    asked = json.loads(line)
    if asked["type"] == "tool_call":
        time.sleep(asked["args"]["ms"] / 1000)
        say(type="tool_result", id=asked["id"], content=[{"type": "text", "text": "done"}])
    elif asked["type"] == "shutdown":
        break
"""
COLLECTOR = """\
import sys
from tests.support.otlp_receiver import OtlpReceiver
with OtlpReceiver() as receiver:
    print(receiver.address, flush=True)
    sys.stdin.read()
"""
ROOT = Path(__file__).parents[1]


class Taken(NamedTuple):
    """Of one run."""

    whole_s: float
    """Until its process had ended."""
    answer_s: float
    """Until its last record was written."""
    cpu_s: float
    """Of the process and its children."""


class Bench:
    """Runs cassettes. Bytecode is compiled, as after an installation; the first round does not count."""

    def __init__(self, workshop: Workshop, collector: str, *, turns: int) -> None:
        self._turns = turns
        self._folder = workshop.folder
        self.project = workshop.folder / "project"
        self.project.mkdir()
        program = workshop.folder / "worker.py"
        program.write_text(TOOL)
        self._tool = workshop.folder / "worker"
        self._tool.mkdir()
        manifest = {"name": "worker", "exec": sys.executable, "args": ["-I", "-S", str(program)]}
        (self._tool / "extension.json").write_text(json.dumps(manifest))
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "ZOT"))}
        self._env = inherited | {
            "ZOT_HOME": str(workshop.folder / "home"), "OTEL_EXPORTER_OTLP_ENDPOINT": collector,
            "PYTHONPYCACHEPREFIX": str(workshop.folder / "bytecode"),
        }  # fmt: skip
        self._env.pop("PYTHONDONTWRITEBYTECODE", None)

    def cassette(self, ms: int) -> Path:
        script = Script(self.project, extra={"work": ""})
        for _ in range(self._turns):
            script.call(("work", {"ms": ms}), results=[ok("done")])
        return script.answer("Done.").write(self._folder / f"{ms}.jsonl")

    def run(self, cassette: Path, *more: str, checkout: Path = ROOT) -> Taken:
        argv = [
            sys.executable, "-m", "pyzot", "--json", "--no-session", "--no-ext", "-e", str(self._tool), "--max-steps",
            "1000", "--replay", str(cassette), *more, "go",
        ]  # fmt: skip
        env = {**self._env, "PYTHONPATH": str(checkout)}
        began = time.perf_counter()
        process = subprocess.Popen(argv, cwd=self.project, env=env, stdout=subprocess.PIPE)
        assert process.stdout is not None
        last, answered = b"", began
        for line in process.stdout:
            last, answered = line, time.perf_counter()
        _, status, used = os.wait4(process.pid, 0)
        whole = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        assert process.returncode == 0, process.returncode
        assert json.loads(last)["type"] == "done"
        return Taken(whole, answered - began, used.ru_utime + used.ru_stime)


def compare(
    report: Report,
    title: str,
    one: Callable[[], Taken],
    other: Callable[[], Taken],
    names: tuple[str, str],
    rounds: int,
) -> None:
    """One table: the times of both, and the ratio of `one` to `other`, round by round."""
    ones, others = [], []
    for number in range(rounds + 1):
        report.progress(f"{title}: round {number} of {rounds}")
        pair = [one, other] if number % 2 else [other, one]
        taken = {run: run() for run in pair}
        if number:
            ones.append(taken[one])
            others.append(taken[other])
    table = Table(title, ("", f"{names[0]} ms", f"{names[1]} ms", "ratio", "95 % from", "to", "rounds"))
    for field in Taken._fields:
        left, right = [getattr(each, field) for each in ones], [getattr(each, field) for each in others]
        ratio = of_median([a / b for a, b in zip(left, right, strict=True)])
        table.add(WORDS[field], of_median(left).middle * 1000, of_median(right).middle * 1000, *ratio, len(left))
    report.show(table)


WORDS = {"whole_s": "the whole run", "answer_s": "until its last record", "cpu_s": "processor time"}


@contextmanager
def collector() -> Iterator[str]:
    """A collector in a process of its own; its address."""
    process = subprocess.Popen(
        [sys.executable, "-c", COLLECTOR], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.communicate()


def main(argv: list[str] | None = None) -> None:
    parser = flags(Path(__file__).stem, __doc__ or "")
    parser.add_argument("--before", metavar="FOLDER", type=Path, help="an earlier checkout, run with this Python")
    parser.add_argument("--rounds", metavar="N", type=int, help=f"rounds of each comparison (default {ROUNDS})")
    options = parser.parse_args(argv)
    report = Report(Path(__file__).stem, options)
    turns = QUICK_TURNS if options.quick else TURNS
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    cores = sorted(os.sched_getaffinity(0))[:2]
    with Workshop() as workshop, collector() as address:
        os.sched_setaffinity(0, cores)  # the runs inherit it; the collector does not
        bench = Bench(workshop, address, turns=turns)
        for ms in WORKS_MS:
            recorded = bench.cassette(ms)
            compare(
                report, f"{turns} turns of {ms} ms, with --otel and without, on {len(cores)} processors",
                partial(bench.run, recorded, "--otel"), partial(bench.run, recorded), ("with", "without"), rounds,
            )  # fmt: skip
        before = options.before or ROOT
        recorded = bench.cassette(0)
        os.sched_setaffinity(0, cores[:1])
        other = "an earlier one" if options.before else "itself"
        compare(
            report, f"{turns} turns without --otel, this checkout and {other}, on one processor",
            partial(bench.run, recorded), partial(bench.run, recorded, checkout=before), ("this", "other"), rounds,
        )  # fmt: skip
    report.finish()


if __name__ == "__main__":
    main()
