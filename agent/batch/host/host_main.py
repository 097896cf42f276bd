"""The program of a batch's host: `python -P PATH/agent/batch/host/host_main.py`.

Descriptor 0 brings the order and ends with the batch, 1 takes the lines for it, and 2 takes tracebacks: see
`wire.batch.host_lines`.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # The folder of the programs comes first: the caller's `sys.path` may have another package `agent`.
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    sys.path[:] = [root, *(entry for entry in sys.path if entry != here)]

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.options import SETTLE_S
from agent.output.fd_writer import FdWriter
from supervisor.discovery.admission import Consent
from supervisor.extension.restart import NEVER_AGAIN
from supervisor.home.config import ConfigError, Keep, load_config
from supervisor.host import CannotServeError, Host, HostPhase
from supervisor.host_event import HostEvent
from supervisor.loop.pipes import PipeReader
from supervisor.sharing.offers import may_be_shared
from supervisor.traces.trace_file import TraceFile
from wire.batch.host_lines import HostOrder, Serving, Told, decode_order, encode
from wire.text import valid_text

if TYPE_CHECKING:
    from wire.batch.host_lines import FromHost

ORDER_LIMIT = 16 * 1024 * 1024
"""Maximum size of the order in bytes."""
FLUSH_S = 0.5
"""Seconds that the last lines may take."""
UNSHARED = "it is private: each run starts its own"


class BatchHost:
    """Serves the runs of a batch until the batch closes descriptor 0. Raises `ConfigError`."""

    def __init__(self, order: HostOrder) -> None:
        shared = (*order.share, *load_config(Path(order.home)).share)
        self._host = Host(
            version=order.version,
            extensions=order.extensions,
            mcp_configs=order.mcp_configs,
            discover_more=order.discover,
            cwd=order.cwd,
            home=Path(order.home),
            strict_guards=order.strict_guards,
            allow_asked=order.allow_asked,
            profile_on_stall=order.profile_on_stall,
            kind="batch",
            consent=Consent(whole_project=order.trust_project, content=frozenset(order.trusted_content)),
            share=order.share,
            wanted=lambda found: may_be_shared(found, shared),
            trace=None if not order.trace else TraceFile(Path(order.home), Keep(), _ignore, None, Path(order.trace)),
            inbox=order.alerts,
        )
        self._host.tell = self._told
        self._host.on_started = self._started
        self._output = FdWriter(self._host.loop, 1, _ignore)
        self._is_useful = False

    def run(self) -> int:
        """Returns the exit status: `NEVER_AGAIN` if another start would end in the same way."""
        host = self._host
        PipeReader(host.loop, 0, _no_input, lambda: host.request_stop("the end of its batch"))
        try:
            host.run()
            return 0 if self._is_useful or host.phase is HostPhase.CUT_SHORT else NEVER_AGAIN
        except CannotServeError as error:
            self._told(HostEvent("failed", str(error), "error"))
            return NEVER_AGAIN
        finally:
            host.loop.run_until(lambda: self._output.is_flushed, host.loop.clock() + FLUSH_S)
            host.close()

    def _started(self) -> None:
        """Waits until the extensions have started or failed, and tells the batch which are shared. Guards and leases
        are known only then: an extension that turns out to be private is stopped."""
        host = self._host
        assert host.attach is not None
        host.supervisor.settle(host.loop.clock() + SETTLE_S, lambda: host.phase is not HostPhase.SERVING)
        if host.phase is not HostPhase.SERVING:
            return
        modes = host.attach.modes()
        private = {name: why for name, (mode, why) in modes.items() if mode == "private"}
        shared, leased = (tuple(name for name in modes if modes[name][0] == each) for each in ("shared", "leased"))
        line = Serving(socket=str(host.attach.path), shared=shared, leased=leased, private=private)
        self._is_useful = line.is_useful
        self._say(line)
        for name in private:
            host.supervisor.find(name).handover.stop(UNSHARED, lambda _outcome: None)
        if not self._is_useful:
            host.request_stop("itself: no extension is shared")

    def _told(self, event: HostEvent) -> None:
        about, message = valid_text(event.extension), valid_text(event.message)
        self._say(Told(level=event.level, event=event.event, message=message, extension=about))

    def _say(self, line: FromHost) -> None:
        self._output.write(encode(line))


def _no_input(_data: bytes) -> None:
    """The batch sends nothing after its order."""


def _ignore(_reason: str) -> None:
    """The batch has gone: the end of descriptor 0 says so, too."""


def read_order() -> HostOrder | None:
    """The order on descriptor 0; None if the batch has gone before."""
    data = b""
    while not data.endswith(b"\n") and len(data) < ORDER_LIMIT:
        more = os.read(0, 65536)
        if not more:
            return None
        data += more
    return decode_order(data)


def main() -> int:
    """Returns the exit status."""
    try:
        order = read_order()
        return 0 if order is None else BatchHost(order).run()
    except (ConfigError, msgspec.DecodeError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return NEVER_AGAIN


if __name__ == "__main__":
    sys.exit(main())
