"""The flags of `zot batch TASKS -o RUNDIR` and of `zot batch retry`, each in the order of its help."""

from __future__ import annotations

from wire.flags.flag import Flag, Kind
from wire.flags.run import (
    API_KEY,
    API_KEY_FILE,
    BASE_URL,
    MAX_STEPS,
    MODEL,
    OUTPUT_SCHEMA,
    RECORD,
    RUN,
    STREAM_BEFORE_GUARDS,
    TOOLS,
    WATCH,
)

TASKS = "Which tasks"
EACH = "Each run"
POOL = "The pool"
LIMITS = "Limits of the batch"
OUTPUT = "What to print"

SWITCH, TEXTS, COUNT = Kind.SWITCH, Kind.TEXTS, Kind.COUNT

JOBS = Flag(
    "-j --jobs", "Runs at the same time. Default: as many as there are cores, and memory for.", COUNT, POOL,
    shows_default=False,
)  # fmt: skip
MAX_COST_USD = Flag(
    "--max-cost-usd", "Start no task any more once all have cost so many dollars, earlier starts included.",
    Kind.DOLLARS, LIMITS,
)  # fmt: skip
RESERVE = Flag(
    "--reserve",
    "Count requests of unknown cost as nothing (none), as their input and at most three times the largest"
    " answer once ten are known (seen, the default), or as their input and max_tokens (worst).",
    Kind.CHOICE, LIMITS, choices=("none", "seen", "worst"),
    option_help="How much requests of unknown cost count for `max_cost_usd`.",
)  # fmt: skip
MAX_TOKENS = Flag(
    "--max-tokens", "Start no task any more after so many tokens, those from the cache and of earlier starts included.",
    COUNT, LIMITS,
)  # fmt: skip
PRINTED = (
    Flag(
        "--json", "Print all events of all runs, and the batch's own, as JSON lines.", SWITCH, OUTPUT, is_option=False,
    ),
    Flag(
        "--no-events", "With --json: only the batch's own records. RUNDIR keeps the events.", SWITCH, OUTPUT,
        is_option=False,
    ),
    Flag("--no-progress", "A line for each finished task, also on a terminal.", SWITCH, OUTPUT, is_option=False),
    Flag("-q --quiet", "Say only what is wrong with the batch itself.", SWITCH, OUTPUT, is_option=False),
)  # fmt: skip
OF_EACH_RUN = (
    *(flag for flag in RUN if flag.panel in (MODEL, TOOLS) and flag not in (RECORD, WATCH, STREAM_BEFORE_GUARDS)),
    MAX_STEPS.variant("At most so many turns in each run.", panel=EACH),
    OUTPUT_SCHEMA.variant(
        "The final answer of each run must be JSON that fits this JSON Schema: a file, or {…} itself.", panel=EACH
    ),
)
"""The flags that go into the request of every run: all about the model, the tools and the extensions."""
OF_THE_BATCH = (
    Flag(
        "--task-timeout", "End a run after so long: 90, 5m, 1h30m. Its waits for a rate limit do not count.",
        Kind.LIMIT, EACH,
    ),
    Flag(
        "--task-max-cost", "A run makes no request any more once it has cost so many dollars.", Kind.DOLLARS, EACH,
        field="task_max_cost_usd",
    ),
    Flag(
        "--run-memory", "End a run whose processes have more memory for themselves: 512MB, 2G.", Kind.SIZE, EACH,
        option_help="End a run whose processes have more bytes of memory for themselves.",
    ),
    JOBS,
    Flag(
        "--retries", "Further attempts of a task that has crashed or has met an error that may pass.", COUNT, POOL,
        least=0, default=1,
    ),
    Flag(
        "--workspace",
        "shared: each task works in its folder. copy: in a copy of it, and its changes are kept as a diff.",
        Kind.CHOICE, POOL, choices=("shared", "copy"), default="shared",
    ),
    MAX_COST_USD,
    RESERVE,
    MAX_TOKENS,
    Flag("--max-failures", "Start no task any more after so many are not ok.", COUNT, LIMITS),
    Flag("--deadline", "Start no task any more after so long: 2h, 90m.", Kind.LIMIT, LIMITS),
)  # fmt: skip
"""The flags that are fields of the request for the batch."""

BATCH = (
    Flag(
        "-o --output", "The folder of the batch: made if it is not there, gone on with if it is.", Kind.PATH, TASKS,
        metavar="RUNDIR", is_option=False,
    ),
    Flag(
        "--template",
        "TASKS is CSV, and this is the prompt of each row, with {COLUMN} for its cells; @FILE reads it.",
        panel=TASKS, is_option=False,
    ),
    Flag(
        "--slice", "Only the tasks from A up to B, counted from 0: 10:20, :5, -5:.", panel=TASKS, metavar="A:B",
        is_option=False,
    ),
    Flag(
        "--filter",
        "Only tasks whose field has this value (meta.lang=de) or matches this pattern (id~^fix-); repeatable.",
        TEXTS, TASKS, metavar="FIELD=VALUE", is_option=False,
    ),
    Flag("--shuffle", "In another order: the same each time, but for --seed.", SWITCH, TASKS, is_option=False),
    Flag(
        "--seed", "With --shuffle: which order.", COUNT, TASKS, least=0, most=2**63 - 1, is_option=False,
    ),
    Flag("--limit", "At most so many tasks.", COUNT, TASKS, is_option=False),
    Flag(
        "--shard", "The i-th of n equal parts of the tasks, from 1/n to n/n; zot batch results takes all folders.",
        panel=TASKS, metavar="I/N", is_option=False,
    ),
    Flag(
        "--redo", "Run these again although they are done: failed, changed, all, or an id; repeatable.", TEXTS, TASKS,
        metavar="WHICH", choices=("all", "changed", "failed"),
        option_help="Of what an earlier batch in this folder has done: `failed`, `changed`, `all`, or ids.",
    ),
    Flag(
        "--resume", "Go on with the batch in RUNDIR, as without this flag, but refuse to begin one.", SWITCH, TASKS,
        is_option=False,
    ),
    *OF_EACH_RUN,
    *OF_THE_BATCH,
    *PRINTED,
)  # fmt: skip
RETRY = (
    JOBS,
    MAX_COST_USD,
    RESERVE,
    MAX_TOKENS,
    API_KEY,
    API_KEY_FILE,
    BASE_URL.variant("Use this address of the model's server. Default: that of the last start."),
    *(flag for flag in PRINTED if flag.name != "no_events"),
)
