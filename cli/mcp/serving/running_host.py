"""`zot mcp serve --host`: with the extensions of a host that runs already."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cli.choices import CommandLineError
from cli.hosts.find import close, connect, listed, survey
from cli.mcp.serving.stdio import Stdio
from supervisor.control.client import HostError
from supervisor.host import STOP_SIGNALS, HostEvent
from supervisor.loop.loop import Loop
from supervisor.mcp_server.host_source import HostSource
from wire import control
from wire.exit_codes import Status

if TYPE_CHECKING:
    import signal

    from cli.hosts.request import HostRequest
    from supervisor.control.client import ControlClient


def serve_running(request: HostRequest, named: str) -> int:
    """Returns the exit status. Raises `CommandLineError`, `HostError` and `OSError`."""
    request.check_for_running_host()
    client = connect(int(named)) if named.isdecimal() else _host_in(named)
    info = client.ask(control.Info(client.next_id()), control.HostInfoReply)
    if info.kind == "run":
        raise HostError(f"host {info.pid} is an agent's run, whose extensions serve its agent; start a zot host")
    loop = Loop()
    stdio = Stdio(loop, request.log_format, request.log_level)
    reasons: list[tuple[str, bool]] = []
    signals: list[signal.Signals] = []

    def ended(reason: str, is_fault: bool) -> None:
        reasons.append((reason, is_fault))

    source = HostSource(loop, client.release(), info, lambda reason: ended(reason, True))
    server = stdio.serve(source, ended)
    source.start()
    stdio.log(
        HostEvent("serving", f"{len(info.extensions)} extensions of host {info.pid}", fields={"pid": os.getpid()})
    )
    with loop.signals(STOP_SIGNALS, signals.append):
        loop.run_until(lambda: bool(reasons or signals))
        reason, is_fault = reasons[0] if reasons else (signals[0].name, False)
        server.end(f"the server is stopping: {reason}")
        stdio.log(HostEvent("stopped", reason if is_fault else f"by {reason}", "error" if is_fault else "info"))
        stdio.close()
    source.close()
    loop.close()
    return Status.ERROR.exit_code if is_fault else 0


def _host_in(folder: str) -> ControlClient:
    """The only host, not a run, that works in this folder. Raises `HostError` and `CommandLineError`."""
    wanted = os.path.realpath(folder)
    if not os.path.isdir(wanted):
        raise CommandLineError(f"--host {folder}: neither the pid of a host, see zot ps, nor a folder")
    found = survey()
    there = [
        host
        for host in found
        if host.info is not None and host.info.kind == "host" and os.path.realpath(host.info.cwd) == wanted
    ]
    chosen = there[0].client if len(there) == 1 else None
    close(host.client for host in found if host.client is not chosen)
    if chosen is not None:
        return chosen
    if there:
        raise CommandLineError(f"--host {folder}: {len(there)} hosts run there; name one by its pid: {listed(there)}")
    raise HostError(f"no zot host runs in {wanted}; start one there: zot host")
