"""The flags of `zot mcp serve`, and which of the two ways they mean."""

from __future__ import annotations

from dataclasses import dataclass, fields

from cli.choices import CommandLineError, LogFormat, LogLevel


@dataclass(frozen=True)
class Serving:
    """The flags of the command."""

    extensions: tuple[str, ...] = ()
    mcp_configs: tuple[str, ...] = ()
    discover: bool = True
    cwd: str | None = None
    trust_project: bool = False
    host: str | None = None
    watch: bool = False
    strict_guards: bool = False
    allow_asked: bool = False
    stats_file: str | None = None
    stats_interval_s: float | None = None
    metrics_file: str | None = None
    openmetrics: bool = False
    log_format: LogFormat = LogFormat.console
    log_level: LogLevel = LogLevel.info


NOT_OF_A_RUNNING_HOST = {
    "extensions": "--ext", "mcp_configs": "--mcp-config", "discover": "--no-ext", "cwd": "--cwd",
    "trust_project": "--trust-project", "watch": "--watch", "strict_guards": "--strict-guards",
    "allow_asked": "--allow-asked", "stats_file": "--stats", "stats_interval_s": "--stats-interval",
    "metrics_file": "--metrics", "openmetrics": "--openmetrics",
}  # fmt: skip
"""The flags that belong to the start of a host, by field."""


def check(flags: Serving) -> None:
    """Raises `CommandLineError` for flags that have no effect with --host."""
    for each in fields(flags):
        if each.name in NOT_OF_A_RUNNING_HOST and getattr(flags, each.name) != each.default:
            name = NOT_OF_A_RUNNING_HOST[each.name]
            raise CommandLineError(f"{name} has no effect with --host: it is a flag for the start of that host")
