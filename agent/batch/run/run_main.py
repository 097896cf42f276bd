"""The process of one run of a batch: one attempt of one task.

A fork of the template calls `main`; where there is no template, `python -P PATH/agent/batch/run/run_main.py FD` starts
it. Descriptor 0 is /dev/null, 1 takes the event stream of `zot --json`, 2 is the file for standard error, and FD (3 in
a fork) is the link to the batch, see `wire.batch.link`. The exit status is that of `zot --json`.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # The folder of the programs comes first: the caller's `sys.path` may have another package `agent`.
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    sys.path[:] = [root, *(entry for entry in sys.path if entry != here)]

from agent.batch.run.link import BatchLink, LinkError
from agent.batch.run.task_run import TaskRun
from wire.exit_codes import Status

LINK = 3
"""The descriptor of the link, of a fork."""
OOM_SCORE = b"300"
"""Added to the thousandths of the memory that a process has, when the kernel looks for one to end."""


def main(argument: bytes = b"") -> int:
    """Returns the exit status. `argument` is the number of the link's descriptor, if it is another one than `LINK`."""
    prefer_as_oom_victim()
    link = BatchLink(int(argument or LINK))
    try:
        begin = link.begin()
    except (LinkError, OSError) as error:
        print(f"zot: {error}", file=sys.stderr)  # noqa: T201
        return Status.INTERRUPTED.exit_code
    if begin.again is None:
        status = TaskRun(link, begin).run()
    else:
        from agent.batch.run.score_run import ScoreRun  # most runs are of tasks

        status = ScoreRun(link, begin).run()
    link.close()
    return status


def prefer_as_oom_victim() -> None:
    """Lets the kernel, when memory runs out, end this process and what it starts before it ends the batch."""
    try:
        with open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
            file.write(OOM_SCORE)
    except OSError:
        pass  # not Linux


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].encode()))
