"""Chooses the extensions of a soak, well-behaved ones (friends) and hostile ones, and the schedule of quiet and
storm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from benchmarks.programs.faults import FLOODER, fault_at
from benchmarks.workshop import CHILDREN, PROGRAMS, Workshop
from supervisor.discovery.found_extension import FoundExtension, Scope
from wire.manifest import Limits, Manifest, Restart, Timeouts

if TYPE_CHECKING:
    from collections.abc import Sequence

QUIET_S, STORM_S, FAULT_S = 5.0, 15.0, 3.0
"""Seconds of quiet and of storm in one cycle, and seconds from one fault to the next."""
SETTLING_S = 2.0
"""Seconds at the start of a quiet stretch that are not measured: in them the extensions that the storm ended are
restarted."""
CALM_S = 0.2
GUARDED_BY_FRIENDS, GUARDED_BY_BOTH, GUARDED_STRICTLY = "tool_call", "assistant_message", "turn_start"
"""Events. Only friends guard the first event; friends and hostile extensions guard the second. The hostile guard of the
third has `on_failure: deny`."""

PATIENT = Timeouts(hello=30, ready=30, tool_call=10, intercept=10)
SHORT = Timeouts(hello=2, ready=1, tool_call=0.3, intercept=0.2)
ALWAYS = Restart(policy="permanent", max=1000, window_s=1, backoff_s=(0.5, 3.0))
LIMITS = Limits(
    rss_mb=96, processes=12, frames_per_s=50_000, output_bytes=256 * 1024, log_mb=1, open_files=256, breaches=2
)  # fmt: skip
LARGE_FRAMES = msgspec.structs.replace(LIMITS, output_bytes=None)


@dataclass(frozen=True)
class Schedule:
    """Quiet and storm take turns; the last stretch is a storm."""

    cycles: int
    quiet_s: float = QUIET_S
    storm_s: float = STORM_S
    settling_s: float = SETTLING_S
    fault_s: float = FAULT_S

    @classmethod
    def within(cls, seconds: float) -> Schedule:
        """Returns a schedule with as many cycles as fit, of the usual length if two of them fit."""
        cycles = max(2, int(seconds / (QUIET_S + STORM_S)))
        shrink = seconds / cycles / (QUIET_S + STORM_S)
        return cls(
            cycles,
            QUIET_S * shrink,
            STORM_S * shrink,
            min(SETTLING_S, QUIET_S * shrink / 2),
            FAULT_S * min(1.0, shrink),
        )

    @property
    def cycle_s(self) -> float:
        return self.quiet_s + self.storm_s

    @property
    def length_s(self) -> float:
        return self.cycles * self.cycle_s

    @property
    def stormy_s(self) -> float:
        return self.cycles * self.storm_s

    def is_storm(self, elapsed: float) -> bool:
        return elapsed % self.cycle_s >= self.quiet_s

    def faults(self, name: str, seed: int) -> list[str]:
        """Returns the faults of the hostile extension with that name, in order."""
        count = round(self.storm_s / self.fault_s)
        starts = [
            cycle * self.cycle_s + self.quiet_s + (i + 0.5) * self.fault_s
            for cycle in range(self.cycles)
            for i in range(count)
        ]
        times = (self.quiet_s, self.storm_s, self.fault_s)
        return [fault_at(start, name, seed, *times).__name__ for start in starts]

    def cycle(self, elapsed: float) -> int:
        return int(elapsed / self.cycle_s)

    def is_calm(self, elapsed: float) -> bool:
        """Whether this is the last moment of a quiet stretch, when all extensions run again."""
        return not self.is_storm(elapsed) and elapsed % self.cycle_s > self.quiet_s - CALM_S

    def measured(self, elapsed: float) -> str | None:
        """Returns whether a call that begins now is a sample of `quiet`, of `storm`, or of neither (None)."""
        if self.is_storm(elapsed):
            return "storm"
        return "quiet" if elapsed % self.cycle_s >= self.settling_s or elapsed < self.cycle_s else None


@dataclass(frozen=True)
class Cast:
    friends: tuple[FoundExtension, ...]
    """Extensions that behave well unless they are killed."""
    hostile: tuple[FoundExtension, ...]

    def against(self, hostile: tuple[FoundExtension, ...]) -> Cast:
        return Cast(self.friends, hostile)


def friends(workshop: Workshop, count: int) -> tuple[FoundExtension, ...]:
    """Makes four fast guards, one in sh, four pools of two, and services in Python."""
    found = []
    for i in range(count):
        name, workers = f"friend{i}", 1
        if i < 4:
            argv = echo(workshop, name)
        elif i == 4:
            argv = ["/bin/sh", str(CHILDREN / "echo.sh"), name]
        else:
            guarded = [GUARDED_BY_BOTH, GUARDED_STRICTLY] if i == 5 else []
            argv = workshop.python(PROGRAMS / "service.py", name, *guarded)
            workers = 2 if 6 <= i < 10 else 1
        manifest = Manifest(
            name, argv[0], tuple(argv[1:]), timeouts=PATIENT, restart=ALWAYS, workers=workers, priority=count - i
        )
        found.append(FoundExtension(workshop.folder, manifest, Scope.EXPLICIT, i))
    return tuple(found)


def echo(workshop: Workshop, name: str) -> list[str]:
    """Returns the fastest echo program here: in C, or in Python if there is no compiler."""
    if workshop.has_compiler:
        return [workshop.compiled(CHILDREN / "echo.c"), name]
    return workshop.python(CHILDREN / "echo.py", name)


def hostile(
    workshop: Workshop, count: int, *, seed: int, began: float, schedule: Schedule
) -> tuple[FoundExtension, ...]:
    """Makes the hostile extensions. Every tenth has the default restart policy, so the supervisor gives it up; another
    tenth only floods, with the largest frames that a host takes. Three guard an event that a friend guards too; the
    fourth denies when it fails."""
    times = [str(value) for value in (began, schedule.quiet_s, schedule.storm_s, schedule.fault_s)]
    found: list[FoundExtension] = []
    for i in range(count):
        floods = i % 10 == 2
        name = f"{FLOODER if floods else 'hostile'}{i}"
        guarded = [GUARDED_BY_BOTH] if i < 3 else [GUARDED_STRICTLY] if i == 3 else []
        argv = workshop.python(PROGRAMS / "hostile.py", name, str(seed), *times, *guarded)
        manifest = Manifest(
            name,
            argv[0],
            tuple(argv[1:]),
            timeouts=SHORT,
            restart=Restart() if i % 10 == 9 else ALWAYS,
            limits=LARGE_FRAMES if floods else LIMITS,
            on_failure="deny" if i == 3 else "allow",
        )
        found.append(FoundExtension(workshop.folder, manifest, Scope.EXPLICIT, len(found)))
    return tuple(found)


def names(found: Sequence[FoundExtension]) -> frozenset[str]:
    return frozenset(extension.manifest.name for extension in found)
