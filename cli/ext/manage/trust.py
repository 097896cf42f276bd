"""`zot ext trust`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.help.completion import project_extensions
from cli.os_errors import exit_with
from cli.parameters import Cwd


def register(app: typer.Typer) -> None:
    app.command("trust")(ext_trust)


def ext_trust(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FOLDER]",
            help="One extension, of the project or of yours.",
            autocompletion=project_extensions,
        ),
    ] = None,
    project: Annotated[bool, typer.Option("--project", help="All of this project's extensions.")] = False,
    cwd: Cwd = None,
    listing: Annotated[bool, typer.Option("--list", help="Show what is trusted, and what waits for it.")] = False,
    revoke: Annotated[
        str | None,
        typer.Option(
            "--revoke",
            metavar="NAME",
            help="Trust it no longer; a name or a folder.",
            autocompletion=project_extensions,
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, also on a terminal.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines: JSON lines; does not ask.")] = False,
) -> None:
    """Let an extension of a project run, as it is now.

    Shows what would run, asks, and records it. Starts nothing. A change of any of its files takes that back, until it
    is trusted again. Off a terminal nothing is asked: that you name it is enough.

    Alone it shows all of this project's extensions that wait for it, and asks about each; off a terminal it only shows
    them.

    Exit status: 0 done or nothing waits, 1 one still waits, cannot be read or the answer was no, 2 no such extension or
    usage, 130 interrupted.

    Examples:
        zot ext trust                      what waits, one after another
        zot ext trust guard                look at one, and trust it
        zot ext trust --project --yes      all of this project, without a question
        zot ext trust --revoke guard       trust it no longer
        zot ext trust --list               what is trusted, and what waits
    """
    from cli.ext.manage.trust_actions import run_trust

    exit_with(
        "ext trust",
        lambda: run_trust(what, project=project, cwd=cwd, listing=listing, revoke=revoke, yes=yes, as_json=as_json),
    )
