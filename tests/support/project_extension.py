"""An extension of a project, with a guard's manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.discovery.discover import Found, Scope
from wire.manifest import Manifest

if TYPE_CHECKING:
    from pathlib import Path


def manifest(**fields: Any) -> Manifest:
    return Manifest(**{"name": "guard", "exec": "./run.sh", **fields})


def found(folder: Path, scope: Scope = Scope.PROJECT, **fields: Any) -> Found:
    return Found(folder, manifest(**fields), scope)


def append(path: Path) -> None:
    path.write_text(path.read_text() + "x")
