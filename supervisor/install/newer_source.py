"""Tells whether the folder that an extension was installed from has changed since. Reads files only."""

from __future__ import annotations

import shlex
from pathlib import Path

from supervisor.discovery.discover import read_manifest
from supervisor.discovery.steps import Allowance
from supervisor.install import tree
from supervisor.install.record import RecordError, read_record


def allowance_in_the_loop() -> Allowance:
    """What a host may read, whose loop must not be held up: some milliseconds of reading."""
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
    None if it has not, and if that is unknown: the source is gone, cannot be read, or is larger than the allowance.
    Several comparisons may share one."""
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
    """What to tell the user of a newer source, as the end of a line."""
    return f"its source is newer: zot ext update {shlex.quote(name)} (it was installed from {source})"
