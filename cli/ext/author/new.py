"""`zot ext new`."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from cli.os_errors import exit_with
from cli.parameters import Json


class Language(Enum):
    python = "python"
    typescript = "typescript"
    sh = "sh"
    go = "go"


def register(app: typer.Typer) -> None:
    app.command("new")(ext_new)


def ext_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, '-' and '_'.")],
    lang: Annotated[Language, typer.Option("--lang", "-l", help="What it is written in.")] = Language.python,
    folder: Annotated[
        str, typer.Option("--dir", metavar="DIR", help="Where its folder, called NAME, is made.", show_default=False)
    ] = ".",
    as_json: Json = False,
) -> None:
    """Make a working extension with a test of its own: a tool, a slash command, and a script for zot ext test.

    Nothing has to be installed for it: Python and TypeScript get a copy of the SDK, sh needs jq, Go is to be built.
    Exits 0, 1 if it cannot be written, 2 if the name will not do or the folder is there already.

    Example: [bold]zot ext new hello --lang python[/bold]
    """
    from cli.ext.author.new_folder import run_new

    exit_with("ext new", lambda: run_new(name, lang.value, folder, as_json=as_json))
