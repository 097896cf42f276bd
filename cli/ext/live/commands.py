"""`zot ext stats`, `restart` and `logs`, as typer sees them. Their work is imported when a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.os_errors import exit_with
from cli.parameters import HostOption, Json, Name


def register(app: typer.Typer) -> None:
    app.command("stats")(ext_stats)
    app.command("restart")(ext_restart)
    app.command("logs")(ext_logs)


def ext_stats(name: Name, pid: HostOption = None, as_json: Json = False) -> None:
    """Show all figures of one extension.

    Exit status: 0, 1 no host can be asked, 2 no such extension.

    Example: [bold]zot ext stats guard[/bold]
    """
    from cli.ext.live.stats import run_stats

    exit_with("ext stats", lambda: run_stats(name, pid, as_json=as_json))


def ext_restart(name: Name, pid: HostOption = None, as_json: Json = False) -> None:
    """End an extension's processes and start it again, also when it has been given up.

    Exit status: 0 as soon as the host has begun, 1 no host can be asked, 2 no such extension.

    Example: [bold]zot ext restart guard[/bold]
    """
    from cli.ext.live.stats import run_restart

    exit_with("ext restart", lambda: run_restart(name, pid, as_json=as_json))


def ext_logs(
    name: Name,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with what comes, until Ctrl-C.")] = False,
    lines: Annotated[
        int, typer.Option("-n", "--lines", help="How many of the last lines.", metavar="LINES", min=0)
    ] = 50,
    as_json: Json = False,
) -> None:
    """Show what an extension has written to its standard error, also when no host runs.

    Exit status: 0, 1 it cannot be read, 2 there is no such log, 130 interrupted.

    Example: [bold]zot ext logs guard -f[/bold]
    """
    from cli.ext.live.logs import run_logs

    exit_with("ext logs", lambda: run_logs(name, follow=follow, lines=lines, as_json=as_json))
