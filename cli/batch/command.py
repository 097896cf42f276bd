"""The command line of `zot batch TASKS -o RUNDIR`: its flags, and what they ask for."""

from __future__ import annotations

import re
import sys
from enum import Enum
from typing import Annotated

import typer

from cli.batch.completion import redo_words, task_files
from cli.choices import CommandLineError
from cli.duration import METAVAR as DURATION
from cli.run.flags import (
    AllowAsked,
    ApiKey,
    ApiKeyFile,
    AppendSystemPrompt,
    BaseUrl,
    Copilot,
    Extensions,
    ExtensionWait,
    McpConfigs,
    Model,
    NoContextFiles,
    NoExt,
    NoSkills,
    NoTools,
    Provider,
    ReasoningFlag,
    Replay,
    StrictGuards,
    SystemPrompt,
    Tools,
    TrustProject,
    WithSkills,
    dollars,
    limit,
)

TASKS = "Which tasks"
EACH = "Each run"
POOL = "The pool"
LIMITS = "Limits of the batch"
OUTPUT = "What to print"


ACCEPTED = "bytes (1048576) or a number with KB, MB, GB (1000s) or KiB, MiB, GiB, K, M, G (1024s)"
SIZE = "SIZE"
_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", start=1):
    _UNITS |= {_letter: 1024**_power, f"{_letter}IB": 1024**_power, f"{_letter}B": 1000**_power}
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}) ?([A-Za-z]{0,3})")


class WorkspaceKind(Enum):
    shared = "shared"
    copy = "copy"


class ReserveRule(Enum):
    none = "none"
    seen = "seen"
    worst = "worst"


