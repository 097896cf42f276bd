"""`zot ext test`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.os_errors import exit_with
from cli.parameters import Json


def register(app: typer.Typer) -> None:
    app.command("test")(ext_test)


def ext_test(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="The extension's folder. Default: this one.", show_default=False)
    ] = ".",
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
    update: Annotated[
        bool, typer.Option("--update", help="Write into each SCRIPT what the extension says now.")
    ] = False,
    wait: Annotated[
        float,
        typer.Option(
            "--wait", metavar="SECONDS", help="Seconds to wait for each thing that it is to say.", min=0.01, max=86400
        ),
    ] = 10.0,
    cwd: Annotated[
        str | None,
        typer.Option("--cwd", metavar="DIR", help="The project that it is told of. Default: an empty folder."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Play test scripts with an extension, and compare its answers.

    Each script has a process of its own, with an empty folder for its state and a project with the files that the
    script names. Without a script only the handshake and the shutdown are tried. With --update a script whose run fails
    stays as it was.

    Exit status: 0 all passed, 1 one failed, 2 nothing could be run, 130 interrupted.

    Examples:
        zot ext test ./hello                              all scripts in hello/tests
        zot ext test . tests/first.jsonl                  only this one
        zot ext test . --update                           take the new answers into the scripts
        zot ext test . asked.jsonl --record new.jsonl     make a script from the host's lines
    """
    from cli.ext.author.run_scripts import ScriptsRequest, run_test

    request = ScriptsRequest(path, tuple(scripts or ()), record, update, wait, cwd, as_json)
    exit_with("ext test", lambda: run_test(request))
