"""`zot ext schema`."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from cli.help.completion import schemas
from cli.os_errors import exit_with
from cli.parameters import Json
from wire.exit_codes import Status
from wire.schema import definitions, render
from wire.suggest import not_one_of


def register(app: typer.Typer) -> None:
    app.command("schema")(ext_schema)


def ext_schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="manifest, or a frame. Default: list all names.",
            autocompletion=schemas,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the JSON Schema of the manifest or of a frame.

    With --json each is on one line: the schema, or a name with its title.

    Exit status: 0 printed, 1 failed, 2 there is no schema of that name.

    Examples:
        zot ext schema                                     the names of all schemas
        zot ext schema manifest > extension.schema.json    the manifest's, for an editor
    """

    exit_with("ext schema", lambda: run_schema(name, as_json=as_json))


def run_schema(name: str | None, *, as_json: bool) -> int:
    """Prints one schema, or all names; returns the exit status, 2 for an unknown name. `name` may lack `frame.`."""
    known = {key: title for key, (_kind, title) in definitions().items() if key.startswith(("manifest", "frame."))}
    if name is None:
        for key, title in known.items():
            print(json.dumps({"name": key, "title": title}) if as_json else f"{key:34} {title}")  # noqa: T201
        return 0
    full = name if name in known else f"frame.{name}"
    if full not in known:
        short = [key.removeprefix("frame.") for key in known]
        print(f"zot ext schema: {not_one_of(name, short)}", file=sys.stderr)  # noqa: T201
        return Status.USAGE.exit_code
    text = render(full)
    sys.stdout.write(json.dumps(json.loads(text)) + "\n" if as_json else text)
    return 0
