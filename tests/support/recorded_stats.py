"""Makes `--stats` files as a host would have written them: the same ones every time, from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from wire.stats import ExtensionStats, HostStats, Mark, Stats, encode

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

STARTED = 1_790_000_000.0
MIB = 2**20


def extension_stats(**given: object) -> ExtensionStats:
    """Figures of an idle, healthy extension, with these changes."""
    plain: dict[str, object] = {
        "state": "ready",
        "failure": "",
        "pids": (4711,),
        "workers": 1,
        "uptime_s": 1.0,
        "exit_status": None,
        "cpu_percent": 0.0,
        "cpu_s": 0.0,
        "rss_bytes": 12 * MIB,
        "rss_peak_bytes": 12 * MIB,
        "processes": 1,
        "threads": 1,
        "open_files": 8,
        "frames_in_per_s": 0.0,
        "frames_out_per_s": 0.0,
        "p50_ms": None,
        "p99_ms": None,
        "latency_ms": (),
    }
    counters = ("restarts", "exits", "pending", "frames_in", "frames_out", "bytes_in", "bytes_out", "calls", "errors")
    more = ("timeouts", "blocks", "limit_breaches", "events_dropped", "notes_dropped", "junk_lines")
    plain |= dict.fromkeys((*counters, *more), 0)
    return ExtensionStats(**(plain | given))  # type: ignore[arg-type]


def sample(at: float, extensions: dict[str, ExtensionStats], *, pid: int = 900, clock: float = STARTED) -> Stats:
    """`at` seconds after the start; `clock` is what the system's clock said then."""
    host = HostStats(
        pid=pid,
        kind="run",
        version="0.1.0",
        cwd="/home/ada/project",
        started=clock,
        uptime_s=at,
        cpu_percent=1.5,
        cpu_s=0.015 * at,
        rss_bytes=31 * MIB,
        open_files=40,
        wakeups=int(at * 12),
        samples=int(at * 4),
        sampling_cpu_s=0.002 * at,
        sampling_interval_s=0.25,
    )
    return Stats(time=clock + at, host=host, extensions=extensions)


def mark(at: float, kind: str, extension: str = "", detail: str = "", name: str = "", ms: float | None = None) -> Mark:
    return Mark(time=STARTED + at, kind=kind, name=name, extension=extension, duration_ms=ms, detail=detail)  # type: ignore[arg-type]


def write(path: Path, lines: Iterable[Stats | Mark]) -> Path:
    path.write_bytes(b"".join(map(encode, lines)))
    return path


