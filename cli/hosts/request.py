"""The request for a host, from the flags of `zot host` or `zot mcp serve`, and the host that is made of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.choices import CommandLineError, LogFormat, LogLevel, project_folder
from cli.version import VERSION
from supervisor.discovery.admission import Consent
from supervisor.home.config import ConfigError
from supervisor.home.zot_home import zot_home
from supervisor.host import Host
from supervisor.monitoring.stats_error import StatsFileError
from supervisor.process import fd_limit
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wire.stats import HostKind

OF_A_RUNNING_HOST = frozenset({"log_format", "log_level"})
"""The flags that have an effect with the extensions of a host that runs already."""


@dataclass(frozen=True)
class HostRequest:
    """The flags, by the names of their parameters."""

    ext: tuple[str, ...] = ()
    mcp_config: tuple[str, ...] = ()
    no_ext: bool = False
    cwd: str | None = None
    trust_project: bool = False
    watch: bool = False
    strict_guards: bool = False
    allow_asked: bool = False
    stats: str | None = None
    stats_interval: float | None = None
    metrics: str | None = None
    openmetrics: bool = False
    log_format: LogFormat = LogFormat.console
    log_level: LogLevel = LogLevel.info

    def check_for_running_host(self) -> None:
        """Raises `CommandLineError` for flags that have no effect with the extensions of a host that runs already."""
        for each in fields(self):
            if each.name not in OF_A_RUNNING_HOST and getattr(self, each.name) != each.default:
                flag = f"--{each.name.replace('_', '-')}"
                raise CommandLineError(f"{flag} has no effect with --host: it is a flag for the start of that host")


def host_request(parameters: Mapping[str, Any]) -> HostRequest:
    """The request that the parameters of a command ask for; those that are no field of it have no part in it."""
    names = {each.name for each in fields(HostRequest)}
    given = {name: value for name, value in parameters.items() if name in names and value is not None}
    given |= {name: tuple(given.get(name, ())) for name in ("ext", "mcp_config")}
    given |= {"log_format": LogFormat(given["log_format"]), "log_level": LogLevel(given["log_level"])}
    return HostRequest(**given)


def make_host(
    request: HostRequest, kind: HostKind, ask: Callable[[str, Path], Consent] = lambda _folder, _home: Consent()
) -> Host:
    """The host, not started yet. `ask` gets the working folder and zot's folder, and says what of the project may be
    started although it is not trusted. Raises `CommandLineError`, `OSError`, and what `ask` raises."""
    fd_limit.check_least()
    _check_files(request)
    try:
        (folder,) = _checked("the working folder", (project_folder(request.cwd),))
        (home,) = _checked("zot's folder ($ZOT_HOME)", (str(zot_home()),))
        asks = not (request.no_ext or request.trust_project)
        return Host(
            version=VERSION,
            extensions=_checked("--ext", request.ext),
            mcp_configs=_checked("--mcp-config", request.mcp_config),
            discover_more=not request.no_ext,
            cwd=folder,
            home=Path(home),
            strict_guards=request.strict_guards,
            allow_asked=request.allow_asked,
            stats_file=None if request.stats is None else Path(request.stats).absolute(),
            metrics_file=None if request.metrics is None else Path(request.metrics).absolute(),
            stats_interval_s=request.stats_interval,
            openmetrics=request.openmetrics,
            kind=kind,
            consent=ask(folder, Path(home)) if asks else Consent(whole_project=request.trust_project),
            watch_files=request.watch,
        )
    except (ConfigError, StatsFileError) as error:
        raise CommandLineError(str(error)) from None


def _check_files(request: HostRequest) -> None:
    """Raises `CommandLineError` for flags about files that would have no effect, or the wrong one."""
    stats, metrics, interval_s = request.stats, request.metrics, request.stats_interval
    if interval_s is not None and not isfinite(interval_s):
        raise CommandLineError(f"--stats-interval: {interval_s} is not a number of seconds")
    if interval_s is not None and stats is None:
        raise CommandLineError("--stats-interval has no effect without --stats FILE")
    if request.openmetrics and metrics is None:
        raise CommandLineError("--openmetrics has no effect without --metrics FILE")
    if stats is not None and metrics is not None and os.path.realpath(stats) == os.path.realpath(metrics):
        raise CommandLineError(f"--stats and --metrics name the same file, {metrics}; each needs its own")


def _checked(where: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts as they are. Raises `CommandLineError` for a text that is not UTF-8: extensions get the texts in JSON,
    which holds only UTF-8."""
    for text in texts:
        if text != valid_text(text):
            raise CommandLineError(f"{where} {valid_text(text)!r}: not valid UTF-8")
    return texts
