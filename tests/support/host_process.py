"""`zot host` as a process, and clients of its socket."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from supervisor.control.client import ControlClient, ControlError, Endpoint
from tests.support.patience import PATIENCE_S
from tests.support.zot_process import wait_until
from wire import control, frames

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.zot_process import Running, Zot

STARTING = ("spawned", "greeted")


class Hosted:
    """A host that runs, with a client connected to it."""

    def __init__(self, zot: Zot, running: Running) -> None:
        self.zot = zot
        self.running = running
        self.pid = running.pid
        self.socket = zot.home / "run" / f"{running.pid}.sock"
        wait_until(lambda: self.socket.exists() or running.process.poll() is not None)
        assert self.socket.exists(), running.errors()
        self.client = self.connect()

    def connect(self) -> ControlClient:
        return ControlClient(Endpoint(self.pid, self.socket), PATIENCE_S)

    def settle(self) -> None:
        """Waits until every extension is ready or has failed."""
        wait_until(lambda: all(stats.state not in STARTING for stats in self.stats().values()))

    def stats(self) -> dict[str, Any]:
        return dict(self.client.ask(control.GetStats(self.client.next_id()), control.StatsReply).stats.extensions)

    def call(self, tool: str, text: str = "", client: ControlClient | None = None) -> str:
        client = client or self.client
        args = frames.Raw(control._encoder.encode({"text": text}))
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                result = client.ask(frames.ToolCall(client.next_id(), tool, args), frames.ToolResult)
            except ControlError as error:  # on a busy machine an extension may register after it is taken as ready
                if "no such tool" not in str(error) or time.monotonic() > deadline:
                    raise
            else:
                return "".join(block.text or "" for block in result.content or ())

    def next_notice(self, event: str) -> Any:
        """The next watched message of this kind."""
        deadline = time.monotonic() + PATIENCE_S
        while (reply := self.client.next(deadline - time.monotonic())) is not None:
            if getattr(reply, "event", None) == event:
                return reply
        raise AssertionError(f"no {event}; {self.running.errors()}")


@contextmanager
def hosting(zot: Zot, *extensions: Path, flags: tuple[str, ...] = ()) -> Iterator[Hosted]:
    """A `zot host` whose extensions are all ready or failed."""
    zot.env.pop("XDG_RUNTIME_DIR", None)
    named = [word for path in extensions for word in ("-e", path)]
    with zot.start("host", *named, *flags) as running:
        hosted = Hosted(zot, running)
        try:
            hosted.settle()
            yield hosted
        finally:
            hosted.client.close()
