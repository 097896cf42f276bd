"""Tells `zot batch TASKS -o RUNDIR` from `zot batch status RUNDIR`: the first word is a command or the tasks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from cli.help.command_classes import LazyGroup
from wire.suggest import did_you_mean

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter


class BatchGroup(LazyGroup):
    """A group that has flags of its own, those of `cli.batch.command`, read at the first use."""

    modules = (
        ("Batches", (
            "cli.batch.folder.status", "cli.batch.folder.results", "cli.batch.folder.retry", "cli.batch.folder.logs",
        )),
    )  # fmt: skip

    def __init__(self, **attributes: Any) -> None:
        self._flags: list[Parameter] | None = None
        super().__init__(**attributes)

    @property
    def params(self) -> list[Parameter]:
        if self._flags is None:
            app = typer.Typer()
            app.callback(invoke_without_command=True)(import_module("cli.batch.command").batch)
            run = typer.main.get_group(app)
            self._flags, self.callback = run.params, run.callback
        return self._flags

    @params.setter
    def params(self, _none: list[Parameter]) -> None:
        """typer's own assignment: the group in `cli.batch` has no flags."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """In the name of a command, `zot batch status`, the argument has no place."""
        found = super().get_params(ctx)
        return found if ctx.command is self else [param for param in found if param.param_type_name != "argument"]

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if args and args[0] in self.list_commands(ctx):
            ctx._protected_args, ctx.args = args[:1], args[1:]
            return ctx.args
        ctx.allow_interspersed_args = True
        first = next((word for word in args if not word.startswith("-")), "")
        super().parse_args(ctx, args)
        more = [*ctx._protected_args, *ctx.args]
        ctx._protected_args, ctx.args = [], []
        if more and not ctx.resilient_parsing:
            hint = did_you_mean(first, self.list_commands(ctx))
            ctx.fail(f"one file of tasks at a time: {more[0]!r} is one more" + (f" ({hint})" if hint else ""))
        return []

    def collect_usage_pieces(self, ctx: Context) -> list[str]:  # noqa: ARG002
        return ["TASKS -o RUNDIR [OPTIONS] | COMMAND RUNDIR [ARGS]..."]

    def format_usage(self, ctx: Context, formatter: Any) -> None:
        formatter.write_usage(ctx.command_path, self.collect_usage_pieces(ctx)[0])
