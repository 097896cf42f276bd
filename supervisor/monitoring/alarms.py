"""The alarms of an extension, for a person to look at: from its state, its last exits, its memory and its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from supervisor.accounting.account import growth_text
from supervisor.accounting.fall import OVER_LIMITS
from supervisor.accounting.limits import limits_used
from supervisor.extension.lifecycle import WorkerState
from supervisor.extension.restart import HEALTHY_AFTER_S
from wire.stats import Alarm
from wire.text import counted, one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.extension.extension import Extension
    from supervisor.extension.slot import WorkerSlot


Kind = Literal["failed", "over_limit", "restarting", "memory_grows", "near_limit"]
"""The kinds of alarms, the worst first."""
_ORDER = get_args(Kind)
RESTARTING = 3
"""Number of exits in a row, none for a limit, from which on there is an alarm."""
NEAR = 0.9
"""Fraction of a limit from which on there is an alarm."""
CREEPING = frozenset({"rss_mb", "cpu_seconds", "open_files"})
"""Limits of uses that mostly grow. A rate or a number of processes is often near its limit and comes no nearer."""
TEXT_LENGTH = 600


def alarms_of(extension: Extension, now: float, wall: float) -> Iterator[Alarm]:
    """The alarms of one extension, the worst first. `now` is on the loop's clock, `wall` the same moment in seconds
    since the epoch. An extension of the embedding program has none: its process is not the host's. One that a user has
    stopped has none, either."""
    if extension.found.link is not None or extension.is_halted:
        return
    for kind, text, since in sorted(_alarms_with_time(extension, now), key=lambda each: _ORDER.index(each[0])):
        at = None if since is None else float(round(wall - (now - since)))
        yield Alarm(kind, valid_text(one_line(text, TEXT_LENGTH)), at)


def _alarms_with_time(extension: Extension, now: float) -> Iterator[tuple[Kind, str, float | None]]:
    """Kind and text of each alarm, and since when on the loop's clock."""
    for slot in extension.slots:
        which = "" if len(extension.slots) == 1 else f"worker {slot.worker.index + 1}: "
        history = slot.history
        if slot.worker.state is WorkerState.FAILED:
            yield ("failed", f"{which}{slot.worker.failure}", slot.worker.state_since)
        elif history.over_limit and not _is_healthy(slot, now):
            ended = f"ended {counted(history.over_limit, 'time')} for its limits"
            last = slot.last_end.removeprefix(OVER_LIMITS)
            yield ("over_limit", f"{which}{ended}, the last time: {last}", history.since)
        elif history.row >= RESTARTING and not _is_healthy(slot, now):
            ended = f"ended {history.row} times in a row"
            yield ("restarting", f"{which}{ended}, the last time: {slot.last_end}", history.since)
    memory = extension.account.memory
    if memory.grown is not None:
        yield ("memory_grows", growth_text(memory.grown), memory.began_at)
    readings = [worker.usage.reading for worker in extension.all_workers if worker.is_running]
    for name, allowed, used in limits_used(extension.limits, readings):
        if name in CREEPING and used is not None and used >= NEAR * allowed:
            yield ("near_limit", f"near its limit: {name} {used:.4g} of {allowed:g}", None)


def _is_healthy(slot: WorkerSlot, now: float) -> bool:
    return slot.worker.state is WorkerState.READY and now - slot.worker.started_at >= HEALTHY_AFTER_S
