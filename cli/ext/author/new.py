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
    copilot = "copilot"


def register(app: typer.Typer) -> None:
    app.command("new")(ext_new)


def ext_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the new extension: letters, digits, '-' and '_'.")],
    lang: Annotated[Language, typer.Option("--lang", "-l", help="What it is written in.")] = Language.python,
    folder: Annotated[
        str,
        typer.Option("--dir", metavar="DIR", help="Where the folder NAME is made. Default: here.", show_default=False),
    ] = ".",
    as_json: Json = False,
) -> None:
    """Make a new extension that works, with a test.

    It has a tool, a slash command, and a script for zot ext test. Python and TypeScript get a copy of the SDK, so
    nothing has to be installed; sh needs jq; Go has to be built. With copilot it is an extension.mjs for the Copilot
    CLI and for zot, with a tool; it needs Node and the SDK from npm.

    Exit status: 0 made, 1 it cannot be written, 2 the name cannot be used or the folder is there already.

    Examples:
        zot ext new hello                                in Python
        zot ext new hello --lang typescript              in JavaScript that is checked as TypeScript
        zot ext new hello --lang sh --dir extensions     in extensions/hello
        zot ext new hello --lang copilot                 an extension.mjs for the Copilot CLI
    """
    from cli.ext.author.new_folder import run_new

    exit_with("ext new", lambda: run_new(name, lang.value, folder, as_json=as_json))
