"""Whether an extension of a project is trusted, decided from what was trusted before and what is there now. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.environment import NEVER, may_have, policy_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.discovery.content_hash import Content
    from supervisor.home.config import Config
    from wire.manifest import Manifest


class TrustState(Enum):
    TRUSTED = "trusted"
    NEVER_SEEN = "never seen"
    CHANGED = "changed"
    """Something in its folder is not what it was when it was trusted."""
    ASKS_FOR_MORE_ENV = "asks for more"
    """Its manifest names variables that were not granted."""
    UNKNOWN = "unknown"
    """It cannot be told: its files or the record of what is trusted cannot be read. Not trusted, that is."""


class Entry(msgspec.Struct, frozen=True):
    """What was trusted. Fields of other versions are left alone."""

    hash: str
    name: str
    env: tuple[str, ...] = ()
    """Names of variables that it asked for."""
    time: str = ""
    """ISO 8601, UTC."""
    parts: dict[str, str] = {}
    """A short hash of each file, to say which have changed; none if there are more than `PARTS_KEPT`."""


@dataclass(frozen=True)
class Judged:
    standing: TrustState
    reason: str
    """In a few words: why it is not trusted."""
    content: Content | None = None
    """None if it did not have to be read, or cannot be."""
    changes: tuple[str, ...] = ()
    """What has changed since it was trusted, as far as that is known: `rules.py`, `lib/new.py (new)`."""

    @property
    def is_trusted(self) -> bool:
        return self.standing is TrustState.TRUSTED


def decide(entry: Entry | None, content: str, env: tuple[str, ...]) -> TrustState:
    """What becomes of an extension with this hash that asks for these variables. Pure."""
    if entry is None:
        return TrustState.NEVER_SEEN
    if not set(env) <= set(entry.env):
        return TrustState.ASKS_FOR_MORE_ENV
    return TrustState.TRUSTED if content == entry.hash else TrustState.CHANGED


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Which parts differ, sorted, with what became of them. Pure."""
    said = []
    for path in sorted({*before, *after}):
        if path not in before:
            said.append(f"{path} (new)")
        elif path not in after:
            said.append(f"{path} (gone)")
        elif before[path] != after[path]:
            said.append(path)
    return tuple(said)


def widens(old: Manifest, new: Manifest, config: Config) -> list[str]:
    """What the new manifest of an extension gets of the host's environment that the old one did not: names of
    variables that it asks for, and `env_policy` where all the others come with it. Pure. Empty: nothing more."""
    more = [
        name
        for name in dict.fromkeys(new.env)
        if name not in NEVER and may_have(name, new, config) and not may_have(name, old, config)
    ]
    if policy_of(old, config) == "minimal" and policy_of(new, config) == "inherit":
        more.append("env_policy: inherit")
    return more


def _reason(standing: TrustState, entry: Entry | None, manifest: Manifest) -> str:
    match standing:
        case TrustState.NEVER_SEEN:
            return "never seen"
        case TrustState.CHANGED:
            return "its files have changed"
        case TrustState.ASKS_FOR_MORE_ENV:
            granted = entry.env if entry is not None else ()
            return f"it now asks for {', '.join(name for name in manifest.env if name not in granted)}"
        case _:
            return ""
