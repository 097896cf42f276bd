"""Commands and groups for typer, with our help and our words for an unknown command."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer._click.core import Command
from typer.core import TyperCommand, TyperGroup

from cli.choices import CommandLineError
from cli.help.unknown_command import unknown_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer._click.core import Context


class _HelpMixin(Command):
    """Base of commands and groups that show help in this form."""

    def invoke(self, ctx: Context) -> Any:
        try:
            return super().invoke(ctx)
        except CommandLineError as error:
            error.command = error.command or ctx.command_path
            raise

    def format_help(self, ctx: Context, formatter: Any) -> None:
        from cli.help.page import render
        from cli.terminal import page_width, wants_style

        bold = wants_style()
        ctx.color = bold  # else typer removes what it takes for colour
        formatter.write(render(ctx, width=page_width(), bold=bold) + "\n")


class HelpCommand(_HelpMixin, TyperCommand):
    """A command with our help."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            if getattr(error, "ctx", ctx) is None:  # of a flag without its value; so that the error names the command
                error.ctx = ctx  # type: ignore[attr-defined]
            raise


class HelpGroup(_HelpMixin, TyperGroup):
    """A group of commands with our help."""

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            if ctx.resilient_parsing:  # completion of a word after an unknown command: there is nothing to offer
                return None, None, args[1:]
            raise unknown_command(ctx, args[0])
        return super().resolve_command(ctx, args)


class LazyGroup(HelpGroup):
    """A group that imports its commands at the first use, so that other commands start without them."""

    modules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Titles in the help, each with the modules of the commands below it. A module has `register(app)`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._loaded = False

    def _load(self) -> None:
        if not self._loaded:
            self._loaded = True
            for title, modules in self.modules:
                app = HelpTyper()
                app.callback()(_nothing)
                for module in modules:
                    import_module(module).register(app)
                found: dict[str, Any] = dict(typer.main.get_group(app).commands)
                for command in found.values():
                    command.rich_help_panel = title
                self.commands.update(found)

    def list_commands(self, ctx: Context) -> list[str]:
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        self._load()
        return super().get_command(ctx, cmd_name)


def _nothing() -> None:
    """With a callback, typer builds a group even for a single command."""


class HelpTyper(typer.Typer):
    """Registers commands that have our help."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"cls": HelpGroup, "rich_markup_mode": None, "pretty_exceptions_enable": False, **settings})

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:
        return super().command(name, **{"cls": HelpCommand, **settings})
