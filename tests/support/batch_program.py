"""A batch in a process of its own, to be killed: `batch_program.py FOLDER PROMPT...`.

Prints the token of its processes, and then a line for each record that it is told: the kind, and the task."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.batch.batch import Batch
from agent.batch.request import BatchRequest
from agent.options import RunRequest
from tests.support.batch_place import STANDIN, tasks

if TYPE_CHECKING:
    from wire.batch import records


def tell(record: records.AnyRecord) -> None:
    print(type(record).__name__, getattr(record, "task", ""), flush=True)


def main() -> None:
    folder, prompts = Path(sys.argv[1]), sys.argv[2:]
    request = BatchRequest(folder=folder / "rundir", run=RunRequest(home=folder / "home", discover=False), jobs=2)
    batch = Batch(request, tasks(*prompts), version="0", tell=tell, say=print, run_program=STANDIN)
    print(batch.token, flush=True)
    sys.exit(batch.run().exit_code)


if __name__ == "__main__":
    main()
