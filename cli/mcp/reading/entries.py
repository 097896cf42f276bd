"""The entries of both files of MCP servers, with what would happen to each at a start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.choices import CommandLineError
from cli.mcp.shared import McpScope
from supervisor.home.small_file import read_file
from wire.settings.expansion import ExpansionError, expand
from wire.settings.mcp_file import PROJECT_FILE, USER_FILE, McpFileError, at, parse_mcp
from wire.suggest import no_such

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from wire.settings.mcp_file import EntryFault, McpEntry


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
    for scope, file in ((McpScope.project, project / PROJECT_FILE), (McpScope.user, home / USER_FILE)):
        try:
            parsed = parse_mcp(read_file(file))
        except FileNotFoundError:
            continue
        except McpFileError as error:
            faults.append(f"{file}:{error}" if str(error)[:1].isdigit() else f"{file}: {error}")
            continue
        except OSError as error:
            faults.append(f"{file}: cannot be read: {error.strerror}")
            continue
        found += (_usable(entry, scope, file, _unset(entry, environ, project)) for entry in parsed.entries)
        found += (_faulty(fault, scope, file) for fault in parsed.faults)
    return Entries(tuple(found), tuple(faults))


def named(name: str, found: Sequence[Listed], scope: McpScope | None) -> list[Listed]:
    """The entries of this name, as it is written or as it is called here. Raises `CommandLineError` if there is
    none."""
    here = [each for each in found if scope in (None, each.scope)]
    if matching := [each for each in here if each.key == name] or [each for each in here if each.name == name]:
        return matching
    known = sorted({each.name for each in here})
    which = f" of scope {scope.value}" if scope is not None else ""
    if not known:
        raise CommandLineError(f"no MCP server {name!r}: there is none{which}; zot mcp add adds one")
    raise CommandLineError(no_such(f"MCP server{which}", name, known))


def _unset(entry: McpEntry, environ: Mapping[str, str], project: Path) -> str:
    try:
        for text in entry.server.texts:
            expand(text, environ, str(project))
    except ExpansionError as error:
        return str(error)
    return ""


def _usable(entry: McpEntry, scope: McpScope, file: Path, trouble: str) -> Listed:
    return Listed(entry.name, entry.key, scope, file, entry, at(file, entry.place), trouble)


def _faulty(fault: EntryFault, scope: McpScope, file: Path) -> Listed:
    return Listed(fault.name, fault.key, scope, file, None, at(file, fault.place), fault.message, fault.is_disabled)
