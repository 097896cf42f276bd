"""Which extensions of projects may run: those that the user has trusted, as long as they stay what they were.

What is trusted is kept under `$ZOT_HOME`, never in the project. Extensions named with `--ext` are trusted by that,
those under `$ZOT_HOME` by having been put there.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.discovery.content_hash import Content, ContentError, hash_content
from supervisor.discovery.discover import Scope
from supervisor.discovery.trust_file import TrustError, TrustFile
from supervisor.discovery.trust_rules import Entry, Judged, TrustState, _reason, changes, decide, widens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.discovery.discover import Found
    from supervisor.discovery.trust_file import Rows
    from wire.manifest import Manifest

__all__ = ["Entry", "Judged", "TrustError", "TrustState", "TrustStore", "decide", "widens"]


PARTS_KEPT = 500


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
            return Judged(TrustState.TRUSTED, "")
        return self.examine(found.folder, found.manifest)

    def examine(self, folder: Path, manifest: Manifest) -> Judged:
        """The same for an extension of any scope: whether it is, as it is now, what the user has trusted."""
        try:
            entry = self.entries().get(key_of(folder))
            content = hash_content(folder, manifest)
        except (TrustError, ContentError) as error:
            return Judged(TrustState.UNKNOWN, str(error))
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
