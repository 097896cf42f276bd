"""Work that is divided into steps of a few milliseconds.

A command and the start of a run do all steps in a row. A host that serves extensions does one step in each pass of its
loop, and serves them in between. An `Allowance` limits how much is read in all.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

import msgspec

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Work that yields after each step and returns its result."""
STEP_BYTES = 512 * 1024
"""Bytes that one step reads and hashes at most."""
MAX_FILES = 20_000
MAX_BYTES = 512 * 2**20


class Allowance(msgspec.Struct):
    """Maximum of what may be read, and the use so far: of one extension, or of several together."""

    files: int = MAX_FILES
    """Files, folders and links."""
    bytes: int = MAX_BYTES
    used_files: int = 0
    used_bytes: int = 0
    largest: tuple[int, str] = (0, "")
    """The size in bytes and the path of the largest file so far."""


def no_steps(result: T) -> Steps[T]:
    """Returns `result` without a step."""
    yield from ()
    return result


def finish(steps: Steps[T]) -> T:
    """Does all steps in a row and returns the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
