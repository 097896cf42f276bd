"""How long `zot` takes to start: its version, a replayed run, and the first request to a model, beside bare Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.report import Report, Table, parse
from benchmarks.workshop import CHILDREN, PROGRAMS, Workshop
from tests.support.messages_server import MessagesServer, text_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TIMEOUT_S = 60.0
ROUNDS, QUICK_ROUNDS = 10, 1


class Bench:
    """Measures the `zot` of this environment, or of `checkout` with this environment's Python.

    Every program runs with compiled bytecode, as after an installation. The first round does not count: it fills a
    cache for this benchmark. `--quick` uses the existing cache."""

    def __init__(
        self, report: Report, workshop: Workshop, server: MessagesServer, *, quick: bool, checkout: Path | None = None
    ) -> None:
        self._report = report
        self._server = server
        self._rounds = QUICK_ROUNDS if quick else ROUNDS
        self._many = 4 if quick else 20
        self._folder = Path(tempfile.mkdtemp(dir=workshop.folder))
        self._project = self._folder / "project"
        self._project.mkdir()
        self._quick = quick
        self._env = dict(os.environ)
        if not quick:
            self._env["PYTHONPYCACHEPREFIX"] = str(workshop.folder / "bytecode")
            self._env.pop("PYTHONDONTWRITEBYTECODE", None)
        if checkout is not None:
            self._env["PYTHONPATH"] = str(checkout)
            self._zot = [sys.executable, "-m", "pyzot"]
            return
        installed = Path(sys.executable).with_name("zot")
        self._zot = [str(installed)] if installed.exists() else [sys.executable, "-m", "pyzot"]

    def run(self) -> None:
        python = [sys.executable, "-c"]
        many = f"{self._many} extensions"
        bare, sdk = "python -c pass", "python -c 'import anthropic'"
        none, normal = self._home("none"), self._home("normal", self._normal(self._many))
        silent = self._home("silent", [[sys.executable, "-I", "-S", str(CHILDREN / "child.py"), "silent"]])
        burner = self._home("burner", [[sys.executable, "-I", "-S", str(PROGRAMS / "burner.py")]])
        contenders: dict[str, Callable[[], float]] = {
            bare: lambda: self._to_exit([*python, "pass"], none),
            sdk: lambda: self._to_exit([*python, "import anthropic"], none),
            "zot --version": lambda: self._to_exit([*self._zot, "--version"], none),
        }
        if not self._quick:
            contenders["zot --replay, no extensions"] = self._replaying(none)
        contenders[f"zot --replay, {many}"] = self._replaying(normal)
        if not self._quick:
            contenders["first request, no extensions"] = lambda: self._to_request(none)
        contenders["first request, one silent"] = lambda: self._to_request(silent)
        if not self._quick:
            contenders[f"first request, {many}"] = lambda: self._to_request(normal)
            contenders["first request, one burns CPU"] = lambda: self._to_request(burner)
        times: dict[str, list[float]] = {name: [] for name in contenders}
        for number in range(1 if self._quick else 0, self._rounds + 1):
            self._report.progress(f"round {number} of {self._rounds}")
            for name, measure in contenders.items():
                seconds = measure()
                if number > 0:
                    times[name].append(seconds)
        table = Table("start-up", ("", "median ms", "best ms", f"of {bare}", f"of {sdk}", "runs"))
        for name, taken in times.items():
            ratios = [_ratio(taken, times[peer]) for peer in (bare, sdk)]
            table.add(name, median(taken) * 1000, min(taken) * 1000, *ratios, len(taken))
        self._report.show(table)

    def one_liners(self) -> dict[str, Callable[[], float]]:
        """Measures to compare checkouts by: each returns the seconds that it took."""
        none = self._home("none")
        return {
            "zot --version": lambda: self._to_exit([*self._zot, "--version"], none),
            "zot --replay, no extensions": self._replaying(none),
            "first request, no extensions": lambda: self._to_request(none),
        }

    # --- what is measured ---------------------------------------------------------------------------------

    def _to_exit(self, argv: Sequence[str], home: Path) -> float:
        """Returns the seconds until the program has exited."""
        start = time.monotonic()
        done = self._run(argv, home)
        taken = time.monotonic() - start
        _check(argv, done.returncode, done.stderr)
        return taken

    def _to_request(self, home: Path) -> float:
        """Returns the seconds until the server has the request. Also waits for the end of the run."""
        argv = [*self._zot, "--json", "--provider", "anthropic", "--api-key", "k", "--base-url", self._server.base_url]
        argv += ["--no-session", "hi"]
        before = len(self._server.requests)
        self._server.add(text_reply("Hello."))
        start = time.monotonic()
        done = self._run(argv, home)
        _check(argv, done.returncode, done.stderr)
        return self._server.requests[before].at - start

    def _run(self, argv: Sequence[str], home: Path) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            argv,
            cwd=self._project,
            env=self._with(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
        )

    # --- what it is measured with -------------------------------------------------------------------------

    def _replaying(self, home: Path) -> Callable[[], float]:
        argv = [*self._zot, "--json", "--replay", self._recorded(home), "hi"]
        return lambda: self._to_exit(argv, home)

    def _recorded(self, home: Path) -> str:
        """Records a cassette with one answer. Its request names the tools of the extensions in `home`."""
        cassette = str(self._folder / f"{home.name}.jsonl")
        self._server.add(text_reply("Hello."))
        argv = [*self._zot, "--json", "--no-session", "--api-key", "k", "--base-url", self._server.base_url]
        argv += ["--ext-wait", "30", "--record", cassette, "hi"]
        done = self._run(argv, home)
        _check(argv, done.returncode, done.stderr)
        return cassette

    def _normal(self, count: int) -> list[list[str]]:
        """Returns the command lines of `count` extensions: half in Python as most people write it, half in sh."""
        kinds = [[sys.executable, str(CHILDREN / "echo.py")], ["/bin/sh", str(CHILDREN / "echo.sh")]]
        return [[*kinds[i % 2], f"extension{i:02}"] for i in range(count)]

    def _home(self, name: str, programs: Sequence[Sequence[str]] = ()) -> Path:
        """Makes a $ZOT_HOME with these extensions."""
        home = self._folder / f"home-{name}"
        home.mkdir()
        for i, (program, *args) in enumerate(programs):
            folder = home / "extensions" / f"extension{i:02}"
            folder.mkdir(parents=True)
            manifest = {"name": folder.name, "exec": program, "args": args}
            (folder / "extension.json").write_text(json.dumps(manifest))
        return home

    def _with(self, home: Path) -> dict[str, str]:
        sessions = home / "sessions"
        shutil.rmtree(sessions, ignore_errors=True)
        return {**self._env, "ZOT_HOME": str(home)}


def _check(argv: Sequence[str], status: int, stderr: bytes) -> None:
    if status != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit {status}: {stderr.decode('utf-8', 'replace')[-500:]}")


def _ratio(mine: Sequence[float], peers: Sequence[float]) -> float:
    """Returns the median over the rounds: other load of the machine affects both sides of a round alike."""
    return median(ours / peer for ours, peer in zip(mine, peers, strict=True))


def main(argv: list[str] | None = None) -> None:
    options = parse(Path(__file__).stem, __doc__ or "", argv)
    report = Report(Path(__file__).stem, options)
    with Workshop() as workshop, MessagesServer() as server:
        Bench(report, workshop, server, quick=options.quick).run()
    report.finish()


if __name__ == "__main__":
    main()
