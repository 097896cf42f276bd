"""The commands that find a fault, as typer sees them. Their work is imported when a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.os_errors import exit_with
from cli.parameters import HostOption, Json, Name


def register(app: typer.Typer) -> None:
    app.command("profile")(ext_profile)


def ext_profile(
    name: Name,
    seconds: Annotated[int, typer.Option(help="Sample for SECONDS.", metavar="SECONDS", min=1, max=600)] = 10,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the profile to this file. Default: a new file in $ZOT_HOME/runs.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    pid: HostOption = None,
    as_json: Json = False,
) -> None:
    """Show in which functions a running extension spends its time.

    It samples the busiest Python or Node process of the extension a hundred times a second, and the extension goes on
    meanwhile. Python needs py-spy: pip install 'pyzot[profile]'. The five functions with the most time of their own are
    printed; the file has all, for https://www.speedscope.app.

    Exit status: 0 shown, 1 it cannot be profiled or no host can be asked, 2 no such extension, 130 interrupted.

    Examples:
        zot ext profile guard                            for ten seconds
        zot ext profile guard --seconds 30 -o slow.json  for longer, into this file
    """
    from cli.ext.culprit.profile import run_profile

    exit_with("ext profile", lambda: run_profile(name, pid, seconds=seconds, output=output, as_json=as_json))
