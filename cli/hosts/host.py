"""`zot host`: runs extensions without an agent, and serves them to other programs until it is stopped."""

from __future__ import annotations

import os
import sys
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.output.fd_writer import FdWriter
from cli.choices import CommandLineError, project_folder
from cli.hosts.find import close, shared_extensions, survey
from cli.hosts.host_log import HostLog
from cli.run.trust_prompt import ask
from cli.version import VERSION
from supervisor.discovery.admission import Consent
from supervisor.home.config import ConfigError, load_config
from supervisor.home.zot_home import zot_home
from supervisor.host import CannotServeError, Host, HostPhase, UnknownShareError
from supervisor.host_event import HostEvent
from supervisor.monitoring.rotated_file import StatsFileError
from supervisor.process import fd_limit
from supervisor.traces.kept_flags import kept_parameters
from supervisor.traces.trace_file import TraceFile, trace_header
from wire.exit_codes import Status
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.telemetry.host_telemetry import HostTelemetry
    from wire.stats import HostKind
    from wire.trace_context import TraceContext

FLUSH_S = 0.5
LOOK_S = 0.3
"""Maximum wait for the other hosts' lists of extensions, in seconds."""


class HostPlace(NamedTuple):
    """Where a host works, and what may run there."""

    folder: str
    """The project's folder."""
    home: Path
    """`$ZOT_HOME`."""
    consent: Consent


def run_host(flags: Mapping[str, Any], detach: Callable[[Path], int | None] | None = None) -> int:
    """Returns the exit status: 0 after a stop, 130 if a second signal cut the stop short or Ctrl-C ended a
    question, 1 if the host cannot serve, 9 if it lacks a required extension. `detach` is called when the flags are
    checked and no question is left: the host runs in the process that gets None, and the other one ends with the
    status. Raises `CommandLineError`, `OSError`."""
    try:
        place = check_flags(flags, "host")
    except KeyboardInterrupt:
        return Status.INTERRUPTED.exit_code
    if detach is not None and (status := detach(place.home)) is not None:
        return status
    host = make_host(flags, place)
    # A terminal that is paused with Ctrl-S must not stop the host.
    stderr = FdWriter(host.loop, 2, _ignore, lossy=True)
    host.tell = HostLog.of(flags, stderr.write)
    telemetry = begin_telemetry(host, flags)
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
    except UnknownShareError as error:
        raise CommandLineError(str(error)) from None
    finally:
        if telemetry is not None:
            telemetry.close(at_once=host.phase is HostPhase.CUT_SHORT)
        host.loop.run_until(lambda: stderr.is_flushed, host.loop.clock() + FLUSH_S)
        stderr.close()
        host.close()


def check_flags(flags: Mapping[str, Any], kind: HostKind) -> HostPlace:
    """Where the host is to work. One of the kind `host` asks on a terminal whether the project's extensions may run.
    Raises `CommandLineError`, `KeyboardInterrupt` and `OSError`."""
    fd_limit.check_least()
    if flags.get("otel"):
        _check_extra()
    _check_files(flags["stats"], flags["metrics"], flags["stats_interval"], openmetrics=flags["openmetrics"])
    extensions, mcp_configs = tuple(flags["ext"] or ()), tuple(flags["mcp_config"] or ())
    consent = Consent(whole_project=flags["trust_project"])
    (folder,) = _check_flags("the working folder", (project_folder(flags["cwd"]),))
    (home,) = _check_flags("zot's folder ($ZOT_HOME)", (str(zot_home()),))
    if kind == "host" and not flags["no_ext"] and not consent.whole_project:
        consent = ask(extensions, folder, Path(home), mcp_configs)
    return HostPlace(folder, Path(home), consent)


