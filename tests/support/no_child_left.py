"""Waits for what a killed program leaves."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import psutil

from tests.support import warm_start
from tests.support.child_pids import child_pids
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def no_child_left() -> Iterator[None]:
    """Waits at the end of the block for the processes that a killed program leaves: they become children of this
    process, and their reaper ends them."""
    others = child_pids()
    yield
    others |= warm_start.own_children()
    while left := child_pids() - others - warm_start.own_children():
        for pid in left:  # what it leaves comes with its end
            psutil.Process(pid).wait(PATIENCE_S)
