"""`zot batch`: runs the tasks of a file, and looks at what came of them. `group` tells the two apart; `command` has the
flags; `folder` has the commands about the folder of a batch, and `output` what a running batch shows.

Only `zot batch` imports the modules, when it runs or shows its help.
"""

from __future__ import annotations

from cli.batch.group import BatchGroup
from cli.help.command_classes import HelpTyper

HELP = """\
Run many prompts, each in its own process, and lose none.

TASKS is a file with a task on each line, a JSON object with at least a prompt (zot schema batch.task), or a CSV file
with --template; - is stdin. RUNDIR keeps everything: the journal, the results, and the events of every run. The same
command once more goes on where the batch stopped: what is done stays done, and interrupted tasks are run again.

The first word is a command below or TASKS: a file with the name of a command is given as ./status.

On a terminal the progress is shown; p pauses, q drains (running tasks end, no new ones start), Q stops. The first
Ctrl-C drains, too, and the second stops; SIGTERM and SIGHUP stop at once.

Examples:
    zot batch tasks.jsonl -o runs -j 8                               each line is a task
    zot batch table.csv --template "Translate: {text}" -o runs       a task from each row
    zot batch tasks.jsonl -o runs --max-cost-usd 20 --deadline 2h    no new starts beyond these
    zot batch tasks.jsonl -o runs --redo failed                      the failed ones once more
    zot batch tasks.jsonl -o runs --workspace copy                   each in its own copy of the project
    zot batch tasks.jsonl -o runs --json | jq -c .type               all events of all runs
    zot batch status runs                                            how it is now
    zot batch results runs --format csv                              what came of each task

Exit status: 0 all tasks are ok, 1 the batch itself failed, 2 bad tasks or flags, 10 a task is not ok or was not run,
130 interrupted.
"""

batch_app = HelpTyper(cls=BatchGroup, invoke_without_command=True, no_args_is_help=True, help=HELP)


@batch_app.callback()
def _root() -> None:
    """A callback makes typer build a group; the group has the flags of `command`."""
