"""The parts of a run as texts of a table, and as members of JSON. Pure."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from cli.number_format import dollars, elapsed, number
from cli.terminal import terminal_text
from supervisor.traces.trace_reader import RUNNING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.traces.trace_reader import BesideFile, RunTrace
    from wire.stats import Mark

NOTHING = "-"


def when(seconds: float) -> str:
    """A time in this machine's time zone: `2026-11-28 19:37`; `?` for none of this era."""
    try:
        return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return "?"


def took(run: RunTrace, now: float) -> str:
    """The time from start to end, of a running one until `now`; a dash if it was killed."""
    if run.took_s is not None:
        return elapsed(run.took_s)
    return elapsed(max(0.0, now - run.header.time)) if run.outcome == RUNNING else NOTHING


def falls_by_extension(run: RunTrace) -> dict[str, int]:
    """The number of falls of each extension that fell, the most first."""
    return dict(Counter(fall.extension for fall in run.falls).most_common())


def fallen(run: RunTrace) -> str:
    """`crash (2), guard`; a dash if none fell."""
    counted = falls_by_extension(run).items()
    return (
        ", ".join(terminal_text(name, 60) + (f" ({count})" if count > 1 else "") for name, count in counted) or NOTHING
    )


def cost(run: RunTrace) -> str:
    """The cost, or the tokens if their price is unknown; a dash for a run without a model, or without an end."""
    if run.run is None:
        return NOTHING
    used = run.run
    if used.cost_usd is not None:
        return dollars(used.cost_usd)
    return f"{number(used.input + used.output + used.cache_read + used.cache_write)} tokens"


def cause(fall: Mark) -> str:
    """The cause of a fall without its kind: `exit 3`."""
    return fall.detail.removeprefix(f"{kind(fall)}: ")


def kind(fall: Mark) -> str:
    """The kind of a fall in words: `no verdict`."""
    return fall.name.replace("_", " ")


def record(run: RunTrace) -> dict[str, Any]:
    """The members of a run in a list."""
    head, used = run.header, run.run
    return {
        "id": run.id,
        "kind": head.kind,
        "started": head.time,
        "ended": run.ended_at,
        "took_s": None if run.took_s is None else round(run.took_s, 3),
        "outcome": run.outcome,
        "exit_code": None if used is None else used.exit_code,
        "failed": run.has_failed,
        "falls": falls_by_extension(run),
        "cost_usd": None if used is None else used.cost_usd,
        "tokens": None if used is None else used.input + used.output + used.cache_read + used.cache_write,
        "pid": head.pid,
        "cwd": head.cwd,
        "session": head.session,
        "provider": head.provider,
        "model": head.model,
        "trace": str(run.path),
    }


def fall_record(fall: Mark, files: Iterable[BesideFile]) -> dict[str, Any]:
    """The members of one fall, with the files kept of it."""
    return {
        "time": fall.time,
        "extension": fall.extension,
        "kind": fall.name,
        "cause": cause(fall),
        "files": [str(file.path) for file in files],
    }


def members(struct: Any) -> dict[str, Any]:
    """The members of a line of a trace."""
    found: dict[str, Any] = msgspec.to_builtins(struct)
    return {name: value for name, value in found.items() if name != "type"}
