"""The flags of a run, `zot [OPTIONS] PROMPT`, in the order of its help."""

from __future__ import annotations

from wire.flags.flag import Flag, Kind
from wire.reasoning_levels import LEVELS

OUTPUT = "Output"
MODEL = "The model"
TOOLS = "Tools and extensions"
SESSION = "The session"
THE_RUN = "The run"
LIMITS = "Limits"

SWITCH, TEXTS, PATH, PATHS, COUNT, WAIT = Kind.SWITCH, Kind.TEXTS, Kind.PATH, Kind.PATHS, Kind.COUNT, Kind.WAIT

OUTPUT_SCHEMA = Flag(
    "--output-schema", "Require a final answer that is JSON and fits this JSON Schema: a file, or {…} itself.",
    Kind.SCHEMA, OUTPUT, option_help="JSON Schema of the answer to each prompt: a file, or the schema itself.",
)  # fmt: skip
API_KEY = Flag(
    "--api-key", "Use this key. Default: the provider's variable, such as $ANTHROPIC_API_KEY, else zot login's.",
    panel=MODEL, metavar="KEY", shows_default=False, is_option=False,
)  # fmt: skip
API_KEY_FILE = Flag(
    "--api-key-file", "Read the key from this file, - is stdin; unlike --api-key it does not show in ps.", PATH, MODEL,
)  # fmt: skip
BASE_URL = Flag(
    "--base-url", "Use this server of the Messages API. Default: $ANTHROPIC_BASE_URL, else the provider's.",
    panel=MODEL, metavar="URL", shows_default=False,
)  # fmt: skip
RECORD = Flag("--record", "Write the exchanges with the model to a cassette.", PATH, MODEL)
EXT = Flag(
    "-e --ext", "Start the extension in this folder; repeatable.", PATHS, TOOLS, metavar="DIR", field="extensions",
)  # fmt: skip
MCP_CONFIG = Flag(
    "--mcp-config", "Start the MCP servers of this file too; it has the form of .mcp.json; repeatable.",
    PATHS, TOOLS, field="mcp_configs",
)  # fmt: skip
NO_EXT = Flag(
    "--no-ext --no-extensions", "Start only those named with --ext and --mcp-config.", SWITCH, TOOLS, field="discover",
)  # fmt: skip
TRUST_PROJECT = Flag(
    "--trust-project", "Start the project's extensions and MCP servers in this run although they are not trusted.",
    SWITCH, TOOLS,
)  # fmt: skip
WATCH = Flag("--watch", "Reload an extension when its files change.", SWITCH, TOOLS)
STRICT_GUARDS = Flag(
    "--strict-guards", "Deny if a guard gives no verdict (crash, timeout).", SWITCH, TOOLS,
)  # fmt: skip
PROFILE_ON_STALL = Flag(
    "--profile-on-stall", "Profile each extension that hangs for two seconds before it is ended.", SWITCH, TOOLS,
)  # fmt: skip
ALLOW_ASKED = Flag(
    "--allow-asked", "Allow if a guard wants a person to decide. Default: refuse, since no person is asked.",
    SWITCH, TOOLS,
)  # fmt: skip
STREAM_BEFORE_GUARDS = Flag(
    "--stream-before-guards", "Print text before guards of messages have seen it, as zot does.", SWITCH, TOOLS,
)  # fmt: skip
HOST = Flag(
    "--host", "Use the shared extensions of a running zot host: its pid, or its folder (. is this one).",
    panel=TOOLS, metavar="PID|DIR", completer="hosts",
)  # fmt: skip
SHARE = Flag(
    "--share", "Let all runs share one process of the extension NAME, whatever its manifest says; repeatable.",
    TEXTS, TOOLS, metavar="NAME",
)  # fmt: skip
CWD = Flag(
    "-C --cwd", "Use DIR as the project's folder. Default: the current one.", PATH, THE_RUN, metavar="DIR",
    option_help="Default: the working directory of this process when the runtime starts.",
)  # fmt: skip
MAX_STEPS = Flag("--max-steps", "Allow at most N turns. Default: no limit.", COUNT, LIMITS)
NO_TRACE = Flag("--no-trace", "Keep no trace of the run, see zot runs.", SWITCH, THE_RUN, field="trace")
METRICS = Flag(
    "--metrics", "Keep a file of metrics up to date, for node_exporter's textfile collector.", PATH, THE_RUN,
)  # fmt: skip
OPENMETRICS = Flag("--openmetrics", "Write --metrics as OpenMetrics text.", SWITCH, THE_RUN)
OTEL = Flag("--otel", "Send traces and metrics by OpenTelemetry, to where the OTEL_* variables say.", SWITCH, THE_RUN)
OTEL_CONTENT = Flag(
    "--otel-content", "With --otel: send prompts, answers, and arguments and results of tools, too.", SWITCH, THE_RUN,
)  # fmt: skip

