"""`zot ext history`, as typer sees it."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.help.completion import past_extensions
from cli.os_errors import exit_with
from cli.parameters import Json, Newest, Since  # noqa: TC001  (typer reads the annotations)


def register(app: typer.Typer) -> None:
    app.command("history")(ext_history)


def ext_history(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The extension's name.", autocompletion=past_extensions)],
    since: Since = None,
    most: Newest = None,
    as_json: Json = False,
) -> None:
    """Show how often an extension fell in past runs, when and why.

    The first line has its runs, starts, restarts and exits, and its falls by kind: crashes, hangs, limits, no verdicts.
    A line for each fall follows, the newest first, with the number of its black box, see zot runs show. Of the runs of
    a batch only falls are known.

    Exit status: 0 shown, 1 failed, 2 no run has had an extension of this name.

    Examples:
        zot ext history guard                                     all that is known
        zot ext history guard --since 7d                          of a week
        zot ext history guard --json | jq -r '.falls[].cause'     for a program
    """
    from cli.runs.history import show_history

    exit_with("ext history", lambda: show_history(name, since=since, most=most, as_json=as_json))
