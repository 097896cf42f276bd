"""Parameters that several commands take."""

from __future__ import annotations

from math import isfinite
from typing import Annotated

import typer

from cli.choices import Preferred
from cli.help.completion import hosts, live_extensions


def finite(value: float | None) -> float | None:
    """The value of an option that is a number; nan and inf are none. Raises `typer.BadParameter`."""
    if value is not None and not isfinite(value):
        raise typer.BadParameter(f"{value} is not a number.")
    return value


HostOption = Annotated[
    int | None,
    typer.Option(
        "--host",
        metavar="PID",
        help="Ask the host with this pid, see zot ps. Default: the only host that has the extension.",
        min=1,
        autocompletion=hosts,
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The extension's name.", autocompletion=live_extensions)]
NameOrAll = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="The extension's name. Default: all of them.",
        autocompletion=live_extensions,
        show_default=False,
    ),
]
Cwd = Annotated[
    str | None,
    typer.Option("--cwd", help="Take this folder as the project's. Default: the current folder.", metavar="DIR"),
]
Prefer = Annotated[
    Preferred | None,
    typer.Option(help="Count this outcome if RUNDIRs contradict each other: the first, the last, or the first ok."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON lines, for other programs.")]
Since = Annotated[
    str | None,
    typer.Option(
        help="Take only runs of the last 12h, 1d …, or since a moment such as 2026-11-22T10:30.",
        metavar="TIME",
        show_default=False,
    ),
]
Newest = Annotated[
    int | None,
    typer.Option("-n", help="Show the newest N. Default: 50, with --json all.", metavar="N", min=1, show_default=False),
]
