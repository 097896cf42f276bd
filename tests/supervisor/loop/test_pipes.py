"""Pipes hand on what comes, in pieces of a bounded size, and keep what does not fit up to a limit."""

from __future__ import annotations

import os

from supervisor.loop.loop import BACKGROUND_READ, Loop
from supervisor.loop.pipes import PipeReader


def test_pieces_that_take_long_to_work_off_become_smaller_and_larger_again() -> None:
    """8 KiB can be one frame, or eight thousand lines of junk. The clock is one that only the work moves."""
    now, cost_per_byte, sizes = 0.0, 1e-6, []

    def work_off(data: bytes) -> None:
        nonlocal now
        sizes.append(len(data))
        now += len(data) * cost_per_byte

    loop = Loop(clock=lambda: now)
    read, write = os.pipe()
    inlet = PipeReader(loop, read, work_off, lambda: None)
    try:
        for cost_per_byte, expected in (  # noqa: B007
            (1e-6, [8192, 4096, 2048, 1024, 512, 512]),
            (1e-9, [512, 1024, 2048, 4096, 8192, 8192]),
            (1e-3, [8192, 4096, 2048, 1024, 512, 512]),
        ):
            sizes.clear()
            for _ in expected:
                os.write(write, bytes(8192))
                inlet.on_readable(BACKGROUND_READ)
            assert sizes == expected
            inlet.take_waiting()
    finally:
        inlet.close()
        os.close(write)
        loop.close()
