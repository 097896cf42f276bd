"""`zot host`: runs extensions without an agent, and serves them to other programs until it is stopped."""

from __future__ import annotations

import os
from math import isfinite
from pathlib import Path

from agent.output.fd_writer import FdWriter
from cli.choices import CommandLineError, LogFormat, LogLevel, project_folder
from cli.hosts.find import close, shared, survey
from cli.hosts.host_log import HostLog
from cli.run.trust_prompt import ask
from cli.version import VERSION
from supervisor.discovery.admission import Consent
from supervisor.home.config import ConfigError
from supervisor.home.zot_home import zot_home
from supervisor.host import CannotServeError, Host, HostEvent, HostPhase
from supervisor.monitoring.stats_error import StatsFileError
from supervisor.process import fd_limit
from wire.exit_codes import Status
from wire.text import valid_text

FLUSH_S = 0.5
LOOK_S = 0.3
"""Seconds for the other hosts to say which extensions they run."""


def run_host(
    *,
    extensions: tuple[str, ...],
    mcp_configs: tuple[str, ...] = (),
    discover: bool,
    cwd: str | None,
    strict_guards: bool = False,
    allow_asked: bool = False,
    stats_file: str | None = None,
    metrics_file: str | None = None,
    stats_interval_s: float | None = None,
    openmetrics: bool = False,
    trust_project: bool = False,
    watch: bool = False,
    log_format: LogFormat = LogFormat.console,
    log_level: LogLevel = LogLevel.info,
) -> int:
    """Returns the exit status: 0 after a stop, 130 if a second signal cut it short or Ctrl-C answered a question, 1 if
    the host cannot serve, 9 without a required extension. Raises `OSError`."""
    fd_limit.check_least()
    try:
        check_files(stats_file, metrics_file, stats_interval_s, openmetrics=openmetrics)
        consent = Consent(whole_project=trust_project)
        (folder,) = checked("the working folder", (project_folder(cwd),))
        (home,) = checked("zot's folder ($ZOT_HOME)", (str(zot_home()),))
        if discover and not trust_project:
            consent = ask(extensions, folder, Path(home), mcp_configs)
        host = Host(
            version=VERSION,
            extensions=checked("--ext", extensions),
            mcp_configs=checked("--mcp-config", mcp_configs),
            discover_more=discover,
            cwd=folder,
            home=Path(home),
            strict_guards=strict_guards,
            allow_asked=allow_asked,
            stats_file=None if stats_file is None else Path(stats_file).absolute(),
            metrics_file=None if metrics_file is None else Path(metrics_file).absolute(),
            stats_interval_s=stats_interval_s,
            openmetrics=openmetrics,
            consent=consent,
            watch_files=watch,
        )
    except KeyboardInterrupt:
        return Status.INTERRUPTED.exit_code
    except (ConfigError, StatsFileError) as error:
        raise CommandLineError(str(error)) from None
    # A terminal that is paused with Ctrl-S must not stop the host.
    stderr = FdWriter(host.loop, 2, _ignore, lossy=True)
    host.tell = HostLog(stderr.write, form=log_format, level=log_level, is_coloured=_wants_colours(2))
    found = survey(LOOK_S)
    close(each.client for each in found)
    if others := {each.pid: each.info.extensions for each in found if each.info and each.info.kind == "host"}:
        host.loop.call_later(0, lambda: _tell_of_others(host, others))  # when it knows its own extensions
    try:
        phase = host.run()
        host.tell(HostEvent("stopped", f"by {host.stopped_by}{_cut(phase)}", fields={"pid": os.getpid()}))
        if phase is HostPhase.CUT_SHORT:
            return Status.INTERRUPTED.exit_code
        return Status.REQUIRED_EXTENSION.exit_code if host.missing else 0
    except CannotServeError as error:
        host.tell(HostEvent("failed", str(error), "error"))
        return Status.ERROR.exit_code
    finally:
        host.loop.run_until(lambda: stderr.is_flushed, host.loop.clock() + FLUSH_S)
        stderr.close()
        host.close()


def _tell_of_others(host: Host, others: dict[int, tuple[str, ...]]) -> None:
    own = [each.name for each in host.supervisor.extensions]
    for line in shared({os.getpid(): own} | {pid: set(own) & set(names) for pid, names in others.items()}):
        host.tell(HostEvent("shared", f"{line}; zot stop PID ends one"))


def check_files(stats: str | None, metrics: str | None, interval_s: float | None, *, openmetrics: bool) -> None:
    """Raises `CommandLineError` for flags about files that would have no effect, or the wrong one."""
    if interval_s is not None and not isfinite(interval_s):
        raise CommandLineError(f"--stats-interval: {interval_s} is not a number of seconds")
    if interval_s is not None and stats is None:
        raise CommandLineError("--stats-interval has no effect without --stats FILE")
    if openmetrics and metrics is None:
        raise CommandLineError("--openmetrics has no effect without --metrics FILE")
    if stats is not None and metrics is not None and os.path.realpath(stats) == os.path.realpath(metrics):
        raise CommandLineError(f"--stats and --metrics name the same file, {metrics}; each needs its own")


def _wants_colours(fd: int) -> bool:
    return os.isatty(fd) and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def _cut(phase: HostPhase) -> str:
    return ", at once" if phase is HostPhase.CUT_SHORT else ""


def checked(where: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts as they are. Raises `CommandLineError` for a text that is not UTF-8: extensions get the texts in JSON,
    which holds only UTF-8."""
    for text in texts:
        if text != valid_text(text):
            raise CommandLineError(f"{where} {valid_text(text)!r}: not valid UTF-8")
    return texts


def _ignore(_reason: str) -> None:
    """The host does not depend on a reader of its stderr."""
