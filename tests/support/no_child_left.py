"""Waits for what a killed program leaves."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 20


@contextmanager
def no_child_left() -> Iterator[None]:
    """What a killed process leaves comes to this one; its reaper ends it within the block's end."""
    others = {child.pid for child in psutil.Process().children()}
    yield
    for child in psutil.Process().children():
        if child.pid not in others:
            child.wait(PATIENCE_S)
