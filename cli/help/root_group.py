"""Parses the command line of `zot`: a prompt with flags, or a sub-command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.help.command_classes import HelpGroup
from cli.resume_flag import with_value

if TYPE_CHECKING:
    from typer._click.core import Context


FIRST = "First steps"
MODELS = "Models and keys"
EXTENSIONS = "Extensions"
SESSIONS = "Sessions"
BATCHES = "Batches"
HOSTS = "Running hosts"
FILES = "Files"
RPC = "rpc"
"""The sub-command that is short for the flag `--rpc`."""
LITERAL = "zot.literal"
"""Key in a context's meta: whether `--` ended the flags. After `--`, a prompt like `/name` is text, not a command."""


class RootGroup(HelpGroup):
    """A sub-command must be the first word: `zot demo` runs one, but `zot --json demo` sends the prompt "demo".

    `zot rpc` takes the flags of a run, and is read as `zot --rpc`, but for its help.

    Without a sub-command, flags may stand before and after the words of the prompt, and `--` ends the flags.
    """

    panels = (FIRST, MODELS, EXTENSIONS, SESSIONS, BATCHES, HOSTS, FILES)
    """The titles above its commands, in the order of the help."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if args[:1] == [RPC] and not {"-h", "--help"} & set(args):
            args = [f"--{RPC}", *args[1:]]
        if not args or args[0] in self.commands:
            return super().parse_args(ctx, args)
        valued = {name for option in self.params if not getattr(option, "is_flag", True) for name in option.opts}
        args = with_value(args, valued)
        ctx.allow_interspersed_args = True
        ctx.meta[LITERAL] = "--" in args
        words = super().parse_args(ctx, args)
        ctx.obj = [*ctx._protected_args, *words]
        ctx._protected_args = []
        ctx.args = []
        return []

    def format_usage(self, ctx: Context, formatter: Any) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] [PROMPT]... | COMMAND [ARGS]...")

    def collect_usage_pieces(self, ctx: Context) -> list[str]:  # noqa: ARG002
        return ["[OPTIONS] [PROMPT]... | COMMAND [ARGS]..."]
