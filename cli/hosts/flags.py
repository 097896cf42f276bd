"""The flags that `zot host` has, and `zot mcp serve`, which starts a host of its own, has too."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.choices import LogFormat, LogLevel

Extensions = Annotated[
    list[str] | None,
    typer.Option("-e", "--ext", help="Start the extension in this folder; repeatable.", metavar="DIR"),
]
McpConfigs = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp-config",
        help="Start the MCP servers of this file, too, which has the form of .mcp.json; repeatable.",
        metavar="FILE",
    ),
]
NoExt = Annotated[
    bool, typer.Option("--no-ext", "--no-extensions", help="Start only those named with --ext and --mcp-config.")
]
TrustProject = Annotated[
    bool,
    typer.Option(
        "--trust-project", help="Start the project's extensions and MCP servers although they are not trusted."
    ),
]
Watch = Annotated[bool, typer.Option("--watch", help="Reload an extension when its files change.")]
StrictGuards = Annotated[
    bool, typer.Option("--strict-guards", help="A guard that gives no verdict (crash, timeout) denies.")
]
AllowAsked = Annotated[
    bool,
    typer.Option(
        "--allow-asked",
        help="Allow what guards want a person to decide. Default: it is refused, since nobody is asked.",
    ),
]
Stats = Annotated[
    str | None,
    typer.Option(help="Append what everything costs, for zot report; 64 MiB at most, in four files.", metavar="FILE"),
]
StatsInterval = Annotated[
    float | None,
    typer.Option(
        help="Between two lines of --stats. Default: 10.", metavar="SECONDS", min=0.25, max=3600, show_default=False
    ),
]
Metrics = Annotated[
    str | None,
    typer.Option(help="Keep a file of metrics up to date, for node_exporter's textfile collector.", metavar="FILE"),
]
OpenMetrics = Annotated[bool, typer.Option("--openmetrics", help="Write --metrics as OpenMetrics text.")]
LogFormatFlag = Annotated[
    LogFormat, typer.Option("--log-format", help="Of the events on stderr: lines for a person, or JSON.")
]
LogLevelFlag = Annotated[LogLevel, typer.Option("--log-level", help="The lowest level that is written.")]
