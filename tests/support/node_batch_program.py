"""A batch with nodes in a process of its own, to be killed: `node_batch_program.py FOLDER NODES PROMPT...`.

Prints the token of its processes, and then a line for each record that it is told: the kind, and the task."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.batch_place import STANDIN, tasks
from tests.support.node_place import NodePlace


def main() -> None:
    folder, nodes, prompts = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    place = NodePlace(folder)
    batch = place.batch(tasks(*prompts), nodes=nodes, run_program=STANDIN, each=4)
    batch._tell = lambda record: print(type(record).__name__, getattr(record, "task", ""), flush=True)
    batch._attempts._tell = batch._tell
    print(batch.token, flush=True)
    sys.exit(batch.run().exit_code)


if __name__ == "__main__":
    main()
