"""`zot ext status`, `stats`, `logs`, `restart`, `stop`, `start`, `limit` and `call`, as typer sees them. Their work is
imported when a command runs."""

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
    app.command("stop")(ext_stop)
    app.command("start")(ext_start)
    app.command("limit")(ext_limit)
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


Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]


def ext_stop(name: Name, pid: HostOption = None, yes: Yes = False, as_json: Json = False) -> None:
    """Stop an extension of a running host, until zot ext start or the end of the host.

    Its calls under way fail, its tools and commands are withdrawn, and its processes are ended in order; the command
    waits for that. A reload of all extensions leaves it stopped. A guard is asked about first: while it is stopped it
    gives no verdict, and its on_failure decides, as after a crash.

    Exit status: 0 it is stopped, or you said no; 1 no host can be asked; 2 no such extension, or nobody to ask.

    Examples:
        zot ext stop indexer              in the only host that has it
        zot ext stop guard --yes          a guard, without a question
        zot ext stop guard --host 4242    in the host with this pid
    """
    from cli.ext.live.switch import run_stop

    exit_with("ext stop", lambda: run_stop(name, pid, yes=yes, as_json=as_json))


def ext_start(name: Name, pid: HostOption = None, as_json: Json = False) -> None:
    """Start an extension that is stopped, or that the host has given up.

    It runs as the host knows it; zot ext reload NAME starts it with a manifest that has changed.

    Exit status: 0 the start has begun, or it runs already; 1 no host can be asked; 2 no such extension.

    Examples:
        zot ext start indexer                in the only host that has it
        zot ext start indexer --host 4242    in the host with this pid
    """
    from cli.ext.live.switch import run_start

    exit_with("ext start", lambda: run_start(name, pid, as_json=as_json))


def ext_limit(
    name: Name,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LIMIT=VALUE]...",
            help="A limit of the manifest, as rss_mb=300; none removes it, default takes back what you have set.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Write it into config.json too, for all later starts everywhere.")
    ] = False,
    pid: HostOption = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Show the limits of an extension beside its use, or change them in a running host.

    A change holds at once and until the host ends; with --keep also for later hosts, runs and batches. It counts more
    than the manifest. If the extension uses more than that now, you are asked: it would be ended. The limits are
    rss_mb, cpu_percent (also cpu_pct), cpu_seconds, processes, open_files, frames_per_s, output_bytes, log_mb, file_mb,
    breaches and action.

    Exit status: 0 shown or changed, or you said no; 1 no host can be asked, or config.json cannot be written; 2 no such
    extension or limit, a value without sense, or nobody to ask.

    Examples:
        zot ext limit indexer                               each limit beside the use
        zot ext limit indexer rss_mb=300 cpu_pct=50         until the host ends
        zot ext limit indexer rss_mb=300 --keep             always
        zot ext limit indexer rss_mb=default --keep         as its manifest says
        zot ext limit indexer --json | jq '.limits[].used'  for a program
    """
    from cli.ext.live.limit import run_limit

    exit_with("ext limit", lambda: run_limit(name, words or [], pid, keep=keep, yes=yes, as_json=as_json))


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
