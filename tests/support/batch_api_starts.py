"""Starts of batches whose tasks go through the Message Batches API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.batch_place import when
from wire.batch.task import Task

if TYPE_CHECKING:
    from tests.support.batch_place import BatchPlace
    from tests.support.messages_server.server import MessagesServer
    from wire.batch import records

MODEL = "claude-sonnet-4-5"  # $3 and $15
IN_USD, OUT_USD = 10 * 3 / 1e6, 5 * 15 / 1e6


def run(place: BatchPlace, server: MessagesServer, tasks: list[Task], **given: Any) -> records.BatchEnd:
    flags = {
        "base_url": server.base_url, "api_key": "k", "provider": "anthropic", "model": MODEL, "max_steps": 1,
        "tools": frozenset(), "cwd": str(place.folder / "project"), **given.pop("run", {}),
    }  # fmt: skip
    return place.run(tasks, **{"run": flags, "batch_api": True, "run_program": None, "has_template": False, **given})


def prompts(count: int) -> list[Task]:
    return [Task(id=f"t{number}", prompt=f"say {number}") for number in range(count)]


def stopped_when(place: BatchPlace, server: MessagesServer, tasks: list[Task], condition: Any, **given: Any) -> Any:
    """Runs a batch that is stopped at once when the condition holds."""

    def stop(batch: Any) -> None:
        def end() -> None:
            batch.controls.is_stopping = True

        when(batch, condition, end)

    return run(place, server, tasks, do=stop, **given)
