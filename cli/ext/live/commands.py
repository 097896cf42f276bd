"""`zot ext status`, `stats`, `logs`, `restart` and `call`, as typer sees them. Their work is imported when a
command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.os_errors import exit_with
from cli.parameters import HostOption, Json, Name, NameOrAll


def register(app: typer.Typer) -> None:
    app.command("status")(ext_status)
    app.command("stats")(ext_stats)
    app.command("logs")(ext_logs)
    app.command("restart")(ext_restart)
    app.command("call")(ext_call)


def ext_status(name: Name, pid: HostOption = None, as_json: Json = False) -> None:
    """Show the state of an extension on one screen.

    It shows the state with its reason and time, the use and limits, the tools and commands, the calls under way, and
    the last log lines; also for an extension that is disabled, or that no host has.

    Exit status: 0 it works or is starting, 1 it does not, or no host can be asked, 2 no such extension.

    Examples:
        zot ext status guard                     for a person
        zot ext status guard --json | jq .state  for a program
    """
    from cli.ext.live.status import run_status

    exit_with("ext status", lambda: run_status(name, pid, as_json=as_json))


def ext_stats(name: Name, pid: HostOption = None, as_json: Json = False) -> None:
    """Show all figures of one extension.

    Exit status: 0 shown, 1 no host can be asked, 2 no such extension.

    Examples:
        zot ext stats guard                    state, use, calls, latency
        zot ext stats guard --json | jq .p99_ms   the same for a program
    """
    from cli.ext.live.stats import run_stats

    exit_with("ext stats", lambda: run_stats(name, pid, as_json=as_json))


def ext_restart(name: Name, pid: HostOption = None, as_json: Json = False) -> None:
    """End an extension's processes and start it again.

    This also starts an extension that the host has given up.

    Exit status: 0 the restart has begun, 1 no host can be asked, 2 no such extension.

    Examples:
        zot ext restart guard                in the only host that has it
        zot ext restart guard --host 4242    in the host with this pid
    """
    from cli.ext.live.stats import run_restart

    exit_with("ext restart", lambda: run_restart(name, pid, as_json=as_json))


def ext_logs(
    name: NameOrAll = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with new lines until Ctrl-C.")] = False,
    lines: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--lines",
            help="Show the last LINES lines. Default: 50, with --since or --run all.",
            metavar="LINES",
            min=0,
            show_default=False,
        ),
    ] = None,
    timestamps: Annotated[
        bool, typer.Option("-t", "--timestamps", help="Print its time, its level and its run before each line.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            help="Show only lines of the last 10m, 2h …, or since a moment such as 2026-11-22T10:30.",
            metavar="TIME",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        int | None,
        typer.Option(help="Show only lines of the run or host with this pid, see zot runs.", metavar="PID", min=1),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the log of an extension, or without NAME those of all, merged by time, each line after its name.

    A log has what the extension wrote to stderr, its log frames, and notes of the host. It also can be shown when no
    host runs. With a NAME, and without -t, --since and --json, it is shown byte for byte. Without one -f also follows
    logs that appear later.

    Exit status: 0 shown, 1 a log cannot be read or there is none, 2 there is no such log, 130 interrupted.

    Examples:
        zot ext logs guard                  the last 50 lines
        zot ext logs guard -n 5 -f          the last five, and what comes
        zot ext logs guard -t --since 10m   those of ten minutes, with time, level and pid of the run
        zot ext logs guard --run 4711       those of one run
        zot ext logs -f                     all extensions, and what comes
        zot ext logs -t --since 10m         all, with times
    """
    from cli.ext.live.logs import run_logs

    exit_with(
        "ext logs",
        lambda: run_logs(
            name, follow=follow, lines=lines, timestamps=timestamps, since=since, run=run, as_json=as_json
        ),
    )


def ext_call(
    name: Name,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="One of its tools, see zot ext status NAME.")],
    args: Annotated[str, typer.Argument(metavar="[JSON]", help="The arguments, a JSON object; - reads stdin.")] = "{}",
    pid: HostOption = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            help="Give up after DURATION, such as 90s or 5m. Default: the tool's own limit.",
            metavar="DURATION",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Call a tool of an extension in a running host, and print its result.

    No guard is asked: the call is yours, not a model's. Ctrl-C cancels it.

    Exit status: 0 answered, 1 the tool failed or no host can be asked, 2 no such tool or arguments that do not fit its
    schema, 6 --timeout ran out, 130 interrupted.

    Examples:
        zot ext call todo todo_manage '{"action": "list"}'   with these arguments
        zot ext call todo todo_manage - < args.json          with those in a file
    """
    from cli.ext.live.call import run_call

    exit_with("ext call", lambda: run_call(name, tool, args, pid, timeout=timeout, as_json=as_json))
