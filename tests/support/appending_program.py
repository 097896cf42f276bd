"""Appends to the journal in argv[1] as fast as it can, and prints each number once it is told that it is safe. Each of
its starts goes on with the number after the highest one that is there. `python appending_program.py FOLDER ROOT`."""

import os
import sys

sys.path.insert(0, sys.argv[2])

from pathlib import Path

from agent.batch.journal.writer import Journal
from supervisor.loop.loop import Loop
from wire.batch.outcome import Outcome, TaskStatus

loop = Loop()
journal = Journal.open(Path(sys.argv[1]), loop, on_failure=lambda reason: os._exit(7))
number = 0
for task in journal.state.tasks:
    number = max(number, int(task))


def tell(first: int, last: int) -> None:
    os.write(1, b"".join(b"%d\n" % done for done in range(first, last)))
    append()


def append() -> None:
    global number
    first = number + 1
    for number in range(first, first + 1 + first % 40):
        journal.started(str(number), 1)
        journal.finished(
            Outcome(id=str(number), attempt=1, status=TaskStatus.OK, text="x" * (number % 5000), started="", ended=""),
            final=True,
        )
    journal.when_durable(lambda: tell(first, number + 1))


append()
print("ready", flush=True)
loop.run_until(lambda: False)
