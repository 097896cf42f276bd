"""`zot ext doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.help.completion import installed_extensions
from cli.os_errors import exit_with
from cli.parameters import Json


def register(app: typer.Typer) -> None:
    app.command("doctor")(ext_doctor)


def ext_doctor(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|PATH]...",
            help="Default: all installed ones.",
            show_default=False,
            autocompletion=installed_extensions,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Really start extensions, shake hands, call nothing, stop them, and say what is wrong and what to do.

    A few are tried at a time; one that hangs costs its own deadlines. Extensions of a project that is not trusted are
    not started. Exits 0 if none failed, 1 if one failed, 2 for a name that nobody has.

    Example: [bold]zot ext doctor[/bold], or [bold]zot ext doctor ./hello --json | jq .findings[/bold]
    """
    from cli.ext.author.doctor_report import run_doctor

    exit_with("ext doctor", lambda: run_doctor(tuple(targets or ()), as_json=as_json))
