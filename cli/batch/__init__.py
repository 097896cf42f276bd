"""`zot batch`: runs the tasks of a file, and shows their results. `command` has the flags; `folder` has
the commands about the folder of a batch, `evaluation` the figures of repeated and compared batches, and `output` the
display of a running batch.

Only `zot batch` imports the modules, when it runs or shows its help.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from cli.help.command_classes import HelpTyper, LazyGroup
from wire.suggestions import did_you_mean

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter

HELP = """\
Run many prompts, each in its own process, and lose none.

TASKS is a file with a task on each line, a JSON object with at least a prompt (zot schema batch.task), or a CSV file
with --template; - is stdin. RUNDIR keeps everything: the journal, the results, and the events of every run. The same
command once more resumes where the batch stopped: what is done stays done, and interrupted tasks are run again.

The first word is a command below or TASKS: a file with the name of a command is given as ./status.

On a terminal the progress is shown; p pauses, q drains (running tasks end, no new ones start), Q stops. The first
Ctrl-C drains, too, and the second stops; SIGTERM and SIGHUP stop at once.

Examples:
    zot batch tasks.jsonl -o runs -j 8                               each line is a task
    zot batch table.csv --template "Translate: {text}" -o runs       a task from each row
    zot batch tasks.jsonl -o runs --max-cost-usd 20 --deadline 2h    no new starts beyond these
    zot batch tasks.jsonl -o runs --redo failed                      the failed ones once more
    zot batch tasks.jsonl -o runs --workspace copy                   each in its own copy of the project
    zot batch tasks.jsonl -o runs --repeat 5 --score ./grade.sh      each five times, with a score
    zot batch tasks.jsonl -o runs --engine ray                       on all machines of a cluster
    zot batch tasks.jsonl -o runs --json | jq -c .type               all events of all runs
    zot batch status runs                                            how it is now
    zot batch ctl runs jobs 8                                        eight at a time from now on
    zot batch results runs --format csv                              what came of each task
    zot batch compare runs-a runs-b                                  which is better, dearer, slower

Exit status: 0 all tasks are ok, 1 the batch itself failed, 2 bad tasks or flags, 10 a task is not ok or was not run,
130 interrupted.
"""


class BatchGroup(LazyGroup):
    """Tells `zot batch TASKS -o RUNDIR` from `zot batch status RUNDIR`: the first word is a command or the tasks. The
    flags of the group are those of `cli.batch.command`, read at the first use."""

    modules = (
        ("Batches", (
            "cli.batch.folder.status", "cli.batch.folder.results", "cli.batch.folder.retry", "cli.batch.folder.logs",
            "cli.batch.folder.ctl", "cli.batch.folder.list", "cli.batch.folder.score", "cli.batch.folder.compare",
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
        """typer's own assignment: the group itself has no flags."""

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


batch_app = HelpTyper(cls=BatchGroup, invoke_without_command=True, no_args_is_help=True, help=HELP)


@batch_app.callback()
def _root() -> None:
    """A callback makes typer build a group; the group has the flags of `command`."""