def latency(middle_ms: float, answers: int, chance: random.Random) -> tuple[tuple[float, int], ...]:
    """A histogram in the host's buckets, log-normal, with a tail."""
    counts: dict[int, int] = {}
    for _ in range(min(answers, 400)):
        value = middle_ms * chance.lognormvariate(0, 0.35) * (8 if chance.random() < 0.02 else 1)
        index = next(index for index in range(288) if 1e-4 * 2 ** (index / 8) >= value)
        counts[index] = counts.get(index, 0) + max(1, answers // 400)
    return tuple((1e-4 * 2 ** (index / 8), count) for index, count in sorted(counts.items()))


@dataclass
class Pretended:
    """One extension while the file is made."""

    name: str
    manner: str
    chance: random.Random
    middle_ms: float = 1.0
    cpu_s: float = 0.0
    rss: float = 14.0 * MIB
    peak: float = 0.0
    calls: int = 0
    errors: int = 0
    restarts: int = 0
    breaches: int = 0
    state: str = "ready"
    failure: str = ""
    exit_status: str | None = None
    back_at: float = 0.0
    marks: list[Mark] = field(default_factory=list)
    histogram: tuple[tuple[float, int], ...] = ()

    def step(self, at: float, seconds: float) -> ExtensionStats:
        if self.state == "backoff" and at >= self.back_at:
            self.state, self.restarts, self.rss = "ready", self.restarts + 1, 14.0 * MIB
            self.marks.append(mark(at, "restarted", self.name, f"started again after exit 1, time {self.restarts}"))
        percent = 0.0
        if self.state == "ready":
            percent = self._lives(at)
        self.cpu_s += percent / 100 * seconds
        rss = self.rss if self.state == "ready" else 0.0
        self.peak = max(self.peak, rss)
        p50 = self.middle_ms if self.calls else None
        return extension_stats(
            state=self.state,
            failure=self.failure,
            cpu_percent=round(percent, 2),
            cpu_s=round(self.cpu_s, 4),
            rss_bytes=int(rss),
            rss_peak_bytes=int(self.peak),
            calls=self.calls,
            errors=self.errors,
            restarts=self.restarts,
            exits=self.restarts,
            limit_breaches=self.breaches,
            exit_status=self.exit_status,
            frames_in=3 * self.calls,
            frames_out=3 * self.calls + 2,
            bytes_in=411 * self.calls,
            bytes_out=502 * self.calls,
            p50_ms=p50,
            p99_ms=None if p50 is None else round(p50 * 8.3, 4),
            latency_ms=self.histogram,
        )

    def _lives(self, at: float) -> float:
        chance = self.chance
        self.calls += chance.randrange(4)
        self.rss += chance.uniform(-0.05, 0.055) * MIB
        percent = max(0.0, chance.gauss(0.8, 0.5))
        if self.manner == "hog":
            percent = 60 + 30 * chance.random()
        if self.manner == "leak":
            self.rss += 1.6 * MIB
            if self.rss > 320 * MIB:
                self.breaches += 1
                self.marks.append(
                    mark(at, "limit", self.name, f"rss {self.rss / MIB:.0f} MiB is over rss_mb 320, 3 times in a row")
                )
                self._ends(at, "signal SIGKILL")
        if self.manner == "crash" and chance.random() < 0.04:
            self.errors += 1
            self._ends(at, "exit 1")
            if self.restarts >= 5:
                self.state, self.failure = "failed", "5 exits in 41 s, last exit 1: \"KeyError: 'path'\""
                self.marks.append(mark(at, "failed", self.name, self.failure))
        return percent

    def _ends(self, at: float, how: str) -> None:
        self.state, self.exit_status = "backoff", how
        self.back_at = at + self.chance.uniform(0.5, 6)
        self.marks.append(mark(at, "exited", self.name, f"ended with {how}; it is started again"))


def recorded(extensions: int, samples: int, *, seconds: float = 1.0, seed: int = 1) -> list[Stats | Mark]:
    """A run in which every fifth extension misbehaves; with a handful of extensions all are well."""
    chance = random.Random(seed)
    manners = {7: "hog", 12: "leak", 17: "crash", 2: "crash"} if extensions > 8 else {}
    names = ("redactor", "guard", "todo-count", "turn-meter", "linter", "search", "notes", "browser")
    cast = [
        Pretended(
            name=names[index] if extensions <= 8 else f"{names[index % 8]}-{index}",
            manner=manners.get(index % 20, "well"),
            chance=random.Random(seed * 1000 + index),
            middle_ms=round(10 ** chance.uniform(-0.7, 2.2), 3),
        )
        for index in range(extensions)
    ]
    lines: list[Stats | Mark] = [mark(0.05 + index * 0.01, "started", member.name) for index, member in enumerate(cast)]
    turn_began, turn = 0.3, 1
    for index in range(samples):
        at = (index + 1) * seconds
        if index == samples - 1:
            for member in cast:
                member.histogram = latency(member.middle_ms, member.calls, member.chance) if member.calls else ()
        stats = sample(at, {member.name: member.step(at, seconds) for member in cast})
        new = [each for member in cast for each in member.marks]
        for member in cast:
            member.marks.clear()
        caller = chance.choice(cast)
        if chance.random() < 0.6:
            wrong = "exit 2: no such file" if chance.random() < 0.08 else ""
            tool = chance.choice(["bash", "read", "edit", "search"])
            by = "" if tool != "search" else caller.name
            new.append(mark(at - 0.8 * seconds, "tool_call", by, wrong, tool, ms=700 * seconds * chance.random()))
            blocker = caller.name if chance.random() < 0.05 else ""
            said = "refused by rule `rm -rf`" if blocker else ""
            new.append(mark(at - 0.9 * seconds, "intercept", blocker, said, "tool_call", ms=1.9))
        if at - turn_began > 11 * seconds:
            new.append(mark(turn_began, "turn", "", "tool_use", str(turn), ms=(at - turn_began - 0.5 * seconds) * 1000))
            turn_began, turn = at, turn + 1
        lines += [*sorted(new, key=lambda each: each.time), stats]
    return lines


HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'onmouseover='alert(1)",
    "<!--<script>",
    "]]>&lt;b&gt;",
    "\u202egnp.exe",
    "\u2028\u2029\x00\x1b[2J\x7f",
    "javascript:alert(1)",
    "${alert(1)}`{{x}}",
    "  ",
    "ü" * 500,
    "__proto__",
    "constructor",
]


def hostile_lines():
    names = [f"{text}{at}" for at, text in enumerate(HOSTILE)] + HOSTILE
    ill = {name: extension_stats(state=name, failure=name, exit_status=name, cpu_s=9.0, p99_ms=1.0) for name in names}
    yield sample(1, ill)
    for at, text in enumerate(HOSTILE):
        for kind in ("exited", "warning", "tool_call", "turn", "intercept", "limit", "failed"):
            yield mark(1 + at / 10, kind, text, text, text, ms=50)
    yield msgspec.structs.replace(sample(9, ill), host=msgspec.structs.replace(sample(9, {}).host, cwd=HOSTILE[0]))
