"""What is to be done when extensions are reloaded, and how far a set of processes has come. Pure.

A reload starts the new version beside the old one. Only when all of its processes are ready does it take over, in one
step; the old ones then finish what they were asked, and are stopped. Whatever goes wrong before that leaves the old
version as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from supervisor.discovery.discover import Scope
from wire.manifest import Manifest, ManifestError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from supervisor.discovery.discover import Discovery, Found, Skipped


# --- what to do with each -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Start:
    """It is not known yet."""

    found: Found


@dataclass(frozen=True)
class Replace:
    found: Found


@dataclass(frozen=True)
class Stop:
    reason: str


@dataclass(frozen=True)
class Keep:
    """It stays as it is."""

    reason: str


@dataclass(frozen=True)
class Skip:
    """A folder that is not started, and that nothing runs from."""

    reason: str


Plan = Start | Replace | Stop | Keep | Skip


@dataclass(frozen=True)
class Known:
    """An extension of the host."""

    found: Found
    is_stopped: bool = False
    """A reload has stopped it: it was disabled, or its folder was gone."""


def plan_one(known: Known, read: Manifest | ManifestError) -> Plan:
    """What to do with one extension whose manifest has been read again, from the same folder."""
    name = known.found.manifest.name
    if isinstance(read, ManifestError):
        return Keep(str(read))
    if read.name != name:
        return Keep(_renamed(name, read.name))
    if not read.is_enabled and known.found.scope is not Scope.EXPLICIT:
        return Stop("it is disabled in its manifest")
    return Replace(replace(known.found, manifest=read))


def plan_all(known: Iterable[Known], discovery: Discovery) -> list[tuple[str, Plan]]:
    """What to do with all that is known and all that is there now, in this order, each by name. What cannot be read
    is kept as it runs; what is disabled or gone is stopped."""
    known = list(known)
    found = {one.manifest.name: one for one in discovery.found}
    at = {one.folder: one for one in discovery.found}
    skipped = {one.folder: one for one in discovery.skipped}
    plans: list[tuple[str, Plan]] = []
    for one in known:
        name, folder = one.found.manifest.name, one.found.folder
        if name in found:
            plans.append((name, Replace(found[name])))
        elif folder in at:
            plans.append((name, Keep(_renamed(name, at[folder].manifest.name))))
        elif (left_out := skipped.get(folder)) is not None and left_out.is_error:
            plans.append((name, Keep(left_out.reason)))
        elif not one.is_stopped:
            plans.append((name, Stop("its folder is gone" if left_out is None else f"it is {left_out.reason}")))
    folders = {one.found.folder for one in known}
    names = {one.found.manifest.name for one in known}
    for name, new in found.items():
        if name not in names and new.folder not in folders:
            plans.append((name, Start(new)))
    plans += [(one.folder.name, Skip(one.reason)) for one in _errors(discovery, folders)]
    return plans


def _errors(discovery: Discovery, known: Collection[Path]) -> Sequence[Skipped]:
    return [one for one in discovery.skipped if one.is_error and one.folder not in known]


def _renamed(old: str, new: str) -> str:
    return f"its manifest calls it {new!r} now, and it runs as {old!r}: a new name needs a new start"
