"""`zot host`: runs extensions without an agent, and serves them to other programs until it is stopped."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.output.fd_writer import FdWriter
from cli.hosts.find import close, shared, survey
from cli.hosts.host_log import HostLog
from cli.hosts.request import make_host
from cli.run.trust_prompt import ask
from supervisor.host import CannotServeError, HostEvent, Phase
from wire.exit_codes import Status

if TYPE_CHECKING:
    from cli.hosts.request import HostRequest
    from supervisor.host import Host

FLUSH_S = 0.5
LOOK_S = 0.3
"""Seconds for the other hosts to say which extensions they run."""


def run_host(request: HostRequest) -> int:
    """Returns the exit status: 0 after a stop, 130 if a second signal cut it short or Ctrl-C answered a question, 1 if
    the host cannot serve, 9 without a required extension. Raises `CommandLineError` and `OSError`."""
    try:
        host = make_host(request, "host", lambda folder, home: ask(request.ext, folder, home, request.mcp_config))
    except KeyboardInterrupt:
        return Status.INTERRUPTED.exit_code
    # A terminal that is paused with Ctrl-S must not stop the host.
    stderr = FdWriter(host.loop, 2, _ignore, lossy=True)
    host.tell = HostLog(stderr.write, form=request.log_format, level=request.log_level)
    found = survey(LOOK_S)
    close(each.client for each in found)
    if others := {each.pid: each.info.extensions for each in found if each.info and each.info.kind == "host"}:
        host.loop.call_later(0, lambda: _tell_of_others(host, others))  # when it knows its own extensions
    try:
        phase = host.run()
        cut = ", at once" if phase is Phase.CUT_SHORT else ""
        host.tell(HostEvent("stopped", f"by {host.stopped_by}{cut}", fields={"pid": os.getpid()}))
        if phase is Phase.CUT_SHORT:
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


def _ignore(_reason: str) -> None:
    """The host does not depend on a reader of its stderr."""
