"""`zot ext list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.columns import fit_columns, print_table
from cli.ext.manage.shared_options import InGlobal, InProject, folders_at, run_and_exit, scopes_from
from cli.json_line import print_json
from cli.number_format import count_text
from cli.parameters import Cwd, Json
from cli.terminal import say, table_width, terminal_text

if TYPE_CHECKING:
    from pathlib import Path

    import typer

    from supervisor.install.installed_extension import InstalledExtension
    from supervisor.monitoring.definition_sizes import DefinitionSize, Sizes

COLUMNS = ("scope", "name", "version", "enabled", "language", "trusted", "tokens", "source", "dir")
GIVES_WAY = (7, 8, 4, 2, 6, 0)
"""Columns that are left out on a terminal that is too narrow, the least important first; zot ext info has them all."""


def register(app: typer.Typer) -> None:
    app.command("list")(ext_list)
    app.command("ls", hidden=True)(ext_list)


def ext_list(project: InProject = False, everywhere: InGlobal = False, cwd: Cwd = None, as_json: Json = False) -> None:
    """List the installed extensions and MCP servers, without starting them.

    MCP servers are read from .mcp.json and $ZOT_HOME/mcp.json, and "dir" is that file. Copilot extensions are read from
    .github/extensions, $ZOT_HOME/copilot-extensions and ~/.copilot/extensions. A broken one is listed with its fault.
    "tokens" is about how many tokens its tool definitions took in each request to the model when it last ran; "-" if it
    has not run yet.

    Exit status: 0 listed, also if there is nothing; 1 failed; 2 usage.

    Examples:
        zot ext list                        a table
        zot ext list --json | jq -r .name   only the names
    """
    run_and_exit("list", lambda: _run(project=project, everywhere=everywhere, cwd=cwd, as_json=as_json))


def _run(*, project: bool, everywhere: bool, cwd: str | None, as_json: bool) -> int:
    from supervisor.install.installed_extension import installed_extensions
    from supervisor.monitoring.definition_sizes import read_sizes

    folders = folders_at(cwd)
    found = installed_extensions(folders, scopes_from(project=project, everywhere=everywhere), say)
    if as_json:
        sizes = read_sizes(folders.home)
        for extension in found:
            print_json(_record(extension, folders.home, _size(extension, sizes)))
    elif not found:
        say("no extensions installed; zot ext install PATH|URL|OWNER/REPO installs one")
    else:
        _print_table(found, folders.home, table_width())
    return 0


def _print_table(found: list[InstalledExtension], home: Path, width: int | None) -> None:
    """With a width, lines about extensions stand below the table; without one, after the folder."""
    from supervisor.monitoring.definition_sizes import read_sizes

    troubles = [(each, each.trouble or each.record_trouble or _without_program(each)) for each in found]
    sizes = read_sizes(home)
    rows = [_row(each, home, sizes, "" if width is not None else trouble) for each, trouble in troubles]
    lines = fit_columns([COLUMNS, *rows], width, GIVES_WAY)
    if width is not None:
        lines += [f"{terminal_text(one.name)}: {terminal_text(trouble, 1000)}" for one, trouble in troubles if trouble]
    print_table(lines)


def _row(extension: InstalledExtension, home: Path, sizes: Sizes, trouble: str) -> tuple[str, ...]:
    manifest, size = extension.manifest, _size(extension, sizes)
    place = str(extension.mcp_file or extension.folder)
    folder = f"{place}  {trouble}" if trouble else place
    return tuple(
        terminal_text(cell or None, 1000)
        for cell in (
            extension.scope.label,
            extension.name,
            manifest and manifest.version,
            "broken" if manifest is None else "yes" if manifest.is_enabled else "no",
            manifest and manifest.language,
            _trust_text(extension, home),
            None if size is None else count_text(size.tokens),
            _source(extension),
            folder,
        )
    )


def _without_program(extension: InstalledExtension) -> str:
    return "" if extension.manifest is None else extension.manifest.without_program


def _size(extension: InstalledExtension, sizes: Sizes) -> DefinitionSize | None:
    from supervisor.monitoring.definition_sizes import key_of

    return sizes.get(key_of(extension.name, extension.folder))


def _trust_text(extension: InstalledExtension, home: Path) -> str | None:
    """`yes` or `no` for an extension that needs trust; None for others."""
    from supervisor.install.installed_extension import is_trusted

    if not extension.needs_trust or extension.found is None:
        return None
    return "yes" if is_trusted(extension, home) else "no"


def _source(extension: InstalledExtension) -> str | None:
    if extension.is_link:
        return f"-> {extension.target}"
    if extension.record is None:
        return extension.kind.label
    return extension.record.source + (f"@{extension.record.ref}" if extension.record.ref else "")


def _kind(extension: InstalledExtension) -> str | None:
    if extension.is_link:
        return "link"
    if extension.record is not None:
        return extension.record.kind
    return extension.kind.label


def _file(extension: InstalledExtension) -> str | None:
    return None if extension.mcp_file is None else str(extension.mcp_file)


def _record(extension: InstalledExtension, home: Path, size: DefinitionSize | None) -> dict[str, Any]:
    manifest, record = extension.manifest, extension.record
    trusted = _trust_text(extension, home)
    return {
        "name": extension.name,
        "scope": extension.scope.recorded,
        "dir": str(extension.runs_in),
        "version": manifest and manifest.version,
        "enabled": None if manifest is None else manifest.is_enabled,
        "language": manifest and manifest.language,
        "description": manifest and manifest.description,
        "trusted": None if trusted is None else trusted == "yes",
        "source": extension.target if extension.is_link else record.source if record else _file(extension),
        "kind": _kind(extension),
        "dialect": manifest and manifest.dialect,
        "ref": record and record.ref,
        "commit": record and record.commit,
        "broken": extension.trouble or None,
        "without_program": _without_program(extension) or None,
        "tools": size and size.tools,
        "definition_tokens": size and size.tokens,
    }
