"""Copies or clones a source into a staging folder, and checks it. Runs no code from the source."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from supervisor.discovery.data_dir import RECORD
from supervisor.discovery.discover import read_manifest
from supervisor.discovery.found_extension import Scope
from supervisor.home.copilot_folders import PROGRAM
from supervisor.install import git, tree
from supervisor.install.errors import InstallError
from supervisor.install.record import InstallRecord, write_record
from supervisor.install.source import GitSource, LocalSource
from supervisor.install.staging_folder import StagingFolder, lock_folder, sweep
from wire.manifest import FILE, ManifestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from supervisor.install.source import Source
    from wire.manifest import Manifest


CHILDREN_READ = 200
"""At most this many subfolders are searched for a manifest."""


@dataclass(frozen=True)
class Fetched:
    """The content of a staging folder."""

    source: Source
    manifest: Manifest
    files: tuple[str, ...]
    hash: str
    commit: str | None

    def record(self, folder: Path, now: datetime) -> InstallRecord:
        """Returns the record for the folder as it is now."""
        is_git = isinstance(self.source, GitSource)
        return InstallRecord(
            source=self.source.public_url if isinstance(self.source, GitSource) else self.source.shown,
            kind="git" if is_git else "path",
            ref=self.source.ref if isinstance(self.source, GitSource) else None,
            commit=self.commit,
            content_hash=tree.content_hash(folder, self.files),
            source_hash=self.hash,
            files=self.files,
            version=self.manifest.version,
            installed_at=now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )


def manifest_of(folder: Path, shown: str, name: str = "") -> Manifest:
    """Returns the manifest of a folder. `shown` is the user's name of the source, `name` that of a Copilot extension if
    its folder has another one. Raises `InstallError`."""
    _need_manifest(folder, shown)
    try:
        return read_manifest(folder, name)
    except ManifestError as error:
        raise InstallError(f"{shown}: {error}") from None


def _need_manifest(folder: Path, shown: str) -> None:
    """Raises `InstallError` for a folder that holds no extension; the text names subfolders that do."""
    if _holds_one(folder):
        return
    try:
        below = [child.name for child in sorted(folder.iterdir())[:CHILDREN_READ] if _holds_one(child)]
    except OSError as error:
        raise InstallError(f"{shown}: cannot be read: {error.strerror}") from None
    if below:
        raise InstallError(f"{shown}: no extension.json in it, but in {', '.join(below[:10])}: install one of those")
    if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
        raise InstallError(f"{shown}: no extension.json in it; it is a bare git repository: install file://{folder}")
    raise InstallError(f"{shown}: no extension.json in it")


def _holds_one(folder: Path) -> bool:
    return (folder / FILE).is_file() or (folder / PROGRAM).is_file()


def fetch(source: Source, stage: StagingFolder, parent: Path, git_timeout_s: float) -> Fetched:
    """Fills the stage's tree. Does not copy `parent`, the folder of installed extensions: it may be within the source.
    Raises `InstallError` and `OSError`."""
    commit = None
    if isinstance(source, LocalSource):
        stage.tree.mkdir(mode=0o700)
        tree.copy(source.folder, stage.tree, without=parent)
    else:
        commit = git.fetch(source, stage.tree, git_timeout_s)
        _check_clone(source, stage.tree)
    manifest = manifest_of(stage.tree, source.shown, source.label)
    files = tree.files(stage.tree, manifest)
    return Fetched(source, manifest, files, tree.content_hash(stage.tree, files), commit)


def _check_clone(source: GitSource, folder: Path) -> None:
    (folder / RECORD).unlink(missing_ok=True)
    try:
        tree.check(folder)
        tree.remove_left_out(folder)
    except InstallError as error:
        raise InstallError(str(error).replace(str(folder), source.shown)) from None


def finish(stage: StagingFolder, fetched: Fetched, now: Callable[[], datetime]) -> InstallRecord:
    """Writes the record, and returns it when everything is on the disk: the rename that follows must not come before
    that. Raises `OSError`."""
    record = fetched.record(stage.tree, now())
    write_record(stage.tree, record)
    stage.flush()
    return record


@contextmanager
def new_stage(parent: Path, scope: Scope, label: str) -> Iterator[StagingFolder]:
    """Gives the block a stage in the folder of extensions, and makes this folder if it is missing: in `$ZOT_HOME` for
    the user only, in a project with the umask's mode. A failure leaves nothing behind. Raises `InstallError`."""
    made: list[Path] = []
    try:
        for folder in (*reversed(parent.parents), parent):
            if not folder.exists():
                folder.mkdir(mode=0o777 if scope is Scope.PROJECT else 0o700, exist_ok=True)
                made.append(folder)
        stays = sweep(parent)
        with lock_folder(parent):
            stage = StagingFolder(parent, label)
        stage.warnings += stays
        with stage:
            yield stage
    except BaseException as error:
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError):
            raise InstallError(_message(error, parent)) from error
        raise


def _message(error: OSError, parent: Path) -> str:
    name = error.filename.decode("utf-8", "replace") if isinstance(error.filename, bytes) else error.filename
    return f"{name or parent}: {error.strerror or error}; nothing was changed"
