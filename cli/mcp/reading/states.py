"""What a run would do with each entry: start it, or not, and why. Nothing is started to find out."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from cli.mcp.reading.entries import SCOPES
from cli.mcp.shared import McpScope
from supervisor.discovery.found import Scope
from supervisor.discovery.mcp.servers import REASON, is_itself
from supervisor.discovery.trust_store import TrustStore
from supervisor.install.installed import ExtensionFolders, installed, is_trusted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cli.mcp.reading.entries import Listed


class EntryState(NamedTuple):
    """What would happen to an entry."""

    word: str
    """`ok`, `disabled`, `faulty`, `hidden`, `unset`, `itself` or `untrusted`."""
    why: str = ""
    """Why it would not be started; empty if the user wants it so."""


OK = EntryState("ok")


def states_of(found: Sequence[Listed], project: Path, home: Path) -> list[EntryState]:
    """The state of each entry; they are all the entries, those of the project first. Of extensions and entries with
    one name the first that can be started has it: the project's extensions, its entries, then those of the user."""
    judged = []
    taken: dict[str, str] = {}
    for scope, kind in SCOPES.items():
        for extension in installed(ExtensionFolders(project, home), (kind,)):
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


def _state_of(each: Listed, taken: str, home: Path) -> EntryState:
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
    if why := distrust(each, home):
        return EntryState("untrusted", f"{why}: zot ext trust {shlex.quote(each.name)}")
    return OK


def distrust(each: Listed, home: Path) -> str:
    """Why a run would not start it without a question; empty if it would."""
    if each.scope is not McpScope.project or each.found is None:
        return ""
    judged = TrustStore(home).judge(each.found)
    return "" if judged.is_trusted else judged.reason or judged.standing.value
