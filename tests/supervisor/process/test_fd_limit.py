"""The limit of descriptors is raised as far as it is needed and allowed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = """
import json, resource, sys
from supervisor.process import fd_limit
soft, hard, workers = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
missing = fd_limit.provide(workers)
print(json.dumps([missing, *resource.getrlimit(resource.RLIMIT_NOFILE)]))
"""


def provided(soft: int, hard: int, workers: int) -> list[int]:
    """The missing descriptors, and both limits afterwards; in its own process, since a hard limit stays lowered."""
    argv = [sys.executable, "-c", PROGRAM, str(soft), str(hard), str(workers)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("soft", "hard", "workers", "wanted"),
    [
        (1024, 4096, 10, [0, 1024, 4096]),
        (1024, 4096, 300, [0, 256 + 8 * 300, 4096]),
        (256, 512, 300, [256 + 8 * 300 - 512, 512, 512]),
        (300, 300, 1, [0, 300, 300]),
    ],
)
def test_only_as_many_as_are_needed(soft: int, hard: int, workers: int, wanted: list[int]):
    assert provided(soft, hard, workers) == wanted
