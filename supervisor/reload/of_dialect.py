"""Decides what a reload of the extensions of one dialect does, that the agent has asked for. Pure.

All other extensions are left alone. A version that may not run, or cannot be read, replaces nothing. And nothing that
guards is stopped, whether its files are gone or it is disabled: the agent could get rid of its own guards that way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.discovery.discover import Discovery
from supervisor.reload.plan import Keep, Skip, Stop, plan_all

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from supervisor.discovery.skipped import Skipped
    from supervisor.extension.extension import Extension
    from supervisor.reload.plan import KnownExtension, Plan


def plan_dialect(
    dialect: str,
    known: Sequence[KnownExtension],
    discovery: Discovery,
    *,
    parents: Collection[Path],
    held: Mapping[str, str],
) -> list[tuple[str, Plan]]:
    """The plans by name, as `plan_all` makes them for the extensions of this dialect. `parents` are the folders that
    hold the folders of such extensions. `held` has the extensions that must not be stopped, with the reason."""
    mine = [each for each in known if each.found.manifest.dialect == dialect]
    others = {each.found.manifest.name for each in known} - {each.found.manifest.name for each in mine}
    places = {each.found.place for each in mine}
    skipped = [each for each in discovery.skipped if each.folder in places or is_of(each, dialect, parents)]
    faulty = {each.folder for each in skipped if each.is_error}
    kept = {each.found.manifest.name for each in mine if each.found.place in faulty}
    """Their own files are not to be run: one of the same name elsewhere does not take their place either."""
    found = [each for each in discovery.found if each.manifest.dialect == dialect and each.manifest.name not in kept]
    taken = [each.manifest.name for each in found if each.manifest.name in others]
    free = tuple(each for each in found if each.manifest.name not in others)
    plans: list[tuple[str, Plan]] = []
    for name, plan in plan_all(mine, Discovery(free, tuple(skipped))):
        if isinstance(plan, Stop) and name in held:
            plans.append((name, Keep(f"{plan.reason}, but {held[name]}: only a person may stop it")))
        else:
            plans.append((name, plan))
    return [*plans, *((name, Skip("an extension of another kind has its name")) for name in taken)]


def is_of(skipped: Skipped, dialect: str, parents: Collection[Path]) -> bool:
    """Whether what was skipped is an extension of this dialect, or may be one whose manifest cannot be read."""
    if skipped.untrusted is not None:
        return skipped.untrusted.manifest.dialect == dialect
    return skipped.kind.dialect == dialect or skipped.folder in parents or skipped.folder.parent in parents


def why_held(extension: Extension) -> str:
    """Why only a person may stop an extension; "" if the agent may: it guards nothing."""
    manifest = extension.manifest
    if manifest.required:
        return "it is required"
    if extension.guards:
        return f"it guards {', '.join(sorted(extension.guards))}"
    if manifest.on_failure == "deny" or not (extension.was_ready or extension.is_given_up):
        return "it may guard"
    return ""
