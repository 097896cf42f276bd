"""`zot mcp serve`: serves the extensions of a host of its own, or of one that runs already."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from cli.choices import CommandLineError, LogFormat, LogLevel, project_folder
from cli.hosts.find import close, connect, listed, survey
from cli.hosts.host import check_files, checked
from cli.mcp.stdio import Stdio
from cli.version import VERSION
from supervisor.control.client import HostError
from supervisor.discovery.admission import Consent
from supervisor.home.config import ConfigError
from supervisor.home.zot_home import zot_home
from supervisor.host import STOP_SIGNALS, CannotServeError, Host, HostEvent, Phase
from supervisor.loop.loop import Loop
from supervisor.mcp_server.host_source import HostSource
from supervisor.mcp_server.own_source import OwnSource
from supervisor.monitoring.stats_error import StatsFileError
from supervisor.process import fd_limit
from wire import control
from wire.exit_codes import Status

if TYPE_CHECKING:
    import signal

    from supervisor.control.client import ControlClient

BY_HAND = "an MCP client is expected on stdin; Ctrl-D ends. To set one up: zot mcp serve --help"


@dataclass(frozen=True)
class Serving:
    """The flags of the command."""

    extensions: tuple[str, ...] = ()
    discover: bool = True
    cwd: str | None = None
    trust_project: bool = False
    host: str | None = None
    watch: bool = False
    strict_guards: bool = False
    stats_file: str | None = None
    stats_interval_s: float | None = None
    metrics_file: str | None = None
    openmetrics: bool = False
    log_format: LogFormat = LogFormat.console
    log_level: LogLevel = LogLevel.info


NOT_OF_A_RUNNING_HOST = {
    "extensions": "--ext", "discover": "--no-ext", "cwd": "--cwd", "trust_project": "--trust-project",
    "watch": "--watch", "strict_guards": "--strict-guards", "stats_file": "--stats",
    "stats_interval_s": "--stats-interval", "metrics_file": "--metrics", "openmetrics": "--openmetrics",
}  # fmt: skip
"""The flags that belong to the start of a host, by field."""


def run_serve(flags: Serving) -> int:
    """Returns the exit status. Raises `CommandLineError`, `HostError` and `OSError`."""
    if flags.host is None:
        return _serve_own(flags)
    for each in fields(flags):
        if each.name in NOT_OF_A_RUNNING_HOST and getattr(flags, each.name) != each.default:
            name = NOT_OF_A_RUNNING_HOST[each.name]
            raise CommandLineError(f"{name} has no effect with --host: it is a flag for the start of that host")
    return _serve_running(flags, flags.host)


# --- a host of its own ------------------------------------------------------------------------------------------


def _serve_own(flags: Serving) -> int:
    fd_limit.check_least()
    check_files(flags.stats_file, flags.metrics_file, flags.stats_interval_s, openmetrics=flags.openmetrics)
    try:
        host = Host(
            version=VERSION,
            extensions=checked("--ext", flags.extensions),
            discover_more=flags.discover,
            cwd=checked("the working folder", (project_folder(flags.cwd),))[0],
            home=Path(checked("zot's folder ($ZOT_HOME)", (str(zot_home()),))[0]),
            strict_guards=flags.strict_guards,
            stats_file=None if flags.stats_file is None else Path(flags.stats_file).absolute(),
            metrics_file=None if flags.metrics_file is None else Path(flags.metrics_file).absolute(),
            stats_interval_s=flags.stats_interval_s,
            openmetrics=flags.openmetrics,
            kind="mcp",
            consent=Consent(whole_project=flags.trust_project),
            watch_files=flags.watch,
        )
    except (ConfigError, StatsFileError) as error:
        raise CommandLineError(str(error)) from None
    stdio = Stdio(host.loop, flags.log_format, flags.log_level)
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
    if os.isatty(0):
        stdio.log(HostEvent("waiting", BY_HAND))
    try:
        phase = host.run()
        _tell_end(stdio, host.stopped_by, faults)
        if phase is Phase.CUT_SHORT:
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


# --- a host that runs already -----------------------------------------------------------------------------------


def _serve_running(flags: Serving, named: str) -> int:
    client = connect(int(named)) if named.isdecimal() else _host_in(named)
    info = client.ask(control.Info(client.next_id()), control.HostInfoReply)
    if info.kind == "run":
        raise HostError(f"host {info.pid} is an agent's run, whose extensions serve its agent; start a zot host")
    loop = Loop()
    stdio = Stdio(loop, flags.log_format, flags.log_level)
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
    if os.isatty(0):
        stdio.log(HostEvent("waiting", BY_HAND))
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