def make_host(flags: Mapping[str, Any], place: HostPlace, kind: HostKind = "host") -> Host:
    """The host that the flags of its start ask for. Raises `CommandLineError` and `OSError`."""
    try:
        return Host(
            version=VERSION,
            extensions=_check_flags("--ext", tuple(flags["ext"] or ())),
            mcp_configs=_check_flags("--mcp-config", tuple(flags["mcp_config"] or ())),
            discover_more=not flags["no_ext"],
            cwd=place.folder,
            home=place.home,
            strict_guards=flags["strict_guards"],
            allow_asked=flags["allow_asked"],
            profile_on_stall=flags["profile_on_stall"],
            stats_file=None if flags["stats"] is None else Path(flags["stats"]).absolute(),
            metrics_file=None if flags["metrics"] is None else Path(flags["metrics"]).absolute(),
            stats_interval_s=flags["stats_interval"],
            openmetrics=flags["openmetrics"],
            kind=kind,
            consent=place.consent,
            watch_files=flags["watch"],
            share=tuple(flags.get("share") or ()),
            trace=None if flags["no_trace"] else _open_trace(flags, kind, place),
        )
    except (ConfigError, StatsFileError) as error:
        raise CommandLineError(str(error)) from None


def begin_telemetry(
    host: Host, flags: Mapping[str, Any], kind: HostKind = "host",
    caller_of: Callable[[str | None], TraceContext | None] = lambda _call: None,
) -> HostTelemetry | None:  # fmt: skip
    """The telemetry of a host with `--otel`, which tells by `host.tell`; None without the flag. `caller_of`: as with
    `HostTelemetry`."""
    if not flags.get("otel"):
        return None
    from supervisor.telemetry.host_telemetry import HostTelemetry  # other hosts do not load it

    def say(line: str) -> None:
        host.tell(HostEvent("otel", line.removeprefix("otel: "), "warning"))

    return HostTelemetry(host.supervisor, kind, VERSION, host.cwd, say, caller_of)


def _check_extra() -> None:
    """Raises `CommandLineError` if `--otel` cannot work."""
    from supervisor.telemetry.telemetry import MissingExtraError, check_extra

    try:
        check_extra()
    except MissingExtraError as error:
        raise CommandLineError(str(error)) from None


def _open_trace(flags: Mapping[str, Any], kind: HostKind, place: HostPlace) -> TraceFile:
    """The trace of a host, with its first line."""
    header = trace_header(kind, VERSION, place.folder, kept_parameters(flags))
    return TraceFile(place.home, load_config(place.home).runs.keep, _say, header)


def _say(text: str) -> None:
    print(f"zot: {text}", file=sys.stderr)  # noqa: T201


def _tell_of_others(host: Host, others: dict[int, tuple[str, ...]]) -> None:
    own = [each.name for each in host.supervisor.extensions]
    for line in shared_extensions({os.getpid(): own} | {pid: set(own) & set(names) for pid, names in others.items()}):
        host.tell(HostEvent("shared", f"{line}; zot stop PID ends one"))


def _check_files(stats: str | None, metrics: str | None, interval_s: float | None, *, openmetrics: bool) -> None:
    """Raises `CommandLineError` for flags about files that have no effect, or that name the same file."""
    if interval_s is not None and not isfinite(interval_s):
        raise CommandLineError(f"--stats-interval: {interval_s} is not a number of seconds")
    if interval_s is not None and stats is None:
        raise CommandLineError("--stats-interval has no effect without --stats FILE")
    if openmetrics and metrics is None:
        raise CommandLineError("--openmetrics has no effect without --metrics FILE")
    if stats is not None and metrics is not None and os.path.realpath(stats) == os.path.realpath(metrics):
        raise CommandLineError(f"--stats and --metrics name the same file, {metrics}; each needs its own")


def _cut(phase: HostPhase) -> str:
    return ", at once" if phase is HostPhase.CUT_SHORT else ""


def _check_flags(where: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts as they are. Raises `CommandLineError` for a text that is not UTF-8: extensions get the texts in JSON,
    which holds only UTF-8."""
    for text in texts:
        if text != valid_text(text):
            raise CommandLineError(f"{where} {valid_text(text)!r}: not valid UTF-8")
    return texts


def _ignore(_reason: str) -> None:
    """The host does not depend on a reader of its stderr."""
