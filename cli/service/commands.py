"""The commands below `zot host`, as typer sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.help.completion import hosts
from cli.os_errors import exit_with
from cli.parameters import Json  # noqa: TC001  (typer reads the annotations)
from cli.run.flags import with_flags
from wire.flags.host import HOST

if TYPE_CHECKING:
    from cli.help.command_classes import HelpTyper

User = Annotated[
    bool, typer.Option("--user", help="For your own service manager, without root. Default: for the system's.")
]


def register(app: HelpTyper) -> None:
    app.command("install")(install)
    app.command("uninstall")(uninstall)
    app.command("health")(health)


@with_flags(HOST)
def install(
    ctx: typer.Context,
    user: User = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Replace a unit that differs.")] = False,
    **_flags: Any,
) -> None:
    """Write a systemd unit that keeps a host with these flags running, and say how to start it.

    The host gets the present folder as its project, your $ZOT_HOME and your PATH. The unit is not started. On macOS it
    is a launchd property list for your own session (not tried).

    Exit status: 0 written, or there already; 1 another unit is there or it cannot be written, 2 usage.

    Examples:
        zot host install --user               the installed extensions, for your own manager
        zot host install --user -e ./guard    also guard
        zot host install --cwd /srv/project   for the system's manager; with sudo, it runs as you
    """
    from cli.service.install import run_install

    exit_with("host install", lambda: run_install(ctx.params, is_of_user=user, replaces=yes))


def uninstall(user: User = False) -> None:
    """Remove the unit that install has written. No other unit is removed.

    Exit status: 0 removed, 1 there is none, or none of ours; 2 usage.

    Examples:
        zot host uninstall --user     that of your own manager
        zot host uninstall            that of the system's manager, with sudo
    """
    from cli.service.install import run_uninstall

    exit_with("host uninstall", lambda: run_uninstall(is_of_user=user))


def health(
    pid: Annotated[
        int | None,
        typer.Argument(
            metavar="[PID]",
            help="The pid of the host, see zot ps. Default: every zot host.",
            min=1,
            autocompletion=hosts,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Tell whether the host answers and its extensions run: a line for the host, and one for each extension.

    A host fails if it does not answer within 2 s. An extension fails if it is given up, ends again and again, was ended
    for its limits, or could not be started at all.

    Exit status: 0 all is well, 1 something fails or no host runs, 2 usage.

    Examples:
        zot host health                              every zot host
        zot host health 4242                         the host with this pid, also a run
        zot host health --json | jq .status          ok or fail, line by line
    """
    from cli.service.health import run_health

    exit_with("host health", lambda: run_health(pid, as_json=as_json))
