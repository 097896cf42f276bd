"""`zot mcp serve` as typer sees it. Its work is imported when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.choices import LogFormat, LogLevel
from cli.help.completion import hosts
from cli.hosts.flags import (
    AllowAsked,
    Extensions,
    LogFormatFlag,
    LogLevelFlag,
    McpConfigs,
    Metrics,
    NoExt,
    OpenMetrics,
    Stats,
    StatsInterval,
    StrictGuards,
    TrustProject,
    Watch,
)
from cli.os_errors import exit_with
from cli.parameters import Cwd

if TYPE_CHECKING:
    from cli.hosts.request import HostRequest


def register(app: typer.Typer) -> None:
    """Adds the command to `zot mcp`."""
    app.command("serve")(serve)


def serve(
    ctx: typer.Context,
    ext: Extensions = None,
    no_ext: NoExt = False,
    mcp_config: McpConfigs = None,
    cwd: Cwd = None,
    trust_project: TrustProject = False,
    host: Annotated[
        str | None,
        typer.Option(
            "--host",
            help="Serve the extensions of a zot host that runs: its pid, or its folder.",
            metavar="PID|DIR",
            autocompletion=hosts,
        ),
    ] = None,
    watch: Watch = False,
    strict_guards: StrictGuards = False,
    allow_asked: AllowAsked = False,
    stats: Stats = None,
    stats_interval: StatsInterval = None,
    metrics: Metrics = None,
    openmetrics: OpenMetrics = False,
    log_format: LogFormatFlag = LogFormat.console,
    log_level: LogLevelFlag = LogLevel.info,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Only errors on stderr.")] = False,
) -> None:
    """Serve the tools of extensions to an MCP client, such as Claude Code, Codex or an editor.

    The client starts this command (claude mcp add zot -- zot mcp serve -q) and talks to it on stdin and stdout;
    messages go to stderr. Each extension is a supervised process, as in zot host: it has limits and an account, and is
    started again after a crash. Guards judge every call and its result. Slash commands become prompts. The agent's
    built-in tools are not served. zot ps, zot top and zot ext stats show the server.

    The first list of tools waits until all extensions have started, 5 s at most, but for required ones as long as they
    may take. The client is told of later ones. When stdin ends, calls that are under way still get their answers, for
    30 s at most; then the extensions stop in order.

    Exit status: 0 stdin has ended, or zot stop or a signal has stopped it; 1 the client does not read, or the host of
    --host is gone; 2 usage; 9 a required extension did not start; 130 stopped at once by a second signal.

    Examples:
        zot mcp serve                         the installed extensions, and the project's trusted ones
        zot mcp serve --no-ext -e ./weather   one extension alone
        zot mcp serve -q --host .             those of the zot host in this folder
    """
    from dataclasses import replace

    from cli.hosts.request import host_request

    request = host_request(ctx.params)
    if quiet:
        request = replace(request, log_level=LogLevel.error)
    exit_with("mcp serve", lambda: _run(request, host))


def _run(request: HostRequest, host: str | None) -> int:
    if host is not None:
        from cli.mcp.serving import serve_running

        return serve_running(request, host)
    from cli.mcp.serving import serve_own

    return serve_own(request)
