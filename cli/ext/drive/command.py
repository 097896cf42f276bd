"""`zot ext drive`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.os_errors import exit_with


def register(app: typer.Typer) -> None:
    app.command("drive")(ext_drive)


def ext_drive(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="The extension's folder. Default: this one.", show_default=False)
    ] = ".",
    record: Annotated[
        str | None,
        typer.Option("--record", metavar="FILE", help="Write the conversation as a script for zot ext test."),
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            "--wait",
            metavar="SECONDS",
            help="Seconds to wait for each answer when stdin is a pipe.",
            min=0.01,
            max=86400,
        ),
    ] = 10.0,
    cwd: Annotated[
        str | None,
        typer.Option("--cwd", metavar="DIR", help="The project that it is told of. Default: the current folder."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the conversation in the format of scripts.")] = False,
) -> None:
    """Start an extension and talk to it by hand.

    Shows each frame in both directions. From a pipe it takes one line after the other, and waits for each answer. The
    extension keeps its state in a temporary folder.

    At the prompt:
        tool NAME {json}     call a tool
        /NAME args           run a slash command
        event NAME {json}    tell of an event
        ask NAME {json}      ask for a verdict
        key PANEL KEY        press a key in a panel
        {"type": …}          send this frame as it is
        help, quit

    Exit status: 0 ended, 1 the extension failed or did not answer, 2 nothing could be run.

    Examples:
        zot ext drive ./hello                                          with a prompt
        zot ext drive ./hello --record new.jsonl                       keep it as a test script
        echo 'tool shout {"text": "hi"}' | zot ext drive ./hello       from a pipe
    """
    from cli.ext.drive.session import DriveRequest, run_drive

    exit_with("ext drive", lambda: run_drive(DriveRequest(path, record, wait, cwd, as_json)))
