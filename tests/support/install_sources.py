"""Sources to install from, and what is to be true of a folder of extensions after every command."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

from supervisor.discovery.found_extension import Scope
from supervisor.home.safe_files import is_staging
from supervisor.install.installed_extension import ExtensionFolders

if TYPE_CHECKING:
    from pathlib import Path

AUTHOR = {f"GIT_{who}_{what}": f"{who}@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
INHERITED = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
GIT_ENV = {**INHERITED, **AUTHOR, "GIT_CONFIG_GLOBAL": "/dev/null"}


def source(folder: Path, name: str = "guard", program: str | None = "#!/bin/sh\n", **manifest: Any) -> Path:
    """An extension's folder, or a new version of one that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {"name": name, "exec": "./run", "version": "1.0", **manifest}
    (folder / "extension.json").write_text(json.dumps(said))
    if program is not None:
        (folder / "run").write_text(program)
        (folder / "run").chmod(0o755)
    return folder


def git(folder: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=folder, env=GIT_ENV, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(folder: Path, **manifest: Any) -> Path:
    """The same as a git repository with one commit."""
    source(folder, **manifest)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder)
    return folder


def commit(folder: Path) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "change")
    return git(folder, "rev-parse", "HEAD")


def shelves(tmp_path: Path) -> ExtensionFolders:
    (tmp_path / "project").mkdir(exist_ok=True)
    return ExtensionFolders(tmp_path / "project", tmp_path / "home")


def contents(parent: Path) -> list[str]:
    """All names in a folder of extensions, those of unfinished work too."""
    return sorted(os.listdir(parent)) if parent.is_dir() else []


def staged(parent: Path) -> list[str]:
    return [name for name in contents(parent) if is_staging(name)]


def manifest_in(folder: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((folder / "extension.json").read_text())
    return said


__all__ = ["Scope", "commit", "contents", "git", "manifest_in", "repository", "shelves", "source", "staged"]
