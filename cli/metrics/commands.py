"""`zot metrics`, as typer sees it. Its work is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.choices import HostKindName
from cli.help.root_group import HOSTS
from cli.os_errors import exit_with


def register(app: typer.Typer) -> None:
    """Adds the command to `zot`."""
    app.command("metrics", rich_help_panel=HOSTS)(metrics)


def metrics(
    listen: Annotated[
        str | None,
        typer.Option(
            help="Serve them at this address until Ctrl-C, at /metrics. The port 0 takes a free one.",
            metavar="HOST:PORT",
            show_default=False,
        ),
    ] = None,
    kinds: Annotated[
        list[HostKindName] | None,
        typer.Option(
            "--kind", help="Take only hosts of this kind; can be repeated. Default: all kinds.", show_default=False
        ),
    ] = None,
    openmetrics: Annotated[
        bool,
        typer.Option("--openmetrics", help="Print OpenMetrics text. With --listen the reader chooses the format."),
    ] = False,
) -> None:
    """Print the figures of all running hosts and runs as metrics for Prometheus, or serve them by HTTP.

    All hosts of this user are asked at the same time. One that does not answer within 1 s has zot_host_up 0, and holds
    up no other. With --listen, who reaches the address can read the figures: names and folders, but no contents.

    Exit status: 0 printed, or stopped by Ctrl-C or SIGTERM; 1 the address cannot be used; 2 usage.

    Examples:
        zot metrics                                       the figures of now
        zot metrics --listen 127.0.0.1:9469               for a Prometheus on this machine
        zot metrics --listen 127.0.0.1:9469 --kind host   without the short runs of the agent
    """
    from cli.metrics.print_or_serve import run_metrics

    wanted = [kind.value for kind in kinds or ()]
    exit_with("metrics", lambda: run_metrics(listen, wanted, openmetrics=openmetrics))
