"""The commands about running hosts, as typer sees them. Their work is imported when a command runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.help.command_classes import HelpTyper
from cli.help.completion import hosts
from cli.help.root_group import HOSTS
from cli.os_errors import exit_with
from cli.parameters import Json
from cli.run.flags import with_flags
from cli.service.host_group import HostGroup
from wire.flags.host import DETACH, HOST

if TYPE_CHECKING:
    from pathlib import Path

Pid = Annotated[
    int | None,
    typer.Argument(
        metavar="[PID]",
        help="The pid of the host, see zot ps. Default: the only one, or the only zot host.",
        min=1,
        autocompletion=hosts,
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the commands to `zot`."""
    group = HelpTyper(cls=HostGroup, invoke_without_command=True)
    group.callback()(host)
    app.add_typer(group, name="host", rich_help_panel=HOSTS)
    app.command("ps", rich_help_panel=HOSTS)(ps)
    app.command("top", rich_help_panel=HOSTS)(top)
    app.command("stop", rich_help_panel=HOSTS)(stop)


@with_flags((DETACH, *HOST))
def host(ctx: typer.Context, **_flags: Any) -> None:
    """Keep extensions running without an agent, for other programs.

    Other programs reach them over a socket. The host stays until zot stop, Ctrl-C or SIGTERM, and then stops the
    extensions in order; a second Ctrl-C stops them at once. SIGHUP reloads them all, unless the terminal has gone.

    With -d it goes to the background when every extension is ready or has failed, and prints where its log is.

    Exit status: 0 stopped, or with -d ready; 130 stopped at once, 1 the host cannot serve, 2 usage, 9 a required
    extension is missing.

    Examples:
        zot host                                  the installed extensions
        zot host -e ./guard --watch               also guard, reloaded when its files change
        zot host --no-ext -e ./guard -d           guard alone, in the background
        zot host install --user                   a service that starts with your session
    """
    if ctx.invoked_subcommand is not None:
        return
    from cli.hosts.host import run_host

    flags = dict(ctx.params)
    goes_to_background = flags.pop("detach")
    exit_with("host", lambda: run_host(flags, _detach if goes_to_background else None))


def _detach(home: Path) -> int | None:
    from cli.service.detach import detach  # most hosts do not load it

    return detach(home)


def ps(
    everything: Annotated[
        bool, typer.Option("-a", "--all", help="List the last 20 runs that have ended, too; zot runs has all.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the hosts that run: zot host, and every run of the agent.

    With --json it also prints the socket, the start and the version of each; an ended run is printed as by zot runs.

    Exit status: 0 listed, also if no host runs; 1 failed.

    Examples:
        zot ps                         a line for each host
        zot ps -a                      also the last runs, with their outcomes
        zot ps --json | jq -r .socket  only their sockets
    """
    exit_with("ps", lambda: _ps(everything=everything, as_json=as_json))


def _ps(*, everything: bool, as_json: bool) -> int:
    from cli.hosts.ps import run_ps

    if not everything:
        return run_ps(as_json=as_json)
    from cli.runs.ended_runs import ended_runs

    return run_ps(as_json=as_json, ended=ended_runs())


def top(
    pid: Pid = None,
    once: Annotated[bool, typer.Option("--once", help="Print one table and end, as without a terminal.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures once, as one line of JSON.")] = False,
    sort: Annotated[
        str,
        typer.Option(
            help="Sort by name, state, cpu, rss, peak, procs, fds, in, out, calls, errors, timeouts, blocks, p50, p99,"
            " restarts or since.",
            metavar="KEY",
        ),
    ] = "cpu",
    reverse: Annotated[bool, typer.Option("--reverse", help="Sort in the opposite order.")] = False,
    text: Annotated[
        str, typer.Option("--filter", help="Show only extensions with TEXT in their name or state.", metavar="TEXT")
    ] = "",
    interval: Annotated[
        float, typer.Option(help="Wait SECONDS between two samples.", metavar="SECONDS", min=0.1, max=86_400)
    ] = 1.0,
) -> None:
    """Show what each extension of a host uses and does, live. Press ? there for the keys.

    Exit status: 0 after q or when the host has ended, 130 after Ctrl-C, 1 no such host, 2 usage.

    Examples:
        zot top                                             the only host that runs
        zot top 4242 --sort errors                          the host with this pid, most errors first
        zot top --once --json | jq '.extensions | keys'     the names of its extensions
    """
    from cli.top.command import run_top

    exit_with(
        "top",
        lambda: run_top(pid, once=once, as_json=as_json, sort=sort, reverse=reverse, text=text, interval_s=interval),
    )


def stop(pid: Pid = None) -> None:
    """Stop a host and all its extensions in order.

    It waits until the host is gone, 10 s at most.

    Exit status: 0 it is gone, 1 no such host or it is still there, 2 usage.

    Examples:
        zot stop          the only host that runs
        zot stop 4242     the host with this pid
    """
    from cli.hosts.stop import run_stop

    exit_with("stop", lambda: run_stop(pid))
