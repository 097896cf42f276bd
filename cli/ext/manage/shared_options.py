"""Shared by the commands about installed extensions: options, the choice of extensions, questions and the exit."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from cli.help.completion import installed_extensions
from cli.os_errors import exit_with
from cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.discovery.found_extension import Scope
    from supervisor.install.installed_extension import ExtensionFolders, InstalledExtension

InProject = Annotated[bool, typer.Option("--project", help="Take only project extensions, in DIR/.zot/extensions.")]
InGlobal = Annotated[bool, typer.Option("--global", help="Take only user extensions, in $ZOT_HOME/extensions.")]


def _seconds(value: float) -> float:
    if not 1 <= value <= 86_400:  # NaN fails both comparisons
        raise typer.BadParameter(f"{value:g} is not between 1 and 86400")
    return value


GitTimeout = Annotated[
    float,
    typer.Option("--timeout", help="End git after SECONDS, each time it runs.", metavar="SECONDS", callback=_seconds),
]
InstalledName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="The extension's name, or that of its folder.",
        autocompletion=installed_extensions,
    ),
]


def run_and_exit(command: str, run: Callable[[], int]) -> None:
    """Runs a command as `exit_with` does. SIGTERM and SIGHUP raise `KeyboardInterrupt`, so that the command undoes its
    work."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    exit_with(f"ext {command}", run)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def folders_at(cwd: str | None) -> ExtensionFolders:
    """The folders of the project at `cwd` and of the user. Raises `MisuseError`."""
    import os
    from pathlib import Path

    from supervisor.home.zot_home import zot_home
    from supervisor.install.errors import MisuseError
    from supervisor.install.installed_extension import ExtensionFolders

    project = Path(os.path.expanduser(cwd if cwd is not None else "."))
    if not project.is_dir():
        raise MisuseError(f"--cwd {cwd}: {'not a folder' if project.exists() else 'no such folder'}")
    return ExtensionFolders(Path(os.path.realpath(project)), zot_home())


def scopes_from(*, project: bool, everywhere: bool) -> tuple[Scope, ...]:
    """The scope of the flag; both scopes without a flag. Raises `MisuseError` if both flags are given."""
    from supervisor.discovery.found_extension import Scope
    from supervisor.install.errors import MisuseError

    if project and everywhere:
        raise MisuseError("choose one of --project and --global")
    if project:
        return (Scope.PROJECT,)
    return (Scope.GLOBAL,) if everywhere else (Scope.PROJECT, Scope.GLOBAL)


def find_installed(name: str, folders: ExtensionFolders, *, project: bool, everywhere: bool) -> InstalledExtension:
    """The installed extension of this name. Raises `MisuseError` for an unknown or ambiguous name."""
    from supervisor.install.installed_extension import extension_named, installed_extensions

    scopes = scopes_from(project=project, everywhere=everywhere)
    return extension_named(name, installed_extensions(folders, scopes, say))


def running_hosts(name: str) -> list[int]:
    """Pids of the hosts that have an extension of this name."""
    from cli.hosts.find import close, survey

    found = survey()
    close(host.client for host in found)
    return [host.pid for host in found if host.info is not None and name in host.info.extensions]


def hint_at_reload(name: str) -> None:
    """Names the hosts that keep the old version until a reload."""
    import shlex

    if pids := running_hosts(name):
        say(f"  host {', '.join(map(str, pids))} runs it as it was: zot ext reload {shlex.quote(name)}")
