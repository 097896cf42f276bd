"""The entries of the two files of MCP servers: what a run would do with each, and which of its values are hidden.

Nothing is started to find out. The format is in `wire.settings.mcp_file`; changes are made by `cli.mcp.file_edit`.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from cli.choices import CommandLineError
from cli.mcp.scope import McpScope
from cli.os_errors import UnableError
from supervisor.discovery.discover import mcp_file
from supervisor.discovery.environment import is_secret
from supervisor.discovery.found_extension import Scope
from supervisor.discovery.mcp.servers import REASON, as_extension, expand_variables, is_itself, parse_file
from supervisor.discovery.trust_store import TrustStore
from supervisor.install.installed_extension import ExtensionFolders, installed_extensions, is_trusted
from wire.manifest import ManifestError
from wire.settings.mcp_file import at
from wire.settings.mcp_server import variables_in
from wire.suggestions import no_such

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.home.config import Config
    from wire.settings.mcp_file import EntryFault, McpEntry


SCOPES = {McpScope.project: Scope.PROJECT, McpScope.user: Scope.GLOBAL}
"""Scopes in the order in which their entries take names."""


@dataclass(frozen=True)
class ListedEntry:
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
    found: FoundExtension | None = None
    """The extension that a run would start; None if it could not."""
    is_disabled: bool = False
    """Whether a faulty entry is disabled by the user."""

    @property
    def is_enabled(self) -> bool:
        return not self.is_disabled if self.entry is None else self.entry.server.is_enabled

    @property
    def place(self) -> Path:
        """The path of the entry in records."""
        return self.file / self.name


@dataclass(frozen=True)
class Entries:
    found: tuple[ListedEntry, ...]
    """Entries of the project first, each file in its order."""
    faults: tuple[str, ...]
    """Files that cannot be read, a line for each."""


def read_entries(project: Path, home: Path, environ: Mapping[str, str]) -> Entries:
    """Reads both files. `environ` has the variables that would be filled in."""
    found: list[ListedEntry] = []
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
            made = expand_variables(as_extension(file, entry, kind, project), environ)
            trouble, extension = (made, None) if isinstance(made, str) else ("", made)
            place = at(file, entry.place)
            found.append(ListedEntry(entry.name, entry.key, scope, file, entry, place, trouble, extension))
        found += (_faulty(fault, scope, file) for fault in parsed.faults)
    return Entries(tuple(found), tuple(faults))


def find_entries(name: str, entries: Entries, scope: McpScope | None) -> list[ListedEntry]:
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
        raise CommandLineError(f"no MCP server {name!r}{which}; zot mcp add adds one")
    raise CommandLineError(no_such(f"MCP server{which}", name, known))


def _faulty(fault: EntryFault, scope: McpScope, file: Path) -> ListedEntry:
    place = at(file, fault.place)
    return ListedEntry(fault.name, fault.key, scope, file, None, place, fault.message, is_disabled=fault.is_disabled)


class EntryState(NamedTuple):
    """Whether a run would start the server of an entry, and why not."""

    word: str
    """`ok`, `disabled`, `faulty`, `hidden`, `unset`, `itself` or `untrusted`."""
    why: str = ""
    """Why it would not be started; empty if the user wants it so."""


OK = EntryState("ok")


def states_of(found: Sequence[ListedEntry], project: Path, home: Path) -> list[EntryState]:
    """The state of each entry; they are all the entries, those of the project first. Of extensions and entries with
    one name the first that can be started has it: the project's extensions, its entries, then those of the user."""
    judged = []
    taken: dict[str, str] = {}
    for scope, kind in SCOPES.items():
        for extension in installed_extensions(ExtensionFolders(project, home), (kind,)):
            manifest = extension.manifest
            if not extension.kind.has_folder or manifest is None or not manifest.is_enabled:
                continue
            if kind is Scope.GLOBAL or is_trusted(extension, home):
                taken.setdefault(manifest.name, str(extension.folder))
        for each in found:
            if each.scope is scope:
                state = _state_of(each, taken.get(each.name, ""), home)
                if state is OK:
                    taken[each.name] = str(each.file)
                judged.append(state)
    return judged


def _state_of(each: ListedEntry, taken: str, home: Path) -> EntryState:
    if not each.is_enabled:
        return EntryState("disabled")
    if each.entry is None:
        return EntryState("faulty", f"{each.where}: {each.trouble}")
    if taken:
        return EntryState("hidden", f"{each.where}: the name is taken by {taken}")
    if each.trouble:
        return EntryState("unset", f"{each.where}: {each.trouble}")
    if each.found is not None and is_itself(each.found):
        return EntryState("itself", f"{each.where}: {REASON}")
    if why := distrust_reason(each, home):
        return EntryState("untrusted", f"{why}: zot ext trust {shlex.quote(each.name)}")
    return OK


def distrust_reason(each: ListedEntry, home: Path) -> str:
    """Why a run would not start it without a question; empty if it would."""
    if each.scope is not McpScope.project or each.found is None:
        return ""
    judged = TrustStore(home).judge(each.found)
    return "" if judged.is_trusted else judged.reason or judged.standing.value


HIDDEN = "(hidden)"


def is_literal_secret(name: str, value: str, config: Config) -> bool:
    """Whether the file itself has a secret: the value of a variable of this name, without a `${VAR}` in it."""
    return bool(value) and not any(variables_in(value)) and is_secret(name, config, value)


def hidden_value(name: str, value: str, config: Config) -> str:
    """The value of a variable, or `HIDDEN`. A `${VAR}` as it is written is no secret."""
    return HIDDEN if is_literal_secret(name, value, config) else value


def hidden_arguments(args: Iterable[str], config: Config) -> list[str]:
    """The arguments, without the values of flags that are called like secrets: `--api-key X`, `--token=X`."""
    shown, is_next_secret = [], False
    for arg in args:
        name, equals, value = arg.partition("=")
        variable = name.lstrip("-").upper().replace("-", "_")
        is_flag = arg.startswith("-")
        if is_next_secret and not is_flag:
            shown.append(hidden_value("TOKEN", arg, config))
        elif is_flag and equals:
            shown.append(f"{name}={hidden_value(variable, value, config)}")
        else:
            shown.append(hidden_value("", arg, config))
        is_next_secret = is_flag and not equals and bool(variable) and is_secret(variable, config)
    return shown
