"""The entries of both files of MCP servers, with what would happen to each at a start."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.choices import CommandLineError
from cli.mcp.shared import McpScope
from cli.os_errors import UnableError
from supervisor.discovery.discover import mcp_file
from supervisor.discovery.found import Scope
from supervisor.discovery.mcp.servers import as_extension, expanded, parse_file
from wire.manifest import ManifestError
from wire.settings.mcp_file import at
from wire.suggest import no_such

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from supervisor.discovery.found import Found
    from wire.settings.mcp_file import EntryFault, McpEntry

SCOPES = {McpScope.project: Scope.PROJECT, McpScope.user: Scope.GLOBAL}
"""In the order in which they take their names."""


@dataclass(frozen=True)
class Listed:
    """One entry."""

    name: str
    key: str
    """Its name as it is written."""
    scope: McpScope
    file: Path
    entry: McpEntry | None
    """None if it is faulty."""
    where: str
    """`FILE:LINE:COLUMN`."""
    trouble: str = ""
    """Why it could not be started: its fault, or a variable that is not set; empty if it could."""
    found: Found | None = None
    """The extension that a run would start; None if it could not."""
    is_disabled: bool = False
    """Of a faulty one: whether the user wants it skipped anyway."""

    @property
    def is_enabled(self) -> bool:
        return not self.is_disabled if self.entry is None else self.entry.server.is_enabled

    @property
    def place(self) -> Path:
        """What records know it by."""
        return self.file / self.name


@dataclass(frozen=True)
class Entries:
    found: tuple[Listed, ...]
    """Those of the project first, each file in its order."""
    faults: tuple[str, ...]
    """Files that cannot be read, a line for each."""


def read_entries(project: Path, home: Path, environ: Mapping[str, str]) -> Entries:
    """Reads both files. `environ` has the variables that would be filled in."""
    found: list[Listed] = []
    faults: list[str] = []
    for scope, kind in SCOPES.items():
        file = mcp_file(kind, project, home)
        if not os.path.lexists(file):
            continue
        try:
            parsed = parse_file(file)
        except ManifestError as error:
            faults.append(str(error))
            continue
        for entry in parsed.entries:
            made = expanded(as_extension(file, entry, kind, project), environ)
            trouble, extension = (made, None) if isinstance(made, str) else ("", made)
            place = at(file, entry.place)
            found.append(Listed(entry.name, entry.key, scope, file, entry, place, trouble, extension))
        found += (_faulty(fault, scope, file) for fault in parsed.faults)
    return Entries(tuple(found), tuple(faults))


def named(name: str, entries: Entries, scope: McpScope | None) -> list[Listed]:
    """The entries of this name, as it is written or as it is called here. Raises `CommandLineError` if there is
    none, and `UnableError` if no file could be read."""
    if entries.faults and not entries.found:
        raise UnableError(entries.faults[0])
    here = [each for each in entries.found if scope in (None, each.scope)]
    if matching := [each for each in here if each.key == name] or [each for each in here if each.name == name]:
        return matching
    known = sorted({each.name for each in here})
    which = f" of scope {scope.value}" if scope is not None else ""
    if not known:
        raise CommandLineError(f"no MCP server {name!r}: there is none{which}; zot mcp add adds one")
    raise CommandLineError(no_such(f"MCP server{which}", name, known))


def _faulty(fault: EntryFault, scope: McpScope, file: Path) -> Listed:
    place = at(file, fault.place)
    return Listed(fault.name, fault.key, scope, file, None, place, fault.message, is_disabled=fault.is_disabled)
