"""`zot ext test`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.os_errors import exit_with
from cli.parameters import Json


def register(app: typer.Typer) -> None:
    app.command("test")(ext_test)


def ext_test(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The extension's folder.")] = ".",
    scripts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCRIPT...", help="Default: PATH/tests/*.jsonl, or PATH/test*.jsonl.", show_default=False
        ),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(
            "--record",
            metavar="FILE",
            help="Say the host's lines of one SCRIPT, and write down the conversation as a new script.",
        ),
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", help="For each thing that it is to say.", min=0.01, max=86400)
    ] = 10.0,
    cwd: Annotated[
        str | None,
        typer.Option("--cwd", metavar="DIR", help="The project that it is told of. Default: an empty folder."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Drive an extension with scripted conversations, and compare what it says.

    Each script is run with a new process, and a new empty folder for its state. Where there is none, only the handshake
    and the shutdown are tried. Exits 0 if all passed, 1 if one failed, 2 if nothing could be run.

    Example: [bold]zot ext test ./hello[/bold]
    """
    from cli.ext.author.run_scripts import ScriptsRequest, run_test

    request = ScriptsRequest(path, tuple(scripts or ()), record, wait, cwd, as_json)
    exit_with("ext test", lambda: run_test(request))
