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
            help="One extension, of the project or of the user.",
            autocompletion=project_extensions,
        ),
    ] = None,
    project: Annotated[bool, typer.Option("--project", help="Trust all extensions of this project.")] = False,
    cwd: Cwd = None,
    listing: Annotated[
        bool, typer.Option("--list", help="List the extensions that are trusted, and those that wait for it.")
    ] = False,
    revoke: Annotated[
        str | None,
        typer.Option(
            "--revoke",
            metavar="NAME",
            help="Trust this extension no longer; a name or a folder.",
            autocompletion=project_extensions,
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, also on a terminal.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, for other programs; do not ask.")] = False,
) -> None:
    """Let an extension of a project run, as it is now.

    It shows the program that would run, asks, and records the answer. It starts nothing. A change of any file of the
    extension ends the trust, until you trust it again. Off a terminal it does not ask: naming the extension is enough.

    Without arguments it shows all of this project's extensions that wait for trust, and asks about each; off a terminal
    it only shows them.

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
