"""Batches at one moment, for the views."""

from __future__ import annotations

from typing import Any

from agent.batch.request import BatchView, RunState, RunView
from wire.batch.outcome import Outcome, TaskStatus, Usage


def run(task: str = "fix-1", state: RunState = RunState.RUNNING, since_s: float = 12.0, **fields: Any) -> RunView:
    given = {"attempt": 1, "step": 3, "usage": Usage(900, 300), "cost_usd": 0.0123, "memory_bytes": 40 << 20, **fields}
    return RunView(task, given.pop("attempt"), state, since_s, **given)


def view(**fields: Any) -> BatchView:
    given = {
        "tasks": 1000,
        "statuses": {"ok": 380, "error": 8, "timeout": 3, "crashed": 1},
        "waiting": 605,
        "runs": (
            run("fix-7", since_s=185.0),
            run("fix-12", RunState.PAUSED, 50.0, why_paused="waits for input tokens"),
        ),
        "jobs": 8,
        "retried": 3,
        "why_paused": "",
        "is_paused_by_user": False,
        "is_draining": False,
        "usage": Usage(1_000_000, 200_000, 34_000, 500),
        "known_cost_usd": 1.23,
        "has_unknown_cost": False,
        "reserved_usd": 0.0,
        "tokens_per_minute": 45_200.0,
        "elapsed_s": 185.0,
        "eta_s": 260.0,
        "memory_bytes": 412 << 20,
        "rate_limited": 0,
        **fields,
    }
    return BatchView(**given)


def outcome(task: str = "fix-1", status: TaskStatus = TaskStatus.OK, **fields: Any) -> Outcome:
    given = {
        "attempt": 1,
        "duration_ms": 12_500,
        "cost_usd": 0.0123,
        "usage": Usage(900, 300),
        "started": "2026-01-01T12:00:00Z",
        "ended": "2026-01-01T12:00:12Z",
        **fields,
    }
    return Outcome(id=task, status=status, **given)
