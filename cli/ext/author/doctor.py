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
    """Start extensions for a moment, and say what is wrong.

    Each is started, greeted and stopped; nothing of it is called. A few are tried at a time; one that hangs delays no
    other. Extensions of a project that are not trusted are not started.

    Exit status: 0 none failed, 1 one failed, 2 no extension has that name.

    Examples:
        zot ext doctor                                 all installed ones
        zot ext doctor ./hello                         the one in this folder
        zot ext doctor ./hello --json | jq .findings   for a program
    """
    from cli.ext.author.doctor_report import run_doctor

    exit_with("ext doctor", lambda: run_doctor(tuple(targets or ()), as_json=as_json))
