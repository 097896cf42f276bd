"""`zot ext enable`, `disable` and `remove`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.ext.manage.shared_options import (
    InGlobal,
    InProject,
    InstalledName,
    find_installed,
    folders_at,
    hint_at_reload,
    run_and_exit,
    running_hosts,
)
from cli.json_line import print_json
from cli.parameters import Cwd, Json
from cli.terminal import ask, is_attended, say, terminal_text

if TYPE_CHECKING:
    from supervisor.install.installed_extension import InstalledExtension
    from supervisor.install.manage import Removal


def register(app: typer.Typer) -> None:
    app.command("enable")(ext_enable)
    app.command("disable")(ext_disable)
    app.command("remove")(ext_remove)
    app.command("rm", hidden=True)(ext_remove)


def ext_enable(
    name: InstalledName,
    project: InProject = False,
    everywhere: InGlobal = False,
    cwd: Cwd = None,
    as_json: Json = False,
) -> None:
    """Let hosts start an installed extension again.

    Exit status: 0 it is enabled, 1 failed, 2 usage.

    Examples:
        zot ext enable guard              wherever it is installed
        zot ext enable guard --project    only the one of this project
    """
    run_and_exit("enable", lambda: _switch(name, (project, everywhere), cwd, on=True, as_json=as_json))


def ext_disable(
    name: InstalledName,
    project: InProject = False,
    everywhere: InGlobal = False,
    cwd: Cwd = None,
    as_json: Json = False,
) -> None:
    """Keep an installed extension, but do not start it.

    This is written into its manifest.

    Exit status: 0 it is disabled, 1 failed, 2 usage.

    Examples:
        zot ext disable guard             wherever it is installed
        zot ext disable guard --global    only the one for all projects
    """
    run_and_exit("disable", lambda: _switch(name, (project, everywhere), cwd, on=False, as_json=as_json))


def _switch(name: str, where: tuple[bool, bool], cwd: str | None, *, on: bool, as_json: bool) -> int:
    from supervisor.install.manage import switch

    folders = folders_at(cwd)
    extension = find_installed(name, folders, project=where[0], everywhere=where[1])
    changed = switch(extension, folders.home, on=on)
    word = "enabled" if on else "disabled"
    if as_json:
        print_json(
            {
                "action": word,
                "name": extension.name,
                "scope": extension.scope.recorded,
                "dir": str(extension.runs_in),
                "enabled": on,
                "changed": changed,
            }
        )
    elif not changed:
        say(f"{terminal_text(extension.name)} is {word} already")
    else:
        say(f"{word} {terminal_text(extension.name)}")
        if extension.trouble:
            say(f"  but it cannot be started: {terminal_text(extension.trouble, 1000)}")
        hint_at_reload(extension.name)
    return 0


def ext_remove(
    name: InstalledName,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")] = False,
    purge: Annotated[bool, typer.Option("--purge", help="Delete its data too.")] = False,
    project: InProject = False,
    everywhere: InGlobal = False,
    cwd: Cwd = None,
    as_json: Json = False,
) -> None:
    """Remove an installed extension, also a broken one.

    Its data stays, unless --purge is given.

    Exit status: 0 removed, or you said no; 1 failed; 2 usage.

    Examples:
        zot ext remove guard               asks first
        zot ext remove guard --yes --purge  does not ask, and deletes its data
    """
    run_and_exit("remove", lambda: _remove(name, (project, everywhere), cwd, yes=yes, purge=purge, as_json=as_json))


def _remove(name: str, where: tuple[bool, bool], cwd: str | None, *, yes: bool, purge: bool, as_json: bool) -> int:
    from supervisor.install.errors import MisuseError
    from supervisor.install.installed_extension import installed_extensions
    from supervisor.install.manage import remove

    folders = folders_at(cwd)
    extension = find_installed(name, folders, project=where[0], everywhere=where[1])
    if extension.mcp_file is not None:
        raise MisuseError(f"{extension.name!r} is an MCP server of {extension.mcp_file}: zot mcp remove takes it out")
    if not yes:
        if as_json or not is_attended():
            raise MisuseError(f"no terminal to ask whether to remove {extension.folder}; --yes removes it")
        if not ask(_question(extension, purge=purge)):
            say("aborted")
            return 0
    target = extension.target
    others = [other for other in installed_extensions(folders) if other.folder != extension.folder]
    done = remove(extension, folders.home, others, purge=purge)
    if as_json:
        print_json(
            {
                "action": "removed",
                "name": extension.name,
                "scope": extension.scope.recorded,
                "dir": str(extension.runs_in),
                "data_dir": None if done.data is None else str(done.data),
                "moved": [str(path) for path in done.moved],
                "purged": done.purged,
                "warnings": done.warnings,
            }
        )
    else:
        _tell(extension, done, target, purge=purge)
    return 0


def _question(extension: InstalledExtension, *, purge: bool) -> str:
    what = f"the link {extension.folder} -> {extension.target}" if extension.is_link else str(extension.folder)
    return f"remove {what}{' and its data' if purge else ''}?"


def _tell(extension: InstalledExtension, done: Removal, target: str, *, purge: bool) -> None:
    """`target` is where the removed link led to; empty if it was no link."""
    say(f"removed {extension.folder}" + (f"; {target} stays as it is" if target else ""))
    if done.moved:
        assert done.data is not None
        names = ", ".join(str(path.relative_to(done.data)) for path in done.moved[:5])
        more = f" and {len(done.moved) - 5} more" if len(done.moved) > 5 else ""
        say(f"  moved out of it first: {names}{more}")
    for warning in done.warnings:
        say(f"  {warning}")
    if done.purged:
        say("  its data is deleted")
    elif done.data is not None and purge:
        say(f"  its data stays, because another extension uses it: {done.data}")
    elif done.data is not None:
        say(f"  its data stays in {done.data}")
    if pids := running_hosts(extension.name):
        say(f"  host {', '.join(map(str, pids))} runs it until it is stopped or reloaded: zot ext reload")
