"""`zot events`, as typer sees it. Its work is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.help.completion import hosts, past_extensions
from cli.help.root_group import HOSTS
from cli.os_errors import exit_with
from cli.parameters import Json


def register(app: typer.Typer) -> None:
    """Adds the command to `zot`."""
    app.command("events", rich_help_panel=HOSTS)(events)


def events(
    pid: Annotated[
        int | None,
        typer.Argument(
            metavar="[PID]",
            help="The pid of the host, see zot ps. Default: all hosts.",
            min=1,
            autocompletion=hosts,
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="Go on with what comes, also from hosts that start later.")
    ] = False,
    as_json: Json = False,
    since: Annotated[
        str | None,
        typer.Option(
            help="Show the events of the last 10m, 2h …, or since a moment such as 2026-11-22T10:30, also of hosts that"
            " have ended.",
            metavar="TIME",
            show_default=False,
        ),
    ] = None,
    extension: Annotated[
        str | None,
        typer.Option(
            help="Show only events of this extension.",
            metavar="NAME",
            autocompletion=past_extensions,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show what happened to the extensions of all running hosts and runs: starts, exits, limits, missing verdicts.

    The past is that of the hosts that run, from their traces. With -f a line follows for each further event, until
    Ctrl-C, or until the host PID has ended. A line has the time, the host's pid and kind, the event, the extension, and
    a text. With --json each is an object, see zot schema incident.

    Exit status: 0 shown, or the host PID has ended; 1 no such host; 2 usage, or no such extension; 130 after Ctrl-C,
    or when the reader of stdout has gone.

    Examples:
        zot events                                                the hosts that run
        zot events -f --since 1h                                  the last hour, and what comes
        zot events 4242 -f --extension guard                      one extension of one host
        zot events -f --json | jq 'select(.event == "failed")'    each that is given up
    """
    from cli.events.show import show_events

    exit_with("events", lambda: show_events(pid, follow=follow, as_json=as_json, since=since, extension=extension))
