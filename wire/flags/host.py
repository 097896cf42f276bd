"""The flags of `zot host` and of `zot mcp serve`, which starts a host of its own, each in the order of its help."""

from __future__ import annotations

from wire.flags.flag import Flag, Kind
from wire.flags.run import (
    ALLOW_ASKED,
    EXT,
    MCP_CONFIG,
    METRICS,
    NO_EXT,
    NO_TRACE,
    OPENMETRICS,
    OTEL,
    PROFILE_ON_STALL,
    SHARE,
    STRICT_GUARDS,
    WATCH,
)
from wire.flags.run import HOST as HOST_OF_RUN

OF_THE_START = (
    EXT.variant(panel=""),
    MCP_CONFIG.variant(panel=""),
    NO_EXT.variant(panel=""),
    Flag("--cwd", "Use DIR as the project's folder. Default: the current one.", Kind.PATH, metavar="DIR"),
    Flag(
        "--trust-project", "Start the project's extensions and MCP servers although they are not trusted.", Kind.SWITCH
    ),
    WATCH.variant(panel=""),
    STRICT_GUARDS.variant(panel=""),
    ALLOW_ASKED.variant(panel=""),
    PROFILE_ON_STALL.variant(panel=""),
    Flag("--stats", "Append the use of host and extensions, for zot report; at most 64 MiB, in four files.", Kind.PATH),
    Flag(
        "--stats-interval", "Write a line of --stats every SECONDS. Default: 10.", Kind.NUMBER, metavar="SECONDS",
        least=0.25, most=3600, shows_default=False,
    ),
    METRICS.variant(panel=""),
    OPENMETRICS.variant(panel=""),
    OTEL.variant(panel=""),
    NO_TRACE.variant("Keep no trace of this host, see zot runs.", panel=""),
)  # fmt: skip
"""Flags that take effect when a host starts, not on a running one."""
LOG = (
    Flag(
        "--log-format", "Write events on stderr as lines for a person, or as JSON.", Kind.CHOICE,
        choices=("console", "json"), default="console",
    ),
    Flag(
        "--log-level", "Write events of this level and higher ones.", Kind.CHOICE,
        choices=("debug", "info", "warning", "error"), default="info",
    ),
)  # fmt: skip
DETACH = Flag("-d --detach", "Go to the background when it is ready; print its pid and its log.", Kind.SWITCH)
HOST = (*OF_THE_START, SHARE.variant(panel=""), *LOG)
SERVED = {
    "ext": "Serve the extension in this folder; repeatable.",
    "mcp_config": "Serve the MCP servers of this file too; it has the form of .mcp.json; repeatable.",
    "no_ext": "Serve only those named with --ext and --mcp-config.",
}
"""Help of `zot mcp serve` for flags that `zot host` describes in other words."""
SERVE = (
    *(flag.variant(SERVED.get(flag.name, "")) for flag in OF_THE_START),
    HOST_OF_RUN.variant("Serve the extensions of a running zot host: its pid, or its folder.", panel=""),
    *LOG,
    Flag("-q --quiet", "Write only errors to stderr.", Kind.SWITCH),
)  # fmt: skip
