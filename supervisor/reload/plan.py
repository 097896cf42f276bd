"""Decides the action of a reload for each extension. Pure.

A reload starts a new generation beside the current one. When all workers of the new generation are ready, it takes over
in one step; the old workers finish their pending requests and are stopped. If anything goes wrong before that, the old
generation stays.

The agent can reload the extensions of one dialect (`plan_dialect`); all others stay as they are. A version that may not
run, or cannot be read, replaces nothing. A guard is never stopped, even if its files are gone or it is disabled:
otherwise the agent could remove its own guards.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from supervisor.discovery.found_extension import Scope
from supervisor.extension.handover import STOPPED
from wire.manifest import Manifest, ManifestError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from supervisor.discovery.discover import Discovery
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.discovery.skipped_extension import SkippedExtension
    from supervisor.extension.extension import Extension


class Start(msgspec.Struct, frozen=True):
    """The extension is new and is started."""

    found: FoundExtension


class Replace(msgspec.Struct, frozen=True):
    """The extension gets a new generation."""

    found: FoundExtension


class Stop(msgspec.Struct, frozen=True):
    """The extension is stopped."""

    reason: str


class Keep(msgspec.Struct, frozen=True):
    """The extension stays as it is."""

    reason: str
    is_waiting: bool = False
    """True if it stays only until the user trusts its present files."""


class Skip(msgspec.Struct, frozen=True):
    """A folder that belongs to no running extension, and is not started."""

    reason: str
    is_waiting: bool = False
    """True if it is skipped only until the user trusts it."""


NO_PROGRAM = "its manifest has no exec now"
Plan = Start | Replace | Stop | Keep | Skip


class KnownExtension(msgspec.Struct, frozen=True):
    """An extension that the host has."""

    found: FoundExtension
    is_stopped: bool = False
    """A reload has stopped it: it was disabled, or its folder was missing."""
    is_halted: bool = False
    """A user has stopped it."""


def plan_one(known: KnownExtension, read: Manifest | FoundExtension | ManifestError, *, is_named: bool = True) -> Plan:
    """The plan for one extension. `read` is its manifest, read again from its folder; of an MCP server, the extension,
    read again from its file; or the fault. `is_named`: the user has named it, which also starts one that is halted."""
    name = known.found.manifest.name
    if known.is_halted and not is_named:
        return _stay_halted(name)
    if known.found.link is not None:
        return Keep(known.found.link.reloaded_by)
    if isinstance(read, ManifestError):
        return Keep(str(read))
    if not isinstance(read, Manifest):
        return Replace(read) if read.manifest.is_enabled else Stop(f"it is disabled in {read.mcp_file}")
    if read.name != name:
        return Keep(_name_fault(name, read.name))
    if read.without_program:
        return Stop(NO_PROGRAM)
    if not read.is_enabled and known.found.scope is not Scope.EXPLICIT:
        return Stop("it is disabled in its manifest")
    new = replace(known.found, manifest=read, seal=None)
    if new.kind is not known.found.kind:
        return Keep("its manifest says now that it is started in another way: that needs a new start")
    return Replace(new)


def plan_all(known: Iterable[KnownExtension], discovery: Discovery) -> list[tuple[str, Plan]]:
    """The plans by name: first for the extensions that the host has, then for new ones. An extension that cannot be
    read is kept. An extension that is disabled or missing is stopped; one that a user has stopped stays so. Extensions
    of the embedding program and of another host are kept."""
    known = list(known)
    taken = {each.found.manifest.name: each.found.link for each in known if each.found.link is not None}
    known = [extension for extension in known if extension.found.link is None]
    by_name = {found.manifest.name: found for found in discovery.found}
    by_place = {found.place: found for found in discovery.found}
    skipped_by_folder = {skipped.folder: skipped for skipped in discovery.skipped}
    without_program = {found.place for found in discovery.without_program}
    plans: list[tuple[str, Plan]] = []
    for extension in known:
        name, place = extension.found.manifest.name, extension.found.place
        if name in by_name or extension.is_halted:
            plans.append((name, _stay_halted(name) if extension.is_halted else Replace(by_name[name])))
        elif place in by_place:
            plans.append((name, Keep(_name_fault(name, by_place[place].manifest.name))))
        elif (skipped := _skipped(extension.found, skipped_by_folder)) is not None and skipped.is_error:
            plans.append((name, Keep(skipped.reason, skipped.why.is_waiting)))
        elif not extension.is_stopped:
            gone = (
                "its folder is gone" if extension.found.mcp_file is None else f"it is not in {extension.found.mcp_file}"
            )
            gone = NO_PROGRAM if place in without_program else gone
            plans.append((name, Stop(gone if skipped is None else f"it is {skipped.reason}")))
    folders = {extension.found.place for extension in known}
    names = {extension.found.manifest.name for extension in known}
    for name, new in by_name.items():
        if (link := taken.get(name)) is not None:
            if not link.is_hosted:
                plans.append((name, Skip("an extension of the client program has its name")))
        elif name not in names and new.place not in folders:
            plans.append((name, Start(new)))
    plans += [(each.folder.name, Skip(each.reason, each.why.is_waiting)) for each in _errors(discovery, folders)]
    return plans


def _stay_halted(name: str) -> Stop:
    return Stop(STOPPED.format(shlex.quote(name)))


def _skipped(found: FoundExtension, by_folder: Mapping[Path, SkippedExtension]) -> SkippedExtension | None:
    """Why an extension was not found; None if that is unknown. A fault of a file of servers is about all of them."""
    whole = None if found.mcp_file is None else by_folder.get(found.mcp_file)
    return by_folder.get(found.place) or whole


def _errors(discovery: Discovery, known: Collection[Path]) -> Sequence[SkippedExtension]:
    return [skipped for skipped in discovery.skipped if skipped.is_error and skipped.folder not in known]


def _name_fault(old: str, new: str) -> str:
    return f"its manifest calls it {new!r} now, and it runs as {old!r}: a new name needs a new start"


def plan_dialect(
    dialect: str,
    known: Sequence[KnownExtension],
    discovery: Discovery,
    *,
    parents: Collection[Path],
    held: Mapping[str, str],
) -> list[tuple[str, Plan]]:
    """The plans by name, as `plan_all` makes them for the extensions of this dialect. `parents` are the folders that
    hold extension folders of the dialect. `held` has the extensions that must not be stopped, with the reason."""
    mine = [each for each in known if each.found.manifest.dialect == dialect]
    others = {each.found.manifest.name for each in known} - {each.found.manifest.name for each in mine}
    places = {each.found.place for each in mine}
    skipped = [each for each in discovery.skipped if each.folder in places or is_of(each, dialect, parents)]
    faulty = {each.folder for each in skipped if each.is_error}
    kept = {each.found.manifest.name for each in mine if each.found.place in faulty}
    """Extensions whose present files must not run: an extension of the same name elsewhere must not replace them."""
    found = [each for each in discovery.found if each.manifest.dialect == dialect and each.manifest.name not in kept]
    taken = [each.manifest.name for each in found if each.manifest.name in others]
    free = tuple(each for each in found if each.manifest.name not in others)
    halted = {each.found.manifest.name for each in mine if each.is_halted}
    plans: list[tuple[str, Plan]] = []
    for name, plan in plan_all(mine, replace(discovery, found=free, skipped=tuple(skipped))):
        if isinstance(plan, Stop) and name in held and name not in halted:
            plans.append((name, Keep(f"{plan.reason}, but {held[name]}: only a person may stop it")))
        else:
            plans.append((name, plan))
    return [*plans, *((name, Skip("an extension of another kind has its name")) for name in taken)]


def is_of(skipped: SkippedExtension, dialect: str, parents: Collection[Path]) -> bool:
    """Whether a skipped extension has this dialect, or may have it, since its manifest cannot be read."""
    if skipped.untrusted is not None:
        return skipped.untrusted.manifest.dialect == dialect
    return skipped.kind.dialect == dialect or skipped.folder in parents or skipped.folder.parent in parents


def hold_reason(extension: Extension) -> str:
    """Why only a person may stop an extension; "" if the agent may, since it guards nothing."""
    manifest = extension.manifest
    if manifest.required:
        return "it is required"
    if extension.guards:
        return f"it guards {', '.join(sorted(extension.guards))}"
    if manifest.on_failure == "deny" or not (extension.was_ready or extension.is_given_up):
        return "it may guard"
    return ""
