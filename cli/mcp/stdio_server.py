"""The work of `zot mcp serve`: the client's pipes, of which stdout is the protocol's alone, and a host of its own or
one that runs already."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agent.output.fd_writer import FdWriter
from agent.rpc.stdin_lines import StdinLines
from cli.choices import CommandLineError
from cli.hosts.find import connect, host_list, keep_only, survey
from cli.hosts.host import begin_telemetry, check_flags, make_host
from cli.hosts.host_log import HostLog
from cli.version import VERSION
from supervisor.control.client import ControlError
from supervisor.host import CannotServeError, HostPhase
from supervisor.host_event import HostEvent
from supervisor.loop.loop import STOP_SIGNALS, Loop
from supervisor.mcp_server.host_source import HostSource
from supervisor.mcp_server.server import LINE_LIMIT, McpServer
from supervisor.mcp_server.supervisor_source import SupervisorSource
from wire import control
from wire.exit_codes import Status
from wire.flags.host import OF_THE_START
from wire.mcp_server.offer import instructions
from wire.mcp_server.session import ServedSession

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping

    from supervisor.control.client import ControlClient
    from supervisor.mcp_server.source import ExtensionSource


BY_HAND = "an MCP client is expected on stdin; Ctrl-D ends. To set one up: zot mcp serve --help"
FLUSH_S = 2.0
"""Seconds for the client to read the last answers."""


class Stdio:
    """The server's ends of the client's pipes, and stderr as a log. Raises `CommandLineError` without stdin or stdout.

    All other output of this process goes to stderr."""

    def __init__(self, loop: Loop, flags: Mapping[str, Any]) -> None:
        try:
            os.fstat(0)
            self._fd = os.dup(1)
        except OSError:
            raise CommandLineError("stdin or stdout is closed; an MCP client talks to the server by both") from None
        self._loop = loop
        try:
            os.dup2(2, 1)
        except OSError:  # there is no stderr
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        self._stderr = FdWriter(loop, 2, _ignore, lossy=True)
        self.log = HostLog.of(flags, self._stderr.write)

    def serve(self, source: ExtensionSource, on_end: Callable[[str, bool], None]) -> McpServer:
        """Begins to read the client's lines; all happens in the loop."""
        session = ServedSession(
            VERSION, lambda: instructions(source.extensions, source.instructions), lambda: source.is_described
        )
        server = McpServer(self._loop, session, source, on_end)
        self._stdout = FdWriter(self._loop, self._fd, server.on_gone)
        self._stdin = StdinLines(self._loop, 0, server.on_line, server.on_end_of_input, LINE_LIMIT)
        server.attach(self._stdin, self._stdout)
        self._stdin.start()
        if os.isatty(0):
            self.log(HostEvent("waiting", BY_HAND))
        return server

    def close(self) -> None:
        """Lets the client read what waits for it, for `FLUSH_S` at most."""
        self._stdin.stop()
        until = self._loop.clock() + FLUSH_S
        self._loop.run_until(lambda: self._stdout.is_flushed and self._stderr.is_flushed, until)
        self._stdout.close()
        self._stderr.close()


def _ignore(_reason: str) -> None:
    """The server does not depend on a reader of its stderr."""


def serve_own(flags: Mapping[str, Any]) -> int:
    """Returns the exit status. Raises `CommandLineError` and `OSError`."""
    host = make_host(flags, check_flags(flags, "mcp"), "mcp")
    stdio = Stdio(host.loop, flags)
    source = SupervisorSource(host.supervisor)
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
    telemetry = begin_telemetry(host, flags, "mcp", server.context_of)
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
        if telemetry is not None:
            telemetry.close(at_once=host.phase is HostPhase.CUT_SHORT)
        stdio.close()
        host.close()


def _tell_end(stdio: Stdio, by: str, faults: list[str]) -> None:
    fields = {"pid": os.getpid()}
    if faults:
        stdio.log(HostEvent("stopped", faults[0], "error", fields=fields))
    else:
        stdio.log(HostEvent("stopped", f"by {by}", fields=fields))


def serve_running(flags: Mapping[str, Any], named: str) -> int:
    """Returns the exit status. Raises `CommandLineError`, `ControlError` and `OSError`."""
    _check(flags)
    client = connect(int(named)) if named.isdecimal() else _host_in(named)
    info = client.ask(control.Info(client.next_id()), control.HostInfoReply)
    if info.kind == "run":
        raise ControlError(f"host {info.pid} is an agent's run, whose extensions serve its agent; start a zot host")
    loop = Loop()
    stdio = Stdio(loop, flags)
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


def _check(flags: Mapping[str, Any]) -> None:
    """Raises `CommandLineError` for flags that have no effect with --host."""
    for flag in OF_THE_START:
        if flags[flag.name] not in (None, False, ()):
            raise CommandLineError(f"{flag.long} has no effect with --host: it is a flag for the start of that host")


def _host_in(folder: str) -> ControlClient:
    """The only host, not a run, that works in this folder. Raises `ControlError` and `CommandLineError`."""
    wanted = os.path.realpath(folder)
    if not os.path.isdir(wanted):
        raise CommandLineError(f"--host {folder}: neither the pid of a host, see zot ps, nor a folder")
    found = survey()
    there = [
        host
        for host in found
        if host.info is not None and host.info.kind == "host" and os.path.realpath(host.info.cwd) == wanted
    ]
    if (chosen := keep_only(there, found)) is not None:
        return chosen
    if there:
        raise CommandLineError(
            f"--host {folder}: {len(there)} hosts run there; name one by its pid: {host_list(there)}"
        )
    raise ControlError(f"no zot host runs in {wanted}; start one there: zot host")
