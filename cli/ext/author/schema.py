"""`zot ext schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.exits import exit_with
from cli.parameters import Json


def register(app: typer.Typer) -> None:
    app.command("schema")(ext_schema)


def ext_schema(
    name: Annotated[str | None, typer.Argument(help="manifest, or one of the names that the command lists.")] = None,
    as_json: Json = False,
) -> None:
    """Print a JSON Schema of what extensions read and write: the manifest and each frame. Without NAME, list them.

    With --json each is on a line of its own: the schema, or a name with its title.

    Exit status: 0, 1 failed, 2 for a name that there is not.

    Example: [bold]zot ext schema manifest > extension.schema.json[/bold]
    """
    from cli.ext.author.schema_names import run_schema

    exit_with("ext schema", lambda: run_schema(name, as_json=as_json))
