"""The command line of `zot batch TASKS -o RUNDIR`, as typer sees it."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from cli.batch.completion import task_files
from cli.choices import CommandLineError
from cli.run.flags import with_flags
from wire.flags.batch import BATCH


@with_flags(BATCH)
def batch(
    ctx: typer.Context,
    tasks: Annotated[
        str | None,
        typer.Argument(
            metavar="TASKS",
            help="A file of tasks: JSONL, or CSV with --template. - is stdin.",
            autocompletion=task_files,
        ),
    ] = None,
    **_flags: Any,
) -> None:
    if ctx.invoked_subcommand is not None:
        return
    if tasks is None:
        raise CommandLineError("TASKS is missing: a file with one task a line, as in zot batch tasks.jsonl -o runs")
    if not ctx.params["output"]:
        raise CommandLineError(f"-o RUNDIR is missing: the folder of the batch, as in zot batch {tasks} -o runs")
    from cli.batch.arguments import arguments_from
    from cli.batch.run import run_batch

    sys.exit(run_batch(arguments_from(ctx.params)))
