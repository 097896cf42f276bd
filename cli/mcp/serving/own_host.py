"""`zot mcp serve` with a host of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cli.hosts.host import make_host
from cli.mcp.serving.stdio import Stdio
from supervisor.host import CannotServeError, HostEvent, HostPhase
from supervisor.mcp_server.own_source import OwnSource
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Mapping


def serve_own(flags: Mapping[str, Any]) -> int:
    """Returns the exit status. Raises `CommandLineError` and `OSError`."""
    host = make_host(flags, "mcp")
    stdio = Stdio(host.loop, flags)
    source = OwnSource(host.supervisor)
    faults: list[str] = []

    def tell(event: HostEvent) -> None:
        stdio.log(event)
        if event.extension:
            source.on_log(event.level, event.extension, event.message)

    def ended(reason: str, is_fault: bool) -> None:
        faults.extend([reason] if is_fault else [])
        host.request_stop(reason)

    host.tell = tell
    server = stdio.serve(source, ended)
    host.on_stopping = lambda: server.end(f"the server is stopping: {host.missing or host.stopped_by}")
    host.loop.call_later(0, source.start)
    try:
        phase = host.run()
        _tell_end(stdio, host.stopped_by, faults)
        if phase is HostPhase.CUT_SHORT:
            return Status.INTERRUPTED.exit_code
        if host.missing:
            return Status.REQUIRED_EXTENSION.exit_code
        return Status.ERROR.exit_code if faults else 0
    except CannotServeError as error:
        stdio.log(HostEvent("failed", str(error), "error"))
        return Status.ERROR.exit_code
    finally:
        stdio.close()
        host.close()


def _tell_end(stdio: Stdio, by: str, faults: list[str]) -> None:
    fields = {"pid": os.getpid()}
    if faults:
        stdio.log(HostEvent("stopped", faults[0], "error", fields=fields))
    else:
        stdio.log(HostEvent("stopped", f"by {by}", fields=fields))
