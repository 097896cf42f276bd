"""The extensions that the user has trusted. An extension of a project, and a Copilot extension of the user, runs only
while its content is the trusted one.

The records are under `$ZOT_HOME`, never in the project. A user who names an extension with `--ext`, or puts another one
under `$ZOT_HOME/extensions`, trusts it.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.discovery.content.content_hash import hash_steps
from supervisor.discovery.content.covered_files import ContentError
from supervisor.discovery.content.seal import Seal
from supervisor.discovery.kind import COPILOT
from supervisor.discovery.steps import Allowance, finish
from supervisor.discovery.trust_rules import (
    TrustJudgement,
    TrustRecord,
    TrustState,
    changes,
    data_advice,
    decide,
    decide_unread,
    state_reason,
)
from supervisor.home.safe_files import locked, read_file, replace_file
from supervisor.home.zot_home import private_folder
from wire.lenient_json import UNREADABLE, reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from supervisor.discovery.content.covered_files import Content
    from supervisor.discovery.found_extension import FoundExtension, ProjectCopy
    from supervisor.discovery.steps import Steps
    from wire.manifest import Manifest

NAME = "trust.json"
VERSION = 1
FIELD = "extensions"
LOCK_S = 5.0
"""Seconds to wait for the lock. A writer holds it for milliseconds."""

Rows = dict[str, dict[str, Any]]


class TrustError(Exception):
    """The trust file cannot be read or written. The text names the file and what to do."""


class TrustFile:
    """The file `$ZOT_HOME/trust.json`, as rows by folder."""

    def __init__(self, home: Path) -> None:
        self.path = home / NAME

    def read(self) -> Rows:
        """Returns the rows of the file. Raises `TrustError` if the file is damaged or cannot be read."""
        return self._rows(self._read())

    @contextmanager
    def changing(self) -> Iterator[Rows]:
        """Locks the file and gives its rows to the block. After the block all changes are written in one rename. Raises
        `TrustError` if that fails; the file then stays unchanged."""
        try:
            private_folder(self.path.parent)
            with locked(self.path, LOCK_S):
                whole = self._read()
                rows = self._rows(whole)
                yield rows
                self._write({"version": VERSION, **whole, FIELD: rows})
        except TimeoutError as error:
            raise TrustError(f"{self.path} cannot be changed: {error.strerror}; try again when it has ended") from None
        except OSError as error:
            raise self._unwritable(error) from None
        except UnicodeEncodeError:
            raise TrustError(f"{self.path}: a folder whose name is not UTF-8 cannot be recorded; rename it") from None

    def _read(self) -> dict[str, Any]:
        try:
            whole = msgspec.json.decode(read_file(self.path))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise TrustError(f"{self.path} cannot be read: {error.strerror}; make it readable") from None
        except UNREADABLE as error:
            raise self._damaged(reason(error)) from None
        if not isinstance(whole, dict):
            raise self._damaged("not a JSON object")
        return whole

    def _rows(self, whole: dict[str, Any]) -> Rows:
        version = whole.get("version", VERSION)
        if version != VERSION:
            raise self._damaged(f"its version is {version!r}, known is {VERSION}")
        rows = whole.get(FIELD, {})
        if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
            raise self._damaged(f"{FIELD} must be an object of objects")
        return rows

    def _damaged(self, why: str) -> TrustError:
        return TrustError(
            f"{self.path} is damaged, nothing is trusted: {why}; fix it, or remove it and trust again what you need"
        )

    def _unwritable(self, error: OSError) -> TrustError:
        return TrustError(f"{self.path} cannot be written: {error.strerror}; set ZOT_HOME to a folder of yours")

    def _write(self, whole: dict[str, Any]) -> None:
        target = Path(os.path.realpath(self.path))  # a symbolic link stays a link; its target is replaced
        replace_file(target, msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n", mode=0o600)


__all__ = ["TrustError", "TrustStore", "key_of"]

PARTS_KEPT = 500
"""The trust file keeps the hashes of at most this many parts of one extension."""


class TrustStore:
    """`$ZOT_HOME/trust.json`: one record for each folder, by its resolved path."""

    def __init__(
        self, home: Path, *, copy: ProjectCopy | None = None, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        """With a `copy`, judges the copy's content by the records of the original."""
        self._home = home
        self._copy = copy
        self._file = TrustFile(home)
        self._now = now

    @property
    def path(self) -> Path:
        return self._file.path

    def judge(self, found: FoundExtension) -> TrustJudgement:
        """Judges whether an extension may start. Reads it only if it needs trust. Raises nothing."""
        if not found.needs_trust:
            return TrustJudgement(TrustState.TRUSTED, "")
        return finish(self.judging(found.place, found.manifest, found=found))

    def examine(self, folder: Path, manifest: Manifest, found: FoundExtension | None = None) -> TrustJudgement:
        """Judges as `judging` does, but always reads the content, to show a person the changes."""
        return finish(self.judging(folder, manifest, is_shown=True, found=found))

    def judging(
        self,
        folder: Path,
        manifest: Manifest,
        allowance: Allowance | None = None,
        *,
        is_shown: bool = False,
        found: FoundExtension | None = None,
    ) -> Steps[TrustJudgement]:
        """Judges whether an extension of any scope equals the one that the user has trusted. Reads nothing of an
        extension that was never trusted, or that asks for more than it was granted, unless it `is_shown`. Raises
        nothing. `found` is the extension itself; `folder` of one with an `mcp_file` is its `place`."""
        try:
            key = key_of(folder)
            there = None if self._copy is None else self._copy.in_original(key)
            original = "" if self._copy is None or there is None else self._copy.original
            record = self.entries().get(there or key)
            name = manifest.name if manifest.dialect == COPILOT else None
            state = decide_unread(record, manifest.env, name)
            if state is not None and not is_shown:
                return TrustJudgement(state, _reason(state, record, manifest, found, original))
            content = yield from self._hashing(folder, manifest, allowance, found)
        except (TrustError, ContentError) as error:
            return TrustJudgement(TrustState.UNKNOWN, str(error))
        state = decide(record, content.hash, manifest.env, name)
        known = record.parts if is_shown and record is not None else {}
        changed = changes(known, _storable(content.parts)) if known else ()
        reason = _reason(state, record, manifest, found, original)
        return TrustJudgement(state, reason, content, changed, Seal(manifest, content.stamps, content.folders))

    def data_advice(self, found: FoundExtension) -> str:
        """Returns the advice to name in `data` the files of a folder by whose change alone the extension has lost its
        trust; else "". Raises nothing."""
        try:
            if not found.kind.has_folder or key_of(found.place) not in self.entries():
                return ""
        except TrustError:
            return ""
        return data_advice(self.examine(found.place, found.manifest, found).changes, found.manifest)

    def trust(
        self, folder: Path, manifest: Manifest, content: Content | None = None, *, found: FoundExtension | None = None
    ) -> None:
        """Records the present content of an extension, or the `content` that the user has been shown. Raises
        `TrustError` and `ContentError`."""
        content = content or finish(self._hashing(folder, manifest, None, found))
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
        """Removes the record; returns False if there was none. Raises `TrustError`."""
        if key_of(folder) not in self._file.read():
            return False
        with self._file.changing() as rows:
            return rows.pop(key_of(folder), None) is not None

    def entries(self) -> dict[str, TrustRecord]:
        """Returns all records, by resolved folder. Raises `TrustError`; then no extension is trusted."""
        return self._checked(self._file.read())

    def _hashing(
        self, folder: Path, manifest: Manifest, allowance: Allowance | None, found: FoundExtension | None
    ) -> Steps[Content]:
        if found is not None and not found.kind.has_folder:
            from supervisor.discovery.mcp.entry_hash import entry_hash_steps

            return (yield from entry_hash_steps(found, allowance))
        beside: list[str] = []
        if manifest.dialect == COPILOT:
            from supervisor.discovery.copilot.preparation import sdk_beside

            beside = sdk_beside(folder, self._home, found)
        return (yield from hash_steps(folder, manifest, allowance, beside))

    def _checked(self, rows: Rows) -> dict[str, TrustRecord]:
        return {folder: _record(self._file.path, folder, row) for folder, row in rows.items()}


def _storable(parts: Mapping[str, str]) -> dict[str, str]:
    """Leaves out the parts whose names are not text: JSON cannot hold them."""
    return {path: part for path, part in parts.items() if path.isprintable()}


def key_of(folder: Path) -> str:
    """Returns the key of a folder in the file: its resolved path. A link that now leads to another folder has another
    key, and counts as never seen."""
    return str(Path(folder).resolve())


def _reason(
    state: TrustState, record: TrustRecord | None, manifest: Manifest, found: FoundExtension | None, original: str
) -> str:
    """Why an extension is not trusted, in a few words. `original` is the folder of which it is a copy; "" if none."""
    if original and state is TrustState.NEVER_SEEN:
        return f"never seen in {original}"
    if original and state is TrustState.CHANGED:
        return f"it is not what was trusted in {original}"
    if state is TrustState.CHANGED and found is not None and not found.kind.has_folder:
        return "its entry or a file that it names has changed"
    return state_reason(state, record, manifest)


def _record(path: Path, folder: str, row: dict[str, Any]) -> TrustRecord:
    try:
        return msgspec.convert(row, TrustRecord)
    except msgspec.ValidationError as error:
        raise TrustError(f"{path}: the entry of {folder} is damaged ({error}); remove it or the file") from None
