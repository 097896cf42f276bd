"""A batch that goes through message batches, in a process of its own, to be killed: `batch_api_program.py FOLDER URL
WORKER COUNT`, with the base URL of the server and the program of the worker. It prints its token."""

from __future__ import annotations

import sys
from pathlib import Path

from agent.batch.batch import Batch
from agent.batch.message_batches import provider_calls
from agent.batch.request import BatchRequest
from agent.options import RunRequest
from wire.batch.task import Task

MODEL = "claude-sonnet-4-5"


def say_tasks(count: int) -> list[Task]:
    return [Task(id=f"t{number}", prompt=f"say {number}") for number in range(count)]


def flags(folder: Path, base_url: str) -> RunRequest:
    return RunRequest(
        home=folder / "home", keep_session=False, discover=False, base_url=base_url, api_key="k", provider="anthropic",
        model=MODEL, max_steps=1, tools=frozenset(), cwd=str(folder / "project"),
    )  # fmt: skip


def main() -> None:
    folder, base_url, worker, count = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
    provider_calls.WORKER = worker
    request = BatchRequest(folder=folder / "rundir", run=flags(folder, base_url), batch_api=True)
    batch = Batch(request, say_tasks(count), version="0", say=print, has_template=False)
    print(batch.token, flush=True)
    sys.exit(batch.run().exit_code)


if __name__ == "__main__":
    main()
