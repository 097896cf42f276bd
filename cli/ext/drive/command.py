"""`zot ext drive`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.os_errors import exit_with


def register(app: typer.Typer) -> None:
    app.command("drive")(ext_drive)


def ext_drive(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The extension's folder.")] = ".",
    record: Annotated[
        str | None,
        typer.Option("--record", metavar="FILE", help="Write the conversation as a script for zot ext test."),
    ] = None,
    wait: Annotated[
        float,
        typer.Option("--wait", metavar="SECONDS", help="For each answer, when stdin is a pipe.", min=0.01, max=86400),
    ] = 10.0,
    cwd: Annotated[
        str | None,
        typer.Option("--cwd", metavar="DIR", help="The project that it is told of. Default: the current folder."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the conversation in the format of scripts.")] = False,
) -> None:
    """Start an extension, shake hands, and talk to it by hand; both directions of the wire are shown.

    At the prompt: [bold]tool NAME {json}[/bold] calls a tool, [bold]/name args[/bold] a command,
    [bold]event NAME {json}[/bold] tells of an event, [bold]ask NAME {json}[/bold] asks for a verdict,
    [bold]key PANEL KEY[/bold] presses a key, [bold]{"type": …}[/bold] sends a frame as it stands; also help and quit.
    From a pipe it takes one of these a line, and waits for each answer. State goes to a temporary folder. Exits 0, or 1
    if the extension failed or an answer did not come, 2 if nothing could be run.

    Example: [bold]echo 'tool shout {"text": "hi"}' | zot ext drive ./hello[/bold]
    """
    from cli.ext.drive.session import DriveRequest, run_drive

    exit_with("ext drive", lambda: run_drive(DriveRequest(path, record, wait, cwd, as_json)))
