"""Shared by the commands of `zot mcp`: the two files, and options."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from cli.help.completion import mcp_servers


class McpScope(Enum):
    """Which of the two files an entry is in. The values are the words of `--scope`."""

    user = "user"
    project = "project"


Scope = Annotated[
    McpScope,
    typer.Option(
        "-s",
        "--scope",
        help="Write it for you, in all projects (user), or for everybody who has this folder (project).",
    ),
]
OnlyScope = Annotated[
    McpScope | None,
    typer.Option("-s", "--scope", help="Take only the entry of this scope. Default: both scopes.", show_default=False),
]
ServerName = Annotated[str, typer.Argument(metavar="NAME", help="The name of the server.", autocompletion=mcp_servers)]
Force = Annotated[bool, typer.Option("--force", help="Replace the entry that has this name.")]


def file_of(scope: McpScope) -> Path:
    """The file of a scope, for the current folder."""
    from supervisor.discovery.discover import mcp_file
    from supervisor.discovery.found_extension import Scope
    from supervisor.home.zot_home import zot_home

    return mcp_file(Scope.PROJECT if scope is McpScope.project else Scope.GLOBAL, Path.cwd(), zot_home())
