"""The commands about running hosts, as typer sees them. What they do is imported when one is run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

Pid = Annotated[
    int | None,
    typer.Argument(metavar="[PID]", help="Which host, see zot ps. Default: the only one, or the only zot host.", min=1),
]
HostOption = Annotated[
    int | None,
    typer.Option("--host", metavar="PID", help="Which host. Default: the only one that has it.", min=1),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the extension.")]
Json = Annotated[bool, typer.Option("--json", help="For machines: JSON lines.")]

ext_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="rich", help="Look at one extension of a running host, or restart it."
)


def register(app: typer.Typer) -> None:
    """Adds the commands to `zot`."""
    app.command("host")(host)
    app.command("ps")(ps)
    app.command("top")(top)
    app.command("stop")(stop)
    app.add_typer(ext_app, name="ext")


def host(
    ext: Annotated[
        list[str] | None,
        typer.Option("-e", "--ext", help="Start the extension in this folder; repeatable.", metavar="DIR"),
    ] = None,
    no_ext: Annotated[bool, typer.Option("--no-ext", "--no-extensions", help="Only those named with --ext.")] = False,
    cwd: Annotated[str | None, typer.Option(help="The project's folder.", metavar="DIR")] = None,
    strict_guards: Annotated[
        bool, typer.Option("--strict-guards", help="A guard that gives no verdict (crash, timeout) denies.")
    ] = False,
    stats: Annotated[
        str | None, typer.Option(help="Append what everything costs to a file, as JSON lines.", metavar="FILE")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Keep a file in the OpenMetrics text format up to date.", metavar="FILE")
    ] = None,
) -> None:
    """Keep extensions running without an agent, and serve them to other programs over a socket.

    Stays until zot stop, Ctrl-C or SIGTERM, and then stops them in order; a second Ctrl-C stops them at once.

    Exit status: 0 stopped, 130 stopped at once, 1 nobody could reach it, 2 usage, 9 without a required extension.

    Example: [bold]zot host -e ./guard -e ./todo-count &[/bold], then [bold]zot top[/bold]
    """
    from cli.host import run_host

    _exit_with(
        "host",
        lambda: run_host(
            extensions=tuple(ext or ()),
            discover=not no_ext,
            cwd=cwd,
            strict_guards=strict_guards,
            stats_file=stats,
            metrics_file=metrics,
        ),
    )


def ps(as_json: Json = False) -> None:
    """List the hosts that run: zot host, and every agent's run.

    Example: [bold]zot ps[/bold], or [bold]zot ps --json | jq .pid[/bold]
    """
    from cli.ps import run_ps

    _exit_with("ps", lambda: run_ps(as_json=as_json))


def top(
    pid: Pid = None,
    once: Annotated[bool, typer.Option("--once", help="Print one table; so it does without a terminal.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures once, as one line of JSON.")] = False,
    sort: Annotated[
        str,
        typer.Option(
            help="By name, state, cpu, rss, peak, procs, fds, in, out, calls, errors, timeouts, blocks, p50, p99,"
            " restarts or since.",
            metavar="KEY",
        ),
    ] = "cpu",
    reverse: Annotated[bool, typer.Option("--reverse", help="In the opposite order.")] = False,
    text: Annotated[
        str, typer.Option("--filter", help="Only those with this in their name or state.", metavar="TEXT")
    ] = "",
    interval: Annotated[float, typer.Option(help="Between two looks.", metavar="SECONDS", min=0.1, max=86_400)] = 1.0,
) -> None:
    """Show what each extension of a host uses and does, live. Press ? there for the keys.

    Exit status: 0 after q or when the host has ended, 130 after Ctrl-C, 1 no such host, 2 usage.

    Example: [bold]zot top --sort errors[/bold], or [bold]zot top --once --json | jq '.extensions | keys'[/bold]
    """
    from cli.top import run_top

    _exit_with(
        "top",
        lambda: run_top(pid, once=once, as_json=as_json, sort=sort, reverse=reverse, text=text, interval_s=interval),
    )


def stop(pid: Pid = None) -> None:
    """Stop a host and all its extensions in order, and wait until it is gone, 10 s at most.

    Example: [bold]zot stop[/bold], or [bold]zot stop 4242[/bold]
    """
    from cli.stop import run_stop

    _exit_with("stop", lambda: run_stop(pid))


@ext_app.command("stats")
def ext_stats(name: Name, pid: HostOption = None, as_json: Json = False) -> None:
    """Show all figures of one extension.

    Example: [bold]zot ext stats guard[/bold]
    """
    from cli.ext import run_stats

    _exit_with("ext stats", lambda: run_stats(name, pid, as_json=as_json))


@ext_app.command("restart")
def ext_restart(name: Name, pid: HostOption = None) -> None:
    """End an extension's processes and start it again, also when it has been given up.

    Example: [bold]zot ext restart guard[/bold]
    """
    from cli.ext import run_restart

    _exit_with("ext restart", lambda: run_restart(name, pid))


@ext_app.command("logs")
def ext_logs(
    name: Name,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with what comes, until Ctrl-C.")] = False,
    lines: Annotated[
        int, typer.Option("-n", "--lines", help="How many of the last lines.", metavar="LINES", min=0)
    ] = 50,
) -> None:
    """Show what an extension has written to its standard error, also when no host runs.

    Example: [bold]zot ext logs guard -f[/bold]
    """
    from cli.ext_logs import run_logs

    _exit_with("ext logs", lambda: run_logs(name, follow=follow, lines=lines))


def _exit_with(command: str, run: Callable[[], int]) -> None:
    """Runs it and exits with its status; a host that cannot be asked gets one line and status 1."""
    from supervisor.control_client import HostError
    from supervisor.logs import one_line

    try:
        status = run()
    except HostError as error:
        print(f"zot {command}: {one_line(str(error), 2000)}", file=sys.stderr)  # noqa: T201
        status = 1
    except BrokenPipeError:
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the flush at exit must not complain again
        status = 130
    sys.exit(status)
