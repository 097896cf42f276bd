"""Which extensions of projects may run: those that the user has trusted, as long as they stay what they were.

What is trusted is kept under `$ZOT_HOME`, never in the project. Extensions named with `--ext` are trusted by that,
those under `$ZOT_HOME` by having been put there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.discovery.content_hash import Content, ContentError, hash_content
from supervisor.discovery.discover import Scope
from supervisor.discovery.environment import NEVER, may_have, policy_of
from supervisor.discovery.trust_file import TrustError, TrustFile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.discovery.discover import Found
    from supervisor.discovery.trust_file import Rows
    from supervisor.home.config import Config
    from wire.manifest import Manifest

__all__ = ["Entry", "Judged", "Standing", "TrustError", "TrustStore", "decide", "widens"]


PARTS_KEPT = 500


class Standing(Enum):
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
    standing: Standing
    reason: str
    """In a few words: why it is not trusted."""
    content: Content | None = None
    """None if it did not have to be read, or cannot be."""
    changes: tuple[str, ...] = ()
    """What has changed since it was trusted, as far as that is known: `rules.py`, `lib/new.py (new)`."""

    @property
    def is_trusted(self) -> bool:
        return self.standing is Standing.TRUSTED


def decide(entry: Entry | None, content: str, env: tuple[str, ...]) -> Standing:
    """What becomes of an extension with this hash that asks for these variables. Pure."""
    if entry is None:
        return Standing.NEVER_SEEN
    if not set(env) <= set(entry.env):
        return Standing.ASKS_FOR_MORE_ENV
    return Standing.TRUSTED if content == entry.hash else Standing.CHANGED


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


class TrustStore:
    """`$ZOT_HOME/trust.json`: for each folder, by its resolved path, the hash and the variables that were granted."""

    def __init__(self, home: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._file = TrustFile(home)
        self._now = now

    @property
    def path(self) -> Path:
        return self._file.path

    def judge(self, found: Found) -> Judged:
        """Whether it may start. Only a project's extension is looked at; nothing is raised."""
        if found.scope is not Scope.PROJECT:
            return Judged(Standing.TRUSTED, "")
        return self.examine(found.folder, found.manifest)

    def examine(self, folder: Path, manifest: Manifest) -> Judged:
        """The same for an extension of any scope: whether it is, as it is now, what the user has trusted."""
        try:
            entry = self.entries().get(key_of(folder))
            content = hash_content(folder, manifest)
        except (TrustError, ContentError) as error:
            return Judged(Standing.UNKNOWN, str(error))
        standing = decide(entry, content.hash, manifest.env)
        differ = changes(entry.parts, _storable(content.parts)) if entry is not None and entry.parts else ()
        return Judged(standing, _reason(standing, entry, manifest), content, differ)

    def trust(self, folder: Path, manifest: Manifest, content: Content | None = None) -> None:
        """Records it as it is now, or as it was when the user was shown its `content`. Raises `TrustError` and
        `ContentError`."""
        content = content or hash_content(folder, manifest)
        entry = Entry(
            hash=content.hash,
            name=manifest.name,
            env=manifest.env,
            time=self._now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            parts=_storable(content.parts) if len(content.parts) <= PARTS_KEPT else {},
        )
        said = msgspec.to_builtins(entry)
        with self._file.changing() as rows:
            self._checked(rows)
            rows[key_of(folder)] = {**rows.get(key_of(folder), {}), **said}

    def revoke(self, folder: Path) -> bool:
        """Whether there was anything to take back. Raises `TrustError`."""
        if key_of(folder) not in self._file.read():
            return False
        with self._file.changing() as rows:
            return rows.pop(key_of(folder), None) is not None

    def entries(self) -> dict[str, Entry]:
        """By resolved folder. Raises `TrustError`, and nothing is trusted then."""
        return self._checked(self._file.read())

    def _checked(self, rows: Rows) -> dict[str, Entry]:
        return {folder: _entry(self._file.path, folder, row) for folder, row in rows.items()}


def _storable(parts: Mapping[str, str]) -> dict[str, str]:
    """Without those whose names are not text: JSON has no room for them."""
    return {path: part for path, part in parts.items() if path.isprintable()}


def key_of(folder: Path) -> str:
    """The folder's name in the file. A folder that is a link is what it leads to: a link that is turned to something
    else has never been seen."""
    return str(Path(folder).resolve())


def _entry(path: Path, folder: str, row: dict[str, Any]) -> Entry:
    try:
        return msgspec.convert(row, Entry)
    except msgspec.ValidationError as error:
        raise TrustError(f"{path}: the entry of {folder} is damaged ({error}); remove it or the file") from None


def _reason(standing: Standing, entry: Entry | None, manifest: Manifest) -> str:
    match standing:
        case Standing.NEVER_SEEN:
            return "never seen"
        case Standing.CHANGED:
            return "its files have changed"
        case Standing.ASKS_FOR_MORE_ENV:
            granted = entry.env if entry is not None else ()
            return f"it now asks for {', '.join(name for name in manifest.env if name not in granted)}"
        case _:
            return ""
