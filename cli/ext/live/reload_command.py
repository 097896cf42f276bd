"""`zot ext reload`: new versions of the extensions of a running host."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.exits import exit_with
from cli.parameters import HostOption, Json


def register(app: typer.Typer) -> None:
    app.command("reload")(ext_reload)


def ext_reload(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Of the extension. Without it: all.", show_default=False)
    ] = None,
    pid: HostOption = None,
    as_json: Json = False,
) -> None:
    """Start a new version of an extension, of all without a name, and let it take over once it is ready.

    The old version answers until then, and finishes what it was asked. One that does not start changes nothing.

    Exit status: 0 done, 1 a new version did not start or there is no such host, 2 usage.

    Example: [bold]zot ext reload guard[/bold], or [bold]zot ext reload --json | jq .outcome[/bold]
    """
    from cli.ext.live.reload import run_reload

    exit_with("ext reload", lambda: run_reload(name, pid, as_json=as_json))
