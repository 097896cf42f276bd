"""A node program whose runs are stand-ins for agents (`standin_run`). The variable `ZOT_TEST_JOBS` says how many runs
it offers at the same time, and `ZOT_TEST_MUTE` that it never says anything."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from agent.batch.cluster.node import node_main, node_runs  # noqa: E402
from agent.batch.pool.processes import Processes  # noqa: E402

STANDIN = Path(__file__).with_name("standin_run.py")


def main() -> int:
    if "ZOT_TEST_MUTE" in os.environ:
        sys.stdin.read()
        return 0
    runs: Any = node_runs
    runs.Processes = partial(Processes, run_program=STANDIN)
    if "ZOT_TEST_JOBS" in os.environ:
        runs.default_jobs = lambda *_given: int(os.environ["ZOT_TEST_JOBS"])
    return node_main.main()


if __name__ == "__main__":
    sys.exit(main())
