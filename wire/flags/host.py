"""The flags of `zot host` and of `zot mcp serve`, which starts a host of its own, each in the order of its help."""

from __future__ import annotations

from wire.flags.flag import Flag, Kind
from wire.flags.run import ALLOW_ASKED, EXT, MCP_CONFIG, METRICS, NO_EXT, OPENMETRICS, STRICT_GUARDS, WATCH

OF_THE_START = (
    EXT.variant(panel=""),
    MCP_CONFIG.variant(panel=""),
    NO_EXT.variant(panel=""),
    Flag("--cwd", "The project's folder. Default: this one.", Kind.PATH, metavar="DIR"),
    Flag(
        "--trust-project", "Start the project's extensions and MCP servers although they are not trusted.", Kind.SWITCH
    ),
    WATCH.variant(panel=""),
    STRICT_GUARDS.variant(panel=""),
    ALLOW_ASKED.variant(panel=""),
    Flag("--stats", "Append what everything costs, for zot report; 64 MiB at most, in four files.", Kind.PATH),
    Flag(
        "--stats-interval", "Between two lines of --stats. Default: 10.", Kind.NUMBER, metavar="SECONDS",
        least=0.25, most=3600, shows_default=False,
    ),
    METRICS.variant(panel=""),
    OPENMETRICS.variant(panel=""),
)  # fmt: skip
"""Flags that have an effect when a host starts, and none on one that runs."""
LOG = (
    Flag(
        "--log-format", "Of the events on stderr: lines for a person, or JSON.", Kind.CHOICE,
        choices=("console", "json"), default="console",
    ),
    Flag(
        "--log-level", "The lowest level that is written.", Kind.CHOICE,
        choices=("debug", "info", "warning", "error"), default="info",
    ),
)  # fmt: skip
HOST = (*OF_THE_START, *LOG)
SERVED = {
    "ext": "Serve the extension in this folder; repeatable.",
    "mcp_config": "Serve the MCP servers of this file, too, which has the form of .mcp.json; repeatable.",
    "no_ext": "Serve only those named with --ext and --mcp-config.",
}
"""Help of `zot mcp serve`, where it says it in other words than `zot host`."""
SERVE = (
    *(flag.variant(SERVED.get(flag.name, "")) for flag in OF_THE_START),
    Flag(
        "--host", "Serve the extensions of a zot host that runs: its pid, or its folder.", metavar="PID|DIR",
        completer="hosts",
    ),
    *LOG,
    Flag("-q --quiet", "Only errors on stderr.", Kind.SWITCH),
)  # fmt: skip
