"""The commands of `zot ext`. Only `zot ext` imports their modules, when it runs a command or shows its help; other
commands start without them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from cli.help.command_classes import HelpGroup, HelpTyper

if TYPE_CHECKING:
    from typer._click.core import Command, Context

MODULES = (
    "author.new", "author.test", "drive.command", "author.doctor", "author.schema", "manage.install", "manage.list",
    "manage.info", "manage.update", "manage.enable", "manage.remove", "manage.trust",
    "live.reload", "live.commands",
)  # fmt: skip
"""Modules of this package, each with `register(app)`, in the order of the help: writing, managing, running."""
HELP = """\
Write, test, install and manage extensions; look at those that run.

Examples:
    zot ext new hello                a new extension in the folder hello
    zot ext test hello               play its test scripts
    zot ext install ./hello          install it for all projects
    zot ext list                     what is installed
    zot ext logs hello -f            what it writes to stderr
"""


class ExtGroup(HelpGroup):
    """Imports its commands at the first use."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._loaded = False

    def _load(self) -> None:
        if not self._loaded:
            self._loaded = True
            app = HelpTyper()
            app.callback()(_nothing)
            for module in MODULES:
                import_module(f"cli.ext.{module}").register(app)
            self.commands.update(typer.main.get_group(app).commands)

    def list_commands(self, ctx: Context) -> list[str]:
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        self._load()
        return super().get_command(ctx, cmd_name)


def _nothing() -> None:
    """With a callback, typer builds a group even for a single command."""


ext_app = HelpTyper(cls=ExtGroup, no_args_is_help=True, help=HELP)


@ext_app.callback()
def _root() -> None:
    """A callback makes typer build a group."""
