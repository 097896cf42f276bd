"""The flags of `zot batch TASKS -o RUNDIR` and of `zot batch retry`, each in the order of its help."""

from __future__ import annotations

from wire.flags.flag import Flag, Kind
from wire.flags.run import (
    API_KEY,
    API_KEY_FILE,
    BASE_URL,
    MAX_STEPS,
    MODEL,
    NO_TRACE,
    OTEL,
    OTEL_CONTENT,
    OUTPUT_SCHEMA,
    RECORD,
    RUN,
    SHARE,
    STREAM_BEFORE_GUARDS,
    TOOLS,
    WATCH,
)

TASKS = "Choice of tasks"
EACH = "Each run"
POOL = "The pool"
LIMITS = "Limits of the batch"
OUTPUT = "Output"

SWITCH, TEXTS, COUNT = Kind.SWITCH, Kind.TEXTS, Kind.COUNT

JOBS = Flag(
    "-j --jobs", "Carry out N runs at the same time. Default: as many as cores and memory allow.", COUNT, POOL,
    shows_default=False,
)  # fmt: skip
MAX_COST_USD = Flag(
    "--max-cost-usd", "Stop starting tasks once the batch has cost USD dollars, earlier starts included.",
    Kind.DOLLARS, LIMITS,
)  # fmt: skip
RESERVE = Flag(
    "--reserve",
    "Count requests of unknown cost as nothing (none), as their input and at most three times the largest"
    " answer once ten are known (seen, the default), or as their input and max_tokens (worst).",
    Kind.CHOICE, LIMITS, choices=("none", "seen", "worst"),
    option_help="How requests of unknown cost count towards `max_cost_usd`: `none`, `seen` (default) or `worst`.",
)  # fmt: skip
MAX_TOKENS = Flag(
    "--max-tokens", "Stop starting tasks after N tokens, cached ones and those of earlier starts included.",
    COUNT, LIMITS,
)  # fmt: skip
MAX_FAILURES = Flag("--max-failures", "Stop starting tasks after N failures. Default: no limit.", COUNT, LIMITS)
ADDRESS = Flag(
    "--address", "With --engine ray: the cluster, as ray://HOST:10001 or HOST:6379. Default: RAY_ADDRESS, or the"
    " cluster of this machine.", panel=POOL,
)  # fmt: skip
PRINTED = (
    Flag(
        "--json", "Print all events of all runs, and the batch's own, as JSON lines.", SWITCH, OUTPUT, is_option=False,
    ),
    Flag(
        "--no-events", "With --json: print only the batch's own records. RUNDIR keeps the events.", SWITCH, OUTPUT,
        is_option=False,
    ),
    Flag("--no-progress", "Print one line per finished task, on a terminal too.", SWITCH, OUTPUT, is_option=False),
    Flag("-q --quiet", "Print only faults of the batch itself.", SWITCH, OUTPUT, is_option=False),
)  # fmt: skip
OF_EACH_RUN = (
    *(flag for flag in RUN if flag.panel in (MODEL, TOOLS) and flag not in (RECORD, WATCH, STREAM_BEFORE_GUARDS)),
    MAX_STEPS.variant("Allow each run at most N turns. Default: no limit.", panel=EACH),
    OUTPUT_SCHEMA.variant(
        "Require a final answer of each run that is JSON and fits this JSON Schema: a file, or {…} itself.", panel=EACH
    ),
    NO_TRACE.variant("Keep no trace of the batch, see zot runs.", panel=OUTPUT),
    OTEL.variant("Send the traces of all runs by OpenTelemetry, to where the OTEL_* variables say.", panel=OUTPUT),
    OTEL_CONTENT.variant(panel=OUTPUT),
)
"""Flags that go into the request of every run: all about the model, the tools and the extensions."""
OF_THE_BATCH = (
    Flag(
        "--task-timeout", "End a run after DURATION: 90, 5m, 1h30m. Its waits for a rate limit do not count.",
        Kind.LIMIT, EACH,
    ),
    Flag(
        "--task-max-cost", "Let a run make no more requests once it has cost USD dollars.", Kind.DOLLARS, EACH,
        field="task_max_cost_usd",
    ),
    Flag(
        "--run-memory", "End a run whose processes use more than SIZE of their own memory: 512MB, 2G.", Kind.SIZE, EACH,
        option_help="End a run whose processes use more than this many bytes of their own memory.",
    ),
    JOBS,
    Flag(
        "--retries", "Try a task up to N times more after a crash or an error that may pass.", COUNT, POOL,
        least=0, default=1,
    ),
    Flag(
        "--workspace",
        "shared: each task works in its folder. copy: it works in a copy, and its changes are kept as a diff."
        " worktree: in a git worktree of HEAD, likewise.",
        Kind.CHOICE, POOL, choices=("shared", "copy", "worktree"), default="shared",
    ),
    Flag(
        "--in", "Put PREFIX before each command of a task, its check and score included; {workspace} is its folder.",
        panel=POOL, metavar="PREFIX", field="command_prefix",
    ),
    Flag(
        "--score", "Score each run with this command in its folder; a task's own score replaces it.", panel=EACH,
        metavar="CMD",
    ),
    Flag(
        "--no-warm-cache", "Send all requests at once. Default: the first of a prefix goes alone, and fills the cache.",
        SWITCH, POOL, field="warm_cache",
    ),
    Flag(
        "--batch-api", "Send tasks of one turn through the Message Batches API, at half the price.", SWITCH, POOL,
    ),
    SHARE.variant(panel=POOL),
    Flag(
        "--engine", "local: run the tasks on this machine. ray: on the nodes of a cluster (pip install pyzot[ray]).",
        Kind.CHOICE, POOL, choices=("local", "ray"), default="local",
    ),
    ADDRESS,
    Flag(
        "--upload", "With --engine ray: copy this folder to each node, without what .gitignore names; tasks in it run"
        " in the copies.", Kind.PATH, POOL, metavar="DIR",
    ),
    MAX_COST_USD,
    RESERVE,
    MAX_TOKENS,
    MAX_FAILURES,
    Flag("--deadline", "Stop starting tasks after DURATION: 2h, 90m. Default: no limit.", Kind.LIMIT, LIMITS),
)  # fmt: skip
"""Flags that are fields of the request for the batch."""