RUN = (
    Flag("--json", "Print events, one JSON object per line.", SWITCH, OUTPUT, field=None, is_option=False),
    Flag("-p --print", "Print the final answer only.", SWITCH, OUTPUT, field=None, is_option=False),
    Flag(
        "--rpc", "Serve a program on stdin and stdout, as zot rpc does.", SWITCH, OUTPUT, field=None, is_option=False,
    ),
    Flag(
        "--output-format", "text: the final answer, as -p. json: one JSON object at the end.", Kind.CHOICE, OUTPUT,
        choices=("text", "json"), field=None, is_option=False,
    ),
    Flag("-o --output", "Write the final answer to this file.", PATH, OUTPUT, field=None, is_option=False),
    Flag(
        "--plain", "Converse in plain lines, without a screen; also where stdin is no terminal.", SWITCH, OUTPUT,
        field=None, is_option=False,
    ),
    OUTPUT_SCHEMA,
    Flag(
        "--summary", "Append a report of the run to this file, as Markdown: $GITHUB_STEP_SUMMARY.", PATH, OUTPUT,
        field=None, is_option=False,
    ),
    Flag(
        "--provider",
        "Use anthropic, ollama, litellm, openrouter … or one of models.json. Default: that of the settings.",
        panel=MODEL, metavar="NAME", completer="providers",
    ),
    Flag(
        "-m --model", "Use the model with this id; an unknown id is passed on, its cost is then unknown.",
        panel=MODEL, metavar="ID", completer="models",
    ),
    API_KEY,
    API_KEY_FILE,
    BASE_URL,
    Flag("--system-prompt", "Use this system prompt, not $ZOT_HOME/SYSTEM.md or the built-in one.", panel=MODEL),
    Flag("--append-system-prompt", "Add this to the system prompt; repeatable.", TEXTS, MODEL),
    Flag(
        "--reasoning", "Let the model think this much; a level that it has not becomes the nearest. Default: its own.",
        Kind.CHOICE, MODEL, choices=LEVELS,
    ),
    Flag(
        "--cache-ttl", "Let the provider keep cached prompts for 5 minutes or 1 hour, which costs more to write.",
        Kind.CHOICE, MODEL, choices=("5m", "1h"),
    ),
    RECORD,
    Flag("--replay", "Answer from a cassette; a request that differs is an error.", PATH, MODEL),
    Flag(
        "--tools", "Offer only these of the tools read,write,edit,bash. Default: all.",
        Kind.NAMES, TOOLS, metavar="CSV", field=None,
    ),
    Flag("--no-tools", "Offer no built-in tools; those of extensions stay.", SWITCH, TOOLS, field=None),
    EXT,
    MCP_CONFIG,
    NO_EXT,
    HOST,
    Flag(
        "--host-version", "With --host: use the host's version of an extension whose files differ here.", SWITCH, TOOLS,
    ),
    Flag(
        "--ext-wait",
        "Let the first request wait for extensions that are still starting, at most DURATION. Default: as long as the"
        " model takes to get ready, at least 1s and at most 3s; for MCP servers up to 5s, for Copilot extensions up to"
        " 10s.",
        WAIT, TOOLS, field="extension_wait",
    ),
    TRUST_PROJECT,
    Flag(
        "--copilot", "Offer the model tools to write and reload Copilot extensions; none runs before you trust it.",
        SWITCH, TOOLS,
    ),
    WATCH,
    STRICT_GUARDS,
    ALLOW_ASKED,
    PROFILE_ON_STALL,
    STREAM_BEFORE_GUARDS,
    Flag(
        "--with-skills --with-skill", "Offer the user's and the project's skills too.", SWITCH, TOOLS,
        field="user_skills",
    ),
    Flag("--no-skill --no-skills", "Offer no skills.", SWITCH, TOOLS, field="skills"),
    Flag(
        "--no-context-files", "Leave AGENTS.md and CLAUDE.md out of the system prompt.", SWITCH, TOOLS,
        field="context_files",
    ),
    Flag(
        "-c --continue", "Go on with the newest session of this folder.", SWITCH, SESSION, field="continue_last",
    ),
    Flag(
        "-r --resume", "Go on with this session; without ID choose one.", panel=SESSION, metavar="[ID]",
        completer="sessions", option_help="The id of a session, or its first digits.",
    ),
    Flag(
        "--session", "Go on with the session in this file.", PATH, SESSION, metavar="PATH", completer="session_paths",
    ),
    Flag("--fork", "With -c, -r or --session: resume a copy of it.", SWITCH, SESSION),
    Flag(
        "--no-session", "Keep no transcript under $ZOT_HOME/sessions.", SWITCH, SESSION, field=None, is_option=False,
    ),
    Flag("--save-session", "With --rpc: keep the transcript.", SWITCH, SESSION, field=None),
    Flag(
        "--auto-compact",
        "Compact a conversation that has filled 85 % of the context window. Default: on, but not with --replay.",
        SWITCH, SESSION, field=None,
    ),
    Flag("--no-auto-compact", "Never compact by itself.", SWITCH, SESSION, field=None),
    Flag("--image", "Send this image with the prompt; repeatable.", PATHS, THE_RUN, field="images", is_option=False),
    CWD,
    MAX_STEPS,
    Flag(
        "--max-cost-usd", "Make no more requests once the model has cost USD dollars. Default: no limit.",
        Kind.DOLLARS, LIMITS,
        option_help="US dollars of all prompts together; `max_tokens` counts in the same way.",
    ),
    Flag("--max-tokens", "Make no more requests after N tokens, input plus output. Default: no limit.", COUNT, LIMITS),
    Flag(
        "--timeout", "End the run after DURATION: 90, 500ms, 5m, 1h30m. With --rpc: each prompt.", Kind.LIMIT, LIMITS,
        option_help="Seconds for each prompt.",
    ),
    Flag(
        "--drain-timeout", "With --rpc: at the end of stdin, let the prompt go on for DURATION. Default: 30s.",
        WAIT, THE_RUN, field=None, option_help="Default here: 0. When this process ends, so does its engine.",
    ),
    Flag(
        "--listen", "With --rpc: serve programs on a Unix socket at PATH, each with a conversation of its own.",
        PATH, THE_RUN, metavar="PATH", field=None, is_option=False,
    ),
    Flag(
        "--no-stdin", "Do not read stdin: the prompt is the words of the command line.", SWITCH, THE_RUN,
        field=None, is_option=False,
    ),
    Flag("--stats", "Write the use of each extension, and a timeline, for zot report.", PATH, THE_RUN),
    NO_TRACE,
    METRICS,
    OPENMETRICS,
    OTEL,
    OTEL_CONTENT,
)  # fmt: skip
