"""`zot ext enable` and `zot ext disable`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.dialogue import say, shown
from cli.ext.manage.shared_options import (
    InGlobal,
    InProject,
    InstalledName,
    find_installed,
    folders_at,
    hint_at_reload,
    managing,
)
from cli.json_line import print_json
from cli.parameters import Cwd, Json

if TYPE_CHECKING:
    import typer


def register(app: typer.Typer) -> None:
    app.command("enable")(ext_enable)
    app.command("disable")(ext_disable)


def ext_enable(
    name: InstalledName,
    project: InProject = False,
    everywhere: InGlobal = False,
    cwd: Cwd = None,
    as_json: Json = False,
) -> None:
    """Let an installed extension be started again.

    Exit status: 0 it is enabled, 1 failed, 2 usage.

    Examples:
        zot ext enable guard              wherever it is installed
        zot ext enable guard --project    only the one of this project
    """
    managing("enable", lambda: _run(name, (project, everywhere), cwd, on=True, as_json=as_json))


def ext_disable(
    name: InstalledName,
    project: InProject = False,
    everywhere: InGlobal = False,
    cwd: Cwd = None,
    as_json: Json = False,
) -> None:
    """Keep an installed extension, but do not start it.

    Its manifest says so from then on.

    Exit status: 0 it is disabled, 1 failed, 2 usage.

    Examples:
        zot ext disable guard             wherever it is installed
        zot ext disable guard --global    only the one for all projects
    """
    managing("disable", lambda: _run(name, (project, everywhere), cwd, on=False, as_json=as_json))


def _run(name: str, where: tuple[bool, bool], cwd: str | None, *, on: bool, as_json: bool) -> int:
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
        say(f"{shown(extension.name)} is {word} already")
    else:
        say(f"{word} {shown(extension.name)}")
        if extension.trouble:
            say(f"  but it cannot be started: {shown(extension.trouble, 1000)}")
        hint_at_reload(extension.name)
    return 0
