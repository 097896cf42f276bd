"""`zot mcp serve` with a host of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from cli.choices import CommandLineError, project_folder
from cli.hosts.host import check_files, checked
from cli.mcp.serving.stdio import Stdio
from cli.version import VERSION
from supervisor.discovery.admission import Consent
from supervisor.home.config import ConfigError
from supervisor.home.zot_home import zot_home
from supervisor.host import CannotServeError, Host, HostEvent, HostPhase
from supervisor.mcp_server.own_source import OwnSource
from supervisor.monitoring.stats_error import StatsFileError
from supervisor.process import fd_limit
from wire.exit_codes import Status

if TYPE_CHECKING:
    from cli.mcp.serving.flags import Serving


def serve_own(flags: Serving) -> int:
    """Returns the exit status. Raises `CommandLineError` and `OSError`."""
    fd_limit.check_least()
    check_files(flags.stats_file, flags.metrics_file, flags.stats_interval_s, openmetrics=flags.openmetrics)
    try:
        host = Host(
            version=VERSION,
            extensions=checked("--ext", flags.extensions),
            mcp_configs=checked("--mcp-config", flags.mcp_configs),
            discover_more=flags.discover,
            cwd=checked("the working folder", (project_folder(flags.cwd),))[0],
            home=Path(checked("zot's folder ($ZOT_HOME)", (str(zot_home()),))[0]),
            strict_guards=flags.strict_guards,
            allow_asked=flags.allow_asked,
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
