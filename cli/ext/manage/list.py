"""`zot ext list`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from cli.aligned import aligned
from cli.ext.manage.shared_options import Cwd, InGlobal, InProject, folders_at, managing, say, scopes_from, shown
from cli.json_line import print_json
from cli.parameters import Json

if TYPE_CHECKING:
    from pathlib import Path

    import typer

    from supervisor.install.installed import Installed

COLUMNS = ("scope", "name", "version", "enabled", "language", "trusted", "source", "dir")


def register(app: typer.Typer) -> None:
    app.command("list")(ext_list)
    app.command("ls", hidden=True)(ext_list)


def ext_list(project: InProject = False, everywhere: InGlobal = False, cwd: Cwd = None, as_json: Json = False) -> None:
    """List what is installed, broken ones with what is wrong. None of it is started.

    Exit status: 0, also if there is nothing; 1 failed; 2 usage.

    Example: [bold]zot ext list --json | jq -r .name[/bold]
    """
    managing("list", lambda: _run(project=project, everywhere=everywhere, cwd=cwd, as_json=as_json))


def _run(*, project: bool, everywhere: bool, cwd: str | None, as_json: bool) -> int:
    from supervisor.install.installed import installed

    folders = folders_at(cwd)
    found = installed(folders, scopes_from(project=project, everywhere=everywhere))
    if as_json:
        for extension in found:
            print_json(_record(extension, folders.home))
    elif not found:
        say("no extensions installed; zot ext install PATH|URL|OWNER/REPO installs one")
    else:
        for line in aligned([COLUMNS, *(_row(extension, folders.home) for extension in found)]):
            sys.stdout.write(line + "\n")
    return 0


def _row(extension: Installed, home: Path) -> tuple[str, ...]:
    manifest = extension.manifest
    folder = str(extension.folder)
    if extension.trouble:
        folder += f"  {extension.trouble}"
    elif extension.record_trouble:
        folder += f"  {extension.record_trouble}"
    return tuple(
        shown(cell, 1000)
        for cell in (
            extension.scope.label,
            extension.name,
            manifest and manifest.version,
            "broken" if manifest is None else "yes" if manifest.is_enabled else "no",
            manifest and manifest.language,
            _trusted(extension, home),
            _source(extension),
            folder,
        )
    )


def _trusted(extension: Installed, home: Path) -> str | None:
    """`yes` or `no` for an extension of a project; None for other extensions, which need no trust."""
    from supervisor.discovery.discover import Scope
    from supervisor.install.installed import is_trusted

    if extension.scope is not Scope.PROJECT or extension.found is None:
        return None
    return "yes" if is_trusted(extension, home) else "no"


def _source(extension: Installed) -> str | None:
    if extension.is_link:
        return f"-> {extension.target}"
    if extension.record is None:
        return None
    return extension.record.source + (f"@{extension.record.ref}" if extension.record.ref else "")


def _record(extension: Installed, home: Path) -> dict[str, Any]:
    manifest, record = extension.manifest, extension.record
    trusted = _trusted(extension, home)
    return {
        "name": extension.name,
        "scope": extension.scope.label,
        "dir": str(extension.folder),
        "version": manifest and manifest.version,
        "enabled": None if manifest is None else manifest.is_enabled,
        "language": manifest and manifest.language,
        "description": manifest and manifest.description,
        "trusted": None if trusted is None else trusted == "yes",
        "source": extension.target if extension.is_link else record and record.source,
        "kind": "link" if extension.is_link else record and record.kind,
        "ref": record and record.ref,
        "commit": record and record.commit,
        "broken": extension.trouble or None,
    }
