"""`zot ext schema`."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("schema")(ext_schema)


def ext_schema(
    name: Annotated[str | None, typer.Argument(help="manifest, or one of the names that the command lists.")] = None,
    as_json: Annotated[  # noqa: ARG001
        bool, typer.Option("--json", help="Changes nothing: a schema is JSON.")
    ] = False,
) -> None:
    """Print a JSON Schema of what extensions read and write: the manifest and each frame. Without NAME, list them.

    Exits 2 for a name that there is not.

    Example: [bold]zot ext schema manifest > extension.schema.json[/bold]
    """
    from cli.ext_commands.schema_names import run_schema

    raise SystemExit(run_schema(name))
