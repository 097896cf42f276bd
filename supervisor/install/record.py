"""Reads and writes `.zot-install.json` in the folder of an installed extension: its source, and the files from it.
Finds out whether the source has changed since."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Literal

import msgspec

from supervisor.discovery.data_dir import RECORD
from supervisor.discovery.discover import read_manifest
from supervisor.discovery.steps import Allowance
from supervisor.home.safe_files import read_file, replace_file
from supervisor.install import tree
from wire.field_errors import explain
from wire.lenient_json import UNREADABLE, reason


class InstallRecord(msgspec.Struct, frozen=True):
    source: str
    """An absolute path, or a URL without its credentials."""
    kind: Literal["path", "git"]
    ref: str | None
    """Branch, tag or commit that the user named; null for the repository's default branch, and for a path."""
    commit: str | None
    content_hash: str
    """Hash of `files` after the last command. If the hash is different now, somebody has changed the files."""
    source_hash: str
    """Hash of the same files as they came from the source, before `enabled` was carried over."""
    files: tuple[str, ...]
    """Relative paths of the files from the source. All other files in the folder are the extension's data."""
    version: str | None
    installed_at: str
    """Time of the last install or update. RFC 3339, UTC."""


class RecordError(ValueError):
    """A record cannot be read. The text names the file and the fault."""


_decoder = msgspec.json.Decoder(InstallRecord)


def read_record(folder: Path) -> InstallRecord | None:
    """Reads the record of an installation. Returns None if the folder was not installed by `zot ext install`. Raises
    `RecordError`."""
    path = folder / RECORD
    try:
        return _decoder.decode(read_file(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from None
    except msgspec.ValidationError as error:
        raise RecordError(f"{path}: {explain(InstallRecord, str(error))}") from None
    except UNREADABLE as error:
        raise RecordError(f"{path}: {reason(error)}") from None


def write_record(folder: Path, record: InstallRecord) -> None:
    """Writes the record atomically. Raises `OSError`."""
    text = msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
    replace_file(folder / RECORD, text, mode=0o644)


def allowance_in_the_loop() -> Allowance:
    """The allowance for a read in a host's loop, which must not wait: a few milliseconds."""
    return Allowance(files=1000, bytes=4 * 2**20)


def source_of(folder: Path) -> Path | None:
    """Returns the folder from which the extension in `folder` was installed; None if it is a link, is from a
    repository, was not installed by zot, or its record cannot be read."""
    try:
        record = None if folder.is_symlink() else read_record(folder)
    except (OSError, RecordError):
        return None
    return Path(record.source) if record is not None and record.kind == "path" else None


def newer_source(folder: Path, allowance: Allowance) -> Path | None:
    """Returns the source of an extension, as `source_of`, if its content has changed since it was installed. Returns
    None if it has not, and if that is unknown: the source is missing, unreadable, or larger than the allowance, which
    several comparisons may share."""
    if (source := source_of(folder)) is None:
        return None
    try:
        record, manifest = read_record(folder), read_manifest(folder)
        files = []
        for entry in tree.entries(source, folder.parent):
            allowance.used_files += 1
            if tree.is_of_program(entry, manifest):
                files.append(entry.path)
                allowance.used_bytes += entry.stat.st_size
            if allowance.used_files > allowance.files or allowance.used_bytes > allowance.bytes:
                return None
        return source if record is not None and tree.content_hash(source, files) != record.source_hash else None
    except (OSError, RecordError, ValueError):
        return None


def advice(name: str, source: Path) -> str:
    """Advice for the user of a newer source, as the end of a line."""
    return f"its source is newer: zot ext update {shlex.quote(name)} (it was installed from {source})"