BATCH = (
    Flag(
        "-o --output", "Keep the batch in this folder, or resume the batch that is in it.", Kind.PATH, TASKS,
        metavar="RUNDIR", is_option=False,
    ),
    Flag(
        "--template",
        "Read TASKS as CSV and make each row's prompt of this, with {COLUMN} for cells; @FILE reads it.",
        panel=TASKS, is_option=False,
    ),
    Flag(
        "--slice", "Run only the tasks from A up to B, counted from 0: 10:20, :5, -5:.", panel=TASKS, metavar="A:B",
        is_option=False,
    ),
    Flag(
        "--filter",
        "Run only tasks whose field has this value (meta.lang=de) or matches this pattern (id~^fix-); repeatable.",
        TEXTS, TASKS, metavar="FIELD=VALUE", is_option=False,
    ),
    Flag("--shuffle", "Shuffle the tasks; only another --seed changes the order.", SWITCH, TASKS, is_option=False),
    Flag(
        "--seed", "Choose the order of --shuffle. Default: 0.", COUNT, TASKS, least=0, most=2**63 - 1, is_option=False,
    ),
    Flag("--limit", "Run at most N tasks. Default: all.", COUNT, TASKS, is_option=False),
    Flag(
        "--shard", "Run the i-th of n equal parts of the tasks; zot batch results reads all folders.",
        panel=TASKS, metavar="I/N", is_option=False,
    ),
    Flag(
        "--repeat", "Run each task N times, as ID#1 to ID#N; ZOT_SEED differs in each.", COUNT, TASKS, most=1000,
    ),
    Flag(
        "--redo", "Run these again although they are done: failed, changed, all, or an id; repeatable.", TEXTS, TASKS,
        metavar="WHICH", choices=("all", "changed", "failed"),
        option_help="Tasks of an earlier batch in this folder to run again: `failed`, `changed`, `all`, or ids.",
    ),
    Flag(
        "--resume", "Resume the batch in RUNDIR, as without this flag, but refuse to begin one.", SWITCH, TASKS,
        is_option=False,
    ),
    Flag(
        "--dry-run", "Start no task: print which would run, with their extensions, and the most that they can cost.",
        SWITCH, TASKS, is_option=False,
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
    MAX_FAILURES,
    API_KEY,
    API_KEY_FILE,
    BASE_URL.variant("Use this address of the model's server. Default: the address of the last start."),
    ADDRESS.variant("Use the cluster at this address, if it ran on one. Default: the address of the last start."),
    *(flag for flag in PRINTED if flag.name != "no_events"),
)
