"""`zot host`: a command with flags of its own, and a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.choices import CommandLineError
from cli.help.command_classes import LazyGroup

if TYPE_CHECKING:
    from typer._click.core import Context


class HostGroup(LazyGroup):
    """A sub-command must be the first word, and its flags follow it. All else is the command `zot host` itself."""

    modules = (("As a service", ("cli.service.commands",)),)

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        is_first = bool(args) and args[0] in self.list_commands(ctx)
        words = super().parse_args(ctx, args)
        given = ctx._protected_args
        if given and not is_first and not ctx.resilient_parsing and given[0] in self.list_commands(ctx):
            error = CommandLineError(f"{given[0]} goes before its flags: zot host {given[0]} …")
            error.command = ctx.command_path
            raise error
        return words

    def collect_usage_pieces(self, ctx: Context) -> list[str]:  # noqa: ARG002
        return ["[OPTIONS] | COMMAND [ARGS]..."]
