"""`zot ext reload`: asks a host, waits, and says what became of each extension."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from cli.choices import CommandLineError
from cli.hosts.find import close, connect, listed, survey
from supervisor.control.client import HostError
from wire import control
from wire.text import one_line

if TYPE_CHECKING:
    from supervisor.control.client import ControlClient

WAIT_S = 180.0
"""A new version has its own deadlines, a minute at most unless its manifest says more."""
REASON = 1000


def run_reload(name: str | None, pid: int | None, *, as_json: bool) -> int:
    """Returns the exit status. Raises `HostError`, and `CommandLineError` for a name that is none, and where it is not
    clear which host."""
    with _host_of(name, pid) as client:
        request = control.Reload(client.next_id(), name)
        try:
            outcomes = client.ask(request, control.Reloaded, WAIT_S).outcomes
        except HostError as error:
            if str(error).startswith("no such extension"):
                raise CommandLineError(str(error)) from None
            raise
        for one in outcomes:
            _show(client.pid, one, as_json=as_json)
        if not outcomes and not as_json:
            print(f"zot ext reload: host {client.pid} has no extensions", file=sys.stderr)  # noqa: T201
    sys.stdout.flush()
    return 1 if any(one.outcome == "kept" for one in outcomes) else 0


def _show(host: int, one: control.ReloadOutcome, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode({"host": host, **msgspec.structs.asdict(one)}) + b"\n")
        return
    reason = f": {one_line(one.reason, REASON)}" if one.reason else ""
    print(f"{one_line(one.name, 200)}  {one.outcome}{reason}")  # noqa: T201


def _host_of(name: str | None, pid: int | None) -> ControlClient:
    """The host with this pid; the only one that has such an extension; else the only one, which may find it now."""
    if name is None or pid is not None:
        return connect(pid)
    found = survey()
    having = [one for one in found if one.info is not None and name in one.info.extensions]
    chosen = having[0].client if len(having) == 1 else None
    close(one.client for one in found if one.client is not chosen)
    if len(having) > 1:
        raise CommandLineError(f"{len(having)} hosts have it; name one with --host: {listed(having)}")
    return connect(None) if chosen is None else chosen
