"""Which extensions are installed, broken ones too, and which of them a name means."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.discovery.content_hash import ContentError
from supervisor.discovery.discover import Found, Scope, read_manifest
from supervisor.discovery.staging_names import is_staging
from supervisor.discovery.trust_store import TrustError, TrustStore
from supervisor.install.errors import MisuseError
from supervisor.install.record import Record, RecordError, read_record
from supervisor.install.staging import sweep
from wire.manifest import Manifest, ManifestError
from wire.suggest import no_such

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from supervisor.discovery.trust_rules import Judged

BOTH = (Scope.PROJECT, Scope.GLOBAL)


@dataclass(frozen=True)
class ExtensionFolders:
    """Where extensions are installed."""

    project: Path
    """The project's folder; it need not have any."""
    home: Path

    def parent(self, scope: Scope) -> Path:
        return self.project / ".zot" / "extensions" if scope is Scope.PROJECT else self.home / "extensions"


@dataclass(frozen=True)
class Installed:
    folder: Path
    scope: Scope
    manifest: Manifest | None
    record: Record | None
    trouble: str = ""
    """Why it cannot be started: what is wrong with its manifest."""
    record_trouble: str = ""

    @property
    def name(self) -> str:
        return self.folder.name if self.manifest is None else self.manifest.name

    @property
    def is_link(self) -> bool:
        return self.folder.is_symlink()

    @property
    def found(self) -> Found | None:
        return None if self.manifest is None else Found(self.folder, self.manifest, self.scope)

    @property
    def where(self) -> str:
        return f"{self.folder} ({self.scope.label})"


def look_at(folder: Path, scope: Scope) -> Installed:
    """What is in the folder. Raises nothing."""
    manifest, record, trouble, record_trouble = None, None, "", ""
    try:
        manifest = read_manifest(folder)
    except ManifestError as error:
        trouble = str(error)
        if folder.is_symlink() and not folder.exists():
            trouble = f"is a link to {os.readlink(folder)}, which does not exist"
    try:
        record = read_record(folder)
    except RecordError as error:
        record_trouble = str(error)
    return Installed(folder, scope, manifest, record, trouble, record_trouble)


def installed(shelves: ExtensionFolders, scopes: Iterable[Scope] = BOTH) -> list[Installed]:
    """All of these scopes, the project's first, each by folder. What killed commands have left is put in order before.
    Raises `OSError` for a place that cannot be read."""
    found = []
    wanted = tuple(scopes)
    for scope in wanted:
        parent = shelves.parent(scope)
        if scope is Scope.PROJECT and Scope.GLOBAL in wanted and _is_same(parent, shelves.parent(Scope.GLOBAL)):
            continue  # the project's .zot is $ZOT_HOME
        sweep(parent)
        try:
            names = sorted(os.listdir(parent))
        except (FileNotFoundError, NotADirectoryError):
            continue
        found += [
            look_at(parent / name, scope)
            for name in names
            if not is_staging(name) and ((parent / name).is_dir() or (parent / name).is_symlink())
        ]
    return found


def _is_same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def named(name: str, candidates: Sequence[Installed]) -> Installed:
    """The one with this name in its manifest, else the one in the folder of this name. Raises `MisuseError` if there is
    none, or more than one."""
    matching = [one for one in candidates if one.manifest is not None and one.manifest.name == name]
    matching = matching or [one for one in candidates if one.folder.name == name]
    by_folder = [one for one in matching if one.folder.name == name]
    if len(matching) > 1 and len({one.scope for one in matching}) == 1 and len(by_folder) == 1:
        matching = by_folder
    if not matching:
        known = sorted({one.name for one in candidates} | {one.folder.name for one in candidates})
        raise MisuseError(f"{no_such('extension', name, known)} installed" if not known else _unknown(name, known))
    if len(matching) == 1:
        return matching[0]
    listed = ", ".join(one.where for one in matching)
    if len({one.scope for one in matching}) > 1:
        raise MisuseError(f"{name!r} is installed more than once: {listed}; add --project or --global")
    raise MisuseError(f"{name!r} is the name of more than one: {listed}; name it by its folder")


def _unknown(name: str, known: Sequence[str]) -> str:
    return no_such("installed extension", name, known)


def trust(one: Installed, home: Path) -> str:
    """Records that the user trusts a project's extension as it is now; why that cannot be done, "" if it is."""
    if one.manifest is None:
        return one.trouble
    try:
        TrustStore(home).trust(one.folder, one.manifest)
    except (TrustError, ContentError) as error:
        return str(error)
    return ""


def is_trusted(one: Installed, home: Path) -> bool:
    """Whether it would be started without a question."""
    return one.found is not None and TrustStore(home).judge(one.found).is_trusted


def standing(one: Installed, home: Path) -> Judged | None:
    """None for one that cannot be started at all."""
    return None if one.found is None else TrustStore(home).judge(one.found)
