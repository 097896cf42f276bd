"""An extension of a project: a guard's manifest, and a child in the project of a test."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

from supervisor.discovery.found_extension import FoundExtension, Scope
from tests.support.extension_folder import extension
from wire.manifest import FILE, parse_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot
    from wire.manifest import Manifest


def manifest(**fields: Any) -> Manifest:
    return parse_manifest(json.dumps({"name": "guard", "exec": "./run.sh", **fields}).encode())


def written(folder: Path, **fields: Any) -> Manifest:
    """Writes the manifest into the folder."""
    made = manifest(**fields)
    (folder / FILE).write_bytes(made.text)
    return made


def found(folder: Path, scope: Scope = Scope.PROJECT, **fields: Any) -> FoundExtension:
    """Also writes the manifest, if the folder is there."""
    return FoundExtension(folder, written(folder, **fields) if folder.is_dir() else manifest(**fields), scope)


def append(path: Path) -> None:
    path.write_text(path.read_text() + "x")


def put(zot: Zot, child: str, *args: str, name: str | None = None, parent: Path | None = None, **manifest: Any) -> Path:
    """Makes a child an extension of the project, in a folder of its name."""
    parent = parent or zot.cwd / ".zot" / "extensions"
    parent.mkdir(parents=True, exist_ok=True)
    target = parent / (name or child)
    shutil.move(extension(zot.folder, child, *args, name=name, **manifest), target)
    return target


def rewrite_with_times_kept(path: Path) -> None:
    """Gives a file of one byte another byte; its size and times stay."""
    before = path.stat()
    path.write_text("2")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
