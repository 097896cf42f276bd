"""The black boxes that the extensions of a host leave, with the trace of a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from supervisor.home.config import Config, Keep
from supervisor.traces.black_boxes import BlackBoxes
from supervisor.traces.places import BLACK_BOX
from supervisor.traces.trace_file import TraceFile, trace_header
from wire.traces.black_box import KeptBox, decode

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host import Host


class Kept:
    """A trace, and the black boxes beside it."""

    def __init__(self, host: Host, home: Path, **config: Any) -> None:
        self.host = host
        self.home = home
        self.said: list[str] = []
        self.trace = TraceFile(home, Keep(), self.said.append, trace_header("run", "1", "/", {}))
        self.trace.begin()
        boxes = BlackBoxes(self.trace, Config(**config), "1.0", host.loop.clock)
        host.supervisor.on_fall += [self.trace.fell, boxes.fell]

    @property
    def paths(self) -> list[Path]:
        return sorted(self.trace.path.parent.glob(f"*{BLACK_BOX}"))

    def boxes(self) -> list[KeptBox]:
        found = [decode(path.read_bytes()) for path in self.paths]
        assert all(not box.fault for box in found)
        return found

    def one(self) -> KeptBox:
        self.host.until(lambda: self.paths)
        (box,) = self.boxes()
        return box

    def close(self) -> None:
        """Closes the file of the trace, as a run that is killed."""
        if self.trace._fd >= 0:
            os.close(self.trace._fd)


Keeper = Callable[..., Kept]
