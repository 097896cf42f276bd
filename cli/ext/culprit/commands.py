"""The commands that find out which extension did it, as typer sees them. Their work is imported when one runs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.help.completion import installed_extensions
from cli.os_errors import exit_with


def register(app: typer.Typer) -> None:
    app.command("torture")(ext_torture)


def ext_torture(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="The extension's folder, or its name, or that of an MCP server. Default: this folder.",
            show_default=False,
            autocompletion=installed_extensions,
        ),
    ] = ".",
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", help="Choose sizes and times by N. Default: a new one, shown.", min=0),
    ] = None,
    minutes: Annotated[
        float,
        typer.Option(
            "--minutes", metavar="M", help="Repeat the faults in random order for M minutes.", min=0.0, max=100_000.0
        ),
    ] = 0.0,
    least: Annotated[
        float,
        typer.Option("--min", metavar="SCORE", help="Fail below this score, 0 to 100.", min=0.0, max=100.0),
    ] = 100.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON line for each fault, and a last one with the score.")
    ] = False,
) -> None:
    """Provoke more than seventy faults around an extension, and say which of them it stands.

    It calls the extension's tools: always the same one, a tool that only reads if there is one, with arguments made
    from its schema; else a guard or a command. The project and the data folder are scratch folders. The processes are
    killed, stopped, cut off and flooded; each fault has processes of its own, four faults at a time. A fault that does
    not apply does not count. docs/torture.md has all faults, with what a good extension does.

    Exit status: 0 the score is at least --min, 1 it is below, or the extension does not work without any fault, 2 no
    extension has that name, or usage, 130 interrupted.

    Examples:
        zot ext torture ./hello                         all faults once, in less than a minute
        zot ext torture ./hello --seed 7                the same once more, if 7 was shown
        zot ext torture ./hello --minutes 30            for half an hour, in random order
        zot ext torture files --min 90 --json           an MCP server, for a program
    """
    from cli.ext.culprit.torture import TortureRequest, run_torture

    request = TortureRequest(path, seed, minutes, least, as_json)
    exit_with("ext torture", lambda: run_torture(request))
