"""Processes to be profiled, and what profiles need."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from supervisor.process.table import Identity, read_process
from supervisor.profile.py_spy import find_py_spy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

needs_py_spy = pytest.mark.skipif(find_py_spy() is None, reason="no py-spy here: make setup")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node here")

SPIN = "def count_the_stars():\n    while True: sum(range(100))\nprint('up', flush=True)\ncount_the_stars()"
"""A Python program that is busy in one function."""
SPIN_NODE = "function countTheStars() { let n = 0; for (let i = 0; i < 1e6; i++) n += i; return n }\n"
BUSY_NODE = SPIN_NODE + "setInterval(countTheStars, 1); console.log('up')"
"""A Node program that returns to its loop now and then."""
HANGING_NODE = SPIN_NODE + "console.log('up'); while (true) countTheStars()"
"""A Node program that never does."""


@contextmanager
def running(argv: Sequence[str], **options: object) -> Iterator[Identity]:
    """A program that has written its first line."""
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        **options,  # type: ignore[call-overload]
    )  # fmt: skip
    with process:
        try:
            assert process.stdout.readline()
            found = read_process(process.pid)
            assert found is not None
            yield found.identity
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def node(code: str, *flags: str) -> list[str]:
    return ["node", *flags, "-e", code]
