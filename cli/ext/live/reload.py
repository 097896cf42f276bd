"""`zot ext reload`: asks a host, waits, and prints the outcome for each extension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.help.completion import live_extensions
from cli.os_errors import exit_with
from cli.parameters import HostOption, Json

if TYPE_CHECKING:
    from supervisor.control.client import ControlClient
    from wire.control import ReloadOutcome

WAIT_S = 180.0
"""Seconds. The deadlines of a new version are shorter: a minute at most, unless its manifest says more."""
REASON = 1000
"""Maximum length of a shown reason in characters."""


def register(app: typer.Typer) -> None:
    app.command("reload")(ext_reload)


def ext_reload(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="The extension's name. Default: all.",
            show_default=False,
            autocompletion=live_extensions,
        ),
    ] = None,
    pid: HostOption = None,
    as_json: Json = False,
) -> None:
    """Start a new version of an extension, and let it take over once it is ready.

    The old version answers until then, and finishes its calls. If the new version does not start, the old one stays.
    Without NAME all extensions of the host are reloaded. If the folder that it was installed from has changed since, it
    says so: the installed copy runs until zot ext update.

    Exit status: 0 done, 1 a new version did not start or there is no such host, 2 usage.

    Examples:
        zot ext reload guard                  one extension
        zot ext reload                        all of the host
        zot ext reload --json | jq .outcome   for a program
    """
    exit_with("ext reload", lambda: _run(name, pid, as_json=as_json))


def _run(name: str | None, pid: int | None, *, as_json: bool) -> int:
    """Returns the exit status. Raises `ControlError`, `CommandLineError` for an unknown name or several hosts."""
    import sys

    from cli.choices import CommandLineError
    from supervisor.control.client import ControlError
    from wire.control import Reload, Reloaded

    client, name = _host_of(name, pid)
    with client:
        request = Reload(client.next_id(), name)
        try:
            outcomes = client.ask(request, Reloaded, WAIT_S).outcomes
        except ControlError as error:
            if str(error).startswith("no such extension"):
                raise CommandLineError(str(error)) from None
            raise
        for outcome in outcomes:
            _show(client.pid, outcome, as_json=as_json)
        if not outcomes and not as_json:
            print(f"zot ext reload: host {client.pid} has no extensions of its own", file=sys.stderr)  # noqa: T201
    return 1 if any(outcome.outcome == "kept" for outcome in outcomes) else 0


def _show(host: int, outcome: ReloadOutcome, *, as_json: bool) -> None:
    from pathlib import Path

    import msgspec

    from cli.json_line import print_json
    from supervisor.discovery.steps import Allowance
    from supervisor.install.record import advice, newer_source
    from wire.text import one_line

    source = newer_source(Path(outcome.folder), Allowance()) if outcome.folder else None
    if as_json:
        newer = None if source is None else str(source)
        print_json({"host": host, **msgspec.structs.asdict(outcome), "newer_source": newer})
        return
    reason = f": {one_line(outcome.reason, REASON)}" if outcome.reason else ""
    newer = "" if source is None else f"; {one_line(advice(outcome.name, source), REASON)}"
    print(f"{one_line(outcome.name, 200)}  {outcome.outcome}{reason}{newer}")  # noqa: T201


def _host_of(name: str | None, pid: int | None) -> tuple[ControlClient, str | None]:
    """The host with this pid; else the only host with the extension; else the only host, which may discover it now. The
    name is that of the extension, also if it was named by its folder."""
    from cli.hosts.find import connect, host_with, known_name
    from wire.control import HostInfoReply, Info

    if name is None:
        return connect(pid), None
    if pid is None:
        found = host_with(name, None)
        return found.client or connect(None), found.name
    client = connect(pid)
    return client, known_name(name, client.ask(Info(client.next_id()), HostInfoReply).extensions)
