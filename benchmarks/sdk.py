"""The cost of the SDKs for authors: importing, getting ready, and a call, beside programs written by hand."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Self

from benchmarks.report import Report, Table, parse
from benchmarks.workshop import CHILDREN, Workshop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[1]
ROUNDS, QUICK_ROUNDS = 30, 1
CALLS, QUICK_CALLS = 2000, 20
IMPORT = "import time; start = time.perf_counter(); import {0}; print(time.perf_counter() - start)"
PYTHON = """
from zotext import Extension
ext = Extension("echo", "1")
@ext.tool
def echo(text: str) -> str:
    "Returns its text."
    return text
ext.run()
"""
TYPESCRIPT = """
import { extension } from "./zotext/index.js";
const ext = extension("echo", "1");
ext.tool("echo", { description: "Returns its text.", parameters: { type: "object" } }, (args) => args.text);
await ext.run();
"""
ACK = {"type": "hello_ack", "protocol_version": 1, "zot_version": "0", "provider": "p", "model": "m", "cwd": "/"}


class Conversation:
    """Talks to an extension over two pipes, without a host."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.say({"type": "shutdown"})
        self.process.communicate(timeout=20)

    def say(self, frame: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, kind: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            frame: dict[str, Any] = json.loads(line)
            if frame["type"] == kind:
                return frame
        raise RuntimeError(f"it ended before its {kind}")

    def call(self, number: int) -> None:
        self.say({"type": "tool_call", "id": str(number), "name": "echo", "args": {"text": "x"}})
        self.hear("tool_result")


class Bench:
    """Every program runs with compiled bytecode, as after the first start of an extension."""

    def __init__(self, report: Report, workshop: Workshop, *, quick: bool) -> None:
        self._report = report
        self._rounds = QUICK_ROUNDS if quick else ROUNDS
        self._calls = QUICK_CALLS if quick else CALLS
        self._env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(workshop.folder / "bytecode")}
        self._env.pop("PYTHONDONTWRITEBYTECODE", None)
        self._languages = {
            "Python": {
                "by hand": [sys.executable, str(CHILDREN / "echo.py")],
                "SDK": [sys.executable, str(self._written(workshop.folder / "main.py", PYTHON))],
            }
        }
        if shutil.which("node") is None:
            report.note("node is not here: left out")
            return
        folder = workshop.folder / "node"
        shutil.copytree(ROOT / "sdk" / "typescript" / "dist", folder / "zotext")
        self._languages["TypeScript"] = {
            "by hand": ["node", str(CHILDREN / "echo.js")],
            "SDK": ["node", str(self._written(folder / "main.mjs", TYPESCRIPT))],
        }

    @staticmethod
    def _written(path: Path, text: str) -> Path:
        path.write_text(text)
        return path

    def run(self) -> None:
        self._imports()
        for language, programs in self._languages.items():
            self._compare(language, programs)

    def _imports(self) -> None:
        modules = ("json", "zotext", "asyncio")
        taken: dict[str, list[float]] = {name: [] for name in modules}
        for number in range(self._rounds + 1):
            for name, times in taken.items():
                argv = [sys.executable, "-c", IMPORT.format(name)]
                seconds = float(subprocess.run(argv, env=self._env, capture_output=True, check=True).stdout)
                if number:  # the first round compiles
                    times.append(seconds)
        table = Table("importing, in an interpreter that has nothing yet", ("", "median ms", "best ms", "of json"))
        for name, times in taken.items():
            ratio = median(mine / peer for mine, peer in zip(times, taken["json"], strict=True))
            table.add(f"import {name}", median(times) * 1000, min(times) * 1000, ratio)
        self._report.show(table)

    def _compare(self, language: str, programs: Mapping[str, Sequence[str]]) -> None:
        ready: dict[str, list[float]] = {name: [] for name in programs}
        calls: dict[str, list[float]] = {name: [] for name in programs}
        for number in range(self._rounds + 1):
            self._report.progress(f"{language}, round {number} of {self._rounds}")
            for name, argv in programs.items():
                start = time.perf_counter()
                with Conversation(argv, self._env) as extension:
                    extension.hear("hello")
                    extension.say(ACK)
                    extension.hear("ready")
                    if number:
                        ready[name].append(time.perf_counter() - start)
        with ExitStack() as closing:
            running = {name: closing.enter_context(Conversation(argv, self._env)) for name, argv in programs.items()}
            for extension in running.values():
                extension.hear("hello")
                extension.say(ACK)
                extension.hear("ready")
            for number in range(self._calls):
                for name, extension in running.items():
                    start = time.perf_counter()
                    extension.call(number)
                    calls[name].append(time.perf_counter() - start)
        table = Table(f"{language}", ("", "ready, median ms", "of by hand", "call, p50 µs", "of by hand"))
        for name in programs:
            table.add(
                name,
                median(ready[name]) * 1000,
                median(mine / peer for mine, peer in zip(ready[name], ready["by hand"], strict=True)),
                median(calls[name]) * 1e6,
                median(calls[name]) / median(calls["by hand"]),
            )
        self._report.show(table)


def main(argv: list[str] | None = None) -> None:
    options = parse(Path(__file__).stem, __doc__ or "", argv)
    report = Report(Path(__file__).stem, options)
    with Workshop() as workshop:
        Bench(report, workshop, quick=options.quick).run()
    report.finish()


if __name__ == "__main__":
    main()
