"""`zot runs` and `zot ext history`: what the traces of past runs tell, by `supervisor.traces.trace_reader`. Their work
is imported when a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.choices import CommandLineError
from cli.help.command_classes import HelpTyper
from cli.help.completion import runs
from cli.os_errors import exit_with
from cli.parameters import Json, Newest, Since  # noqa: TC001  (typer reads the annotations)

HELP = """\
List the runs of the past, the newest first: when, how each ended, and which extensions fell.

Each run, batch, zot host and zot mcp serve leaves a trace under $ZOT_HOME/runs, unless it has --no-trace. An extension
falls when it crashes, hangs, is over its limits, is given up, or gives no verdict. A run without an end was killed.

Exit status: 0 listed, also an empty list; 1 failed; 2 usage.

Examples:
    zot runs                                   the last 50
    zot runs --failed --since 1d               those of a day that were killed or did not end with status 0
    zot runs --extension guard                 those in which guard fell
    zot runs --json | jq -c .falls             how often each extension fell in each
    zot runs show last                         all about the newest one
"""
RunId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The id of a run, its beginning, its pid, or last: the newest.", autocompletion=runs
    ),
]
runs_app = HelpTyper(invoke_without_command=True, help=HELP)


@runs_app.callback()
def _runs(
    ctx: typer.Context,
    failed: Annotated[
        bool, typer.Option("--failed", help="List only runs that were killed, or did not end with status 0.")
    ] = False,
    extension: Annotated[
        str | None,
        typer.Option("--extension", metavar="NAME", help="List only runs in which this extension fell."),
    ] = None,
    since: Since = None,
    most: Newest = None,
    as_json: Json = False,
) -> None:
    if ctx.invoked_subcommand is not None:
        if failed or as_json or (extension, since, most) != (None, None, None):
            raise CommandLineError(f"flags of the list stand without {ctx.invoked_subcommand}, or behind it")
        return
    from cli.runs.list import list_runs

    exit_with("runs", lambda: list_runs(failed=failed, extension=extension, since=since, most=most, as_json=as_json))


@runs_app.command("show")
def show(run: RunId, as_json: Json = False) -> None:
    """Show all about a run: its flags, the waits at its start, each fall, and the use of its extensions.

    It names the logs of the extensions that fell and the files kept of them, with the command that reads each.

    Exit status: 0 shown, 1 its trace cannot be read, 2 there is no such run.

    Examples:
        zot runs show last                               the newest run
        zot runs show 20261128-1911                      the only run that began in this minute
        zot runs show last --json | jq '.falls[0].cause'   for a program
    """
    from cli.runs.show import show_run

    exit_with("runs show", lambda: show_run(run, as_json=as_json))
