"""The extensions that the user has trusted. An extension of a project runs only while its content is the trusted one.

The records are kept under `$ZOT_HOME`, never in the project. To name an extension with `--ext`, or to put it under
`$ZOT_HOME`, is to trust it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.discovery.content_hash import Content, ContentError, hash_content
from supervisor.discovery.discover import Scope
from supervisor.discovery.trust_file import TrustError, TrustFile
from supervisor.discovery.trust_rules import TrustJudgement, TrustRecord, TrustState, changes, decide, state_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.discovery.discover import Found
    from supervisor.discovery.trust_file import Rows
    from wire.manifest import Manifest

__all__ = ["TrustError", "TrustStore", "key_of"]

PARTS_KEPT = 500
"""Parts of one extension, at most, whose hashes the trust file keeps."""


class TrustStore:
    """`$ZOT_HOME/trust.json`: one record for each folder, by its resolved path."""

    def __init__(self, home: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._file = TrustFile(home)
        self._now = now

    @property
    def path(self) -> Path:
        return self._file.path

    def judge(self, found: Found) -> TrustJudgement:
        """Whether it may start. Only an extension of a project is examined; nothing is raised."""
        if found.scope is not Scope.PROJECT:
            return TrustJudgement(TrustState.TRUSTED, "")
        return self.examine(found.folder, found.manifest)

    def examine(self, folder: Path, manifest: Manifest) -> TrustJudgement:
        """Whether its content now is what the user has trusted, for an extension of any scope."""
        try:
            record = self.entries().get(key_of(folder))
            content = hash_content(folder, manifest)
        except (TrustError, ContentError) as error:
            return TrustJudgement(TrustState.UNKNOWN, str(error))
        state = decide(record, content.hash, manifest.env)
        changed = changes(record.parts, _storable(content.parts)) if record is not None and record.parts else ()
        return TrustJudgement(state, state_reason(state, record, manifest), content, changed)

    def trust(self, folder: Path, manifest: Manifest, content: Content | None = None) -> None:
        """Records its content now, or the `content` that the user has been shown. Raises `TrustError` and
        `ContentError`."""
        content = content or hash_content(folder, manifest)
        record = TrustRecord(
            hash=content.hash,
            name=manifest.name,
            env=manifest.env,
            time=self._now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            parts=_storable(content.parts) if len(content.parts) <= PARTS_KEPT else {},
        )
        row = msgspec.to_builtins(record)
        with self._file.changing() as rows:
            self._checked(rows)
            rows[key_of(folder)] = {**rows.get(key_of(folder), {}), **row}

    def revoke(self, folder: Path) -> bool:
        """Removes the record; False if there was none. Raises `TrustError`."""
        if key_of(folder) not in self._file.read():
            return False
        with self._file.changing() as rows:
            return rows.pop(key_of(folder), None) is not None

    def entries(self) -> dict[str, TrustRecord]:
        """All records, by resolved folder. Raises `TrustError`; no extension is trusted then."""
        return self._checked(self._file.read())

    def _checked(self, rows: Rows) -> dict[str, TrustRecord]:
        return {folder: _record(self._file.path, folder, row) for folder, row in rows.items()}


def _storable(parts: Mapping[str, str]) -> dict[str, str]:
    """Without the parts whose names are not text, which JSON cannot hold."""
    return {path: part for path, part in parts.items() if path.isprintable()}


def key_of(folder: Path) -> str:
    """The key of a folder in the file: its resolved path. A link that is changed to another folder gets
    another key, so it counts as never seen."""
    return str(Path(folder).resolve())


def _record(path: Path, folder: str, row: dict[str, Any]) -> TrustRecord:
    try:
        return msgspec.convert(row, TrustRecord)
    except msgspec.ValidationError as error:
        raise TrustError(f"{path}: the entry of {folder} is damaged ({error}); remove it or the file") from None
