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
        int | None,
        typer.Option(
            "-n",
            "--lines",
            help="How many of the last lines. Default: 50, with --since all.",
            metavar="LINES",
            min=0,
            show_default=False,
        ),
    ] = None,
    timestamps: Annotated[
        bool, typer.Option("-t", "--timestamps", help="Before each line when it came, and its level.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            help="Only lines that came in the last 10m, 2h …, or since a moment such as 2026-11-22T10:30.",
            metavar="TIME",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show an extension's log, also when no host runs: what it wrote to its standard error, its log frames, and what
    the host noted. Without -t, --since and --json byte for byte.

    Exit status: 0, 1 it cannot be read, 2 there is no such log, 130 interrupted.

    Example: [bold]zot ext logs guard -f[/bold], or [bold]zot ext logs guard -t --since 10m[/bold]
    """
    from cli.ext.live.logs import run_logs

    exit_with(
        "ext logs",
        lambda: run_logs(name, follow=follow, lines=lines, timestamps=timestamps, since=since, as_json=as_json),
    )
