"""Shared by the commands of `zot mcp`: the two files, options, and the exit."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.choices import CommandLineError
from cli.dialogue import say
from cli.duration import limit_from
from cli.help.completion import mcp_servers
from cli.os_errors import exit_with

if TYPE_CHECKING:
    from collections.abc import Callable


class McpScope(Enum):
    """Which of the two files an entry is in. The values are the words of `--scope`."""

    user = "user"
    project = "project"


class McpError(Exception):
    """A command cannot do its work: status 1. The text names the file and what is wrong."""


Scope = Annotated[
    McpScope,
    typer.Option("-s", "--scope", help="user: for you, in all projects. project: for everybody who has this folder."),
]
OnlyScope = Annotated[
    McpScope | None,
    typer.Option("-s", "--scope", help="Only the entry of this scope. Default: both scopes.", show_default=False),
]
ServerName = Annotated[str, typer.Argument(metavar="NAME", help="The name of the server.", autocompletion=mcp_servers)]
Force = Annotated[bool, typer.Option("--force", help="Replace the entry that has this name.")]


def doing(command: str, run: Callable[[], int]) -> None:
    """Runs a command and exits with its status. An error gives one line and status 1, misuse status 2."""

    def guarded() -> int:
        from supervisor.home.config import ConfigError
        from wire.exit_codes import Status
        from wire.text import one_line

        try:
            return run()
        except McpError as error:
            say(f"zot mcp {command}: {one_line(str(error), 4000)}")
            return Status.ERROR.exit_code
        except ConfigError as error:
            say(f"zot mcp {command}: {one_line(str(error), 4000)}")
            return Status.USAGE.exit_code
        except KeyboardInterrupt:
            say(f"zot mcp {command}: interrupted")
            return Status.INTERRUPTED.exit_code

    exit_with(f"mcp {command}", guarded)


def seconds(flag: str, text: str) -> float:
    """A time limit in seconds. Raises `CommandLineError`."""
    try:
        return limit_from(text)
    except ValueError as error:
        raise CommandLineError(f"{flag}: {error}") from None


def file_of(scope: McpScope) -> Path:
    """The file of a scope, for the current folder."""
    from supervisor.discovery.discover import mcp_file
    from supervisor.discovery.found import Scope
    from supervisor.home.zot_home import zot_home

    return mcp_file(Scope.PROJECT if scope is McpScope.project else Scope.GLOBAL, Path.cwd(), zot_home())


def shown(text: str, limit: int = 2000) -> str:
    """Untrusted text on one line for a terminal."""
    from wire.text import one_line

    return one_line(text.encode("utf-8", "replace").decode(), limit)
