"""Waits for what a killed program leaves."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import psutil

from tests.support import warm_start
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def no_child_left() -> Iterator[None]:
    """What a killed process leaves comes to this one; its reaper ends it within the block's end."""
    others = {child.pid for child in psutil.Process().children()}
    yield
    others |= warm_start.own_children()
    while left := [
        child for child in psutil.Process().children() if child.pid not in others | warm_start.own_children()
    ]:
        for child in left:  # what it leaves comes with its end
            child.wait(PATIENCE_S)
