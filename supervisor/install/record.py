"""Reads and writes `.zot-install.json` in the folder of an installed extension: its source, and the files from
there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from supervisor.discovery.data_dir import RECORD
from supervisor.home.files import read_file, replace_file
from wire.field_errors import explain
from wire.lenient_json import UNREADABLE, reason

if TYPE_CHECKING:
    from pathlib import Path


class Record(msgspec.Struct, frozen=True):
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


_decoder = msgspec.json.Decoder(Record)


def read_record(folder: Path) -> Record | None:
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
        raise RecordError(f"{path}: {explain(Record, str(error))}") from None
    except UNREADABLE as error:
        raise RecordError(f"{path}: {reason(error)}") from None


def write_record(folder: Path, record: Record) -> None:
    """Writes the record atomically. Raises `OSError`."""
    text = msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
    replace_file(folder / RECORD, text, mode=0o644)
