"""Parameters that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

HostOption = Annotated[
    int | None,
    typer.Option("--host", metavar="PID", help="Which host. Default: the only one that has it.", min=1),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the extension.")]
Json = Annotated[bool, typer.Option("--json", help="For machines: JSON lines.")]