def size(text: str) -> int:
    try:
        return bytes_from(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def bytes_from(text: str) -> int:
    """The bytes that `text` means, at least one. Units may be in lower case. Raises ValueError, whose text says what is
    accepted."""
    found = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(found[2].upper()) if found else None
    size = int(float(found[1]) * unit) if found and unit else 0
    if not size:
        raise ValueError(f"{text!r} is not a size above zero: write {ACCEPTED}")
    return size


Jobs = Annotated[
    int | None,
    typer.Option(
        "-j",
        "--jobs",
        help="Runs at the same time. Default: as many as there are cores, and memory for.",
        metavar="N",
        min=1,
        show_default=False,
        rich_help_panel=POOL,
    ),
]
MaxCostUsd = Annotated[
    float | None,
    typer.Option(
        help="Start no task any more once all have cost so many dollars, earlier starts included.",
        metavar="USD",
        parser=dollars,
        rich_help_panel=LIMITS,
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        help="Start no task any more after so many tokens, those from the cache and of earlier starts included.",
        metavar="N",
        min=1,
        rich_help_panel=LIMITS,
    ),
]
Reserve = Annotated[
    ReserveRule | None,
    typer.Option(
        help="Count requests of unknown cost as nothing (none), as their input and at most three times the largest"
        " answer once ten are known (seen, the default), or as their input and max_tokens (worst).",
        rich_help_panel=LIMITS,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print all events of all runs, and the batch's own, as JSON lines.", rich_help_panel=OUTPUT
    ),
]
NoEvents = Annotated[
    bool,
    typer.Option(
        "--no-events",
        help="With --json: only the batch's own records. RUNDIR keeps the events.",
        rich_help_panel=OUTPUT,
    ),
]
NoProgress = Annotated[
    bool,
    typer.Option("--no-progress", help="A line for each finished task, also on a terminal.", rich_help_panel=OUTPUT),
]
Quiet = Annotated[
    bool,
    typer.Option("-q", "--quiet", help="Say only what is wrong with the batch itself.", rich_help_panel=OUTPUT),
]


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
    folder: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="The folder of the batch: made if it is not there, gone on with if it is.",
            metavar="RUNDIR",
            rich_help_panel=TASKS,
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            help="TASKS is CSV, and this is the prompt of each row, with {COLUMN} for its cells; @FILE reads it.",
            metavar="TEXT",
            rich_help_panel=TASKS,
        ),
    ] = None,
    slice_: Annotated[
        str | None,
        typer.Option(
            "--slice",
            help="Only the tasks from A up to B, counted from 0: 10:20, :5, -5:.",
            metavar="A:B",
            rich_help_panel=TASKS,
        ),
    ] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            help="Only tasks whose field has this value (meta.lang=de) or matches this pattern (id~^fix-); repeatable.",
            metavar="FIELD=VALUE",
            rich_help_panel=TASKS,
        ),
    ] = None,
    shuffle: Annotated[
        bool,
        typer.Option("--shuffle", help="In another order: the same each time, but for --seed.", rich_help_panel=TASKS),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(help="With --shuffle: which order.", metavar="N", min=0, max=2**63 - 1, rich_help_panel=TASKS),
    ] = None,
    most: Annotated[
        int | None, typer.Option("--limit", help="At most so many tasks.", metavar="N", min=1, rich_help_panel=TASKS)
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            help="The i-th of n equal parts of the tasks, from 1/n to n/n; zot batch results takes all folders.",
            metavar="I/N",
            rich_help_panel=TASKS,
        ),
    ] = None,
    redo: Annotated[
        list[str] | None,
        typer.Option(
            help="Run these again although they are done: failed, changed, all, or an id; repeatable.",
            metavar="WHICH",
            autocompletion=redo_words,
            rich_help_panel=TASKS,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with the batch in RUNDIR, as without this flag, but refuse to begin one.",
            rich_help_panel=TASKS,
        ),
    ] = False,
    provider: Provider = None,
    model: Model = None,
    api_key: ApiKey = None,
    api_key_file: ApiKeyFile = None,
    base_url: BaseUrl = None,
    system_prompt: SystemPrompt = None,
    append_system_prompt: AppendSystemPrompt = None,
    reasoning: ReasoningFlag = None,
    replay: Replay = None,
    tools: Tools = None,
    no_tools: NoTools = False,
    extensions: Extensions = None,
    mcp_configs: McpConfigs = None,
    no_ext: NoExt = False,
    extension_wait: ExtensionWait = None,
    trust_project: TrustProject = False,
    copilot: Copilot = False,
    strict_guards: StrictGuards = False,
    allow_asked: AllowAsked = False,
    with_skills: WithSkills = False,
    no_skills: NoSkills = False,
    no_context_files: NoContextFiles = False,
    max_steps: Annotated[
        int | None,
        typer.Option(help="At most so many turns in each run.", metavar="N", min=1, rich_help_panel=EACH),
    ] = None,
    task_timeout: Annotated[
        float | None,
        typer.Option(
            help="End a run after so long: 90, 5m, 1h30m. Its waits for a rate limit do not count.",
            metavar=DURATION,
            parser=limit,
            rich_help_panel=EACH,
        ),
    ] = None,
    task_max_cost: Annotated[
        float | None,
        typer.Option(
            "--task-max-cost",
            help="A run makes no request any more once it has cost so many dollars.",
            metavar="USD",
            parser=dollars,
            rich_help_panel=EACH,
        ),
    ] = None,
    run_memory: Annotated[
        int | None,
        typer.Option(
            help="End a run whose processes have more memory for themselves: 512MB, 2G.",
            metavar=SIZE,
            parser=size,
            rich_help_panel=EACH,
        ),
    ] = None,
    output_schema: Annotated[
        str | None,
        typer.Option(
            help="The final answer of each run must be JSON that fits this JSON Schema: a file, or {…} itself.",
            metavar="FILE",
            rich_help_panel=EACH,
        ),
    ] = None,
    jobs: Jobs = None,
    retries: Annotated[
        int,
        typer.Option(
            help="Further attempts of a task that has crashed or has met an error that may pass.",
            metavar="N",
            min=0,
            rich_help_panel=POOL,
        ),
    ] = 1,
    workspace: Annotated[
        WorkspaceKind,
        typer.Option(
            help="shared: each task works in its folder. copy: in a copy of it, and its changes are kept as a diff.",
            rich_help_panel=POOL,
        ),
    ] = WorkspaceKind.shared,
    max_cost_usd: MaxCostUsd = None,
    reserve: Reserve = None,
    max_tokens: MaxTokens = None,
    max_failures: Annotated[
        int | None,
        typer.Option(
            help="Start no task any more after so many are not ok.", metavar="N", min=1, rich_help_panel=LIMITS
        ),
    ] = None,
    deadline: Annotated[
        float | None,
        typer.Option(
            help="Start no task any more after so long: 2h, 90m.",
            metavar=DURATION,
            parser=limit,
            rich_help_panel=LIMITS,
        ),
    ] = None,
    as_json: AsJson = False,
    no_events: NoEvents = False,
    no_progress: NoProgress = False,
    quiet: Quiet = False,
) -> None:
    if ctx.invoked_subcommand is not None:
        return
    if tasks is None:
        raise CommandLineError("TASKS is missing: a file with one task a line, as in zot batch tasks.jsonl -o runs")
    if not folder:
        raise CommandLineError(f"-o RUNDIR is missing: the folder of the batch, as in zot batch {tasks} -o runs")
    from cli.batch.asked import asked_from
    from cli.batch.run import run_batch

    sys.exit(run_batch(asked_from(ctx.params)))
