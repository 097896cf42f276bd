"""Folders that `zot ext install` gets. An input is a recipe; the folder that it describes is made on the disk."""

from __future__ import annotations

import json
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from supervisor.discovery.content.content_hash import hash_content
from supervisor.discovery.content.covered_files import ContentError
from supervisor.discovery.discover import discover
from supervisor.discovery.found_extension import Scope
from supervisor.home.delete_tree import delete
from supervisor.home.safe_files import is_staging
from supervisor.install.errors import InstallError
from supervisor.install.install import install
from supervisor.install.installed_extension import ExtensionFolders, installed_extensions, look_at
from supervisor.install.manage import remove, switch
from supervisor.install.record import allowance_in_the_loop, newer_source
from supervisor.install.source import LocalSource
from tests.fuzz import seeds
from tests.fuzz.prompt import without_fsync
from tests.fuzz.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MANIFEST = {"kind": "file", "text": '{"name":"x","exec":"./run","version":"1"}'}
RECIPES = (
    {"extension.json": MANIFEST, "run": {"kind": "file", "text": "#!/bin/sh\n", "mode": 0o755}},
    {
        "extension.json": MANIFEST,
        "lib/a/b.py": {"kind": "file", "text": "x" * 50},
        "link": {"kind": "link", "text": "lib/a"},
        "broken": {"kind": "link", "text": "nothing"},
        "out": {"kind": "link", "text": "../.."},
        "empty": {"kind": "folder"},
        "pipe": {"kind": "fifo"},
        "locked": {"kind": "file", "text": "", "mode": 0},
        "__pycache__/a.pyc": {"kind": "file", "text": "x"},
        "\udcff": {"kind": "file"},
    },
    {"extension.json": MANIFEST, "a": {"kind": "folder"}, "b": {"kind": "link", "text": "a/../b"}},
    {"extension.json": MANIFEST, "d": {"kind": "deep", "levels": 30}, "wide/w": {"kind": "file", "text": "y"}},
    {"extension.json": MANIFEST, ".zot-install.json": {"kind": "file", "text": "{}"}, ".git/HEAD": {"kind": "file"}},
)
DEEPEST = 1200
"""Most folders within each other that a recipe makes."""
"""Bytes."""
ENTRIES = 200
"""Most entries of a recipe that are made."""


def lay(folder: Path, recipe: object) -> None:
    """Makes what a recipe describes, as far as a file system can hold it. Nothing is made outside of the folder."""
    folder.mkdir(mode=0o700)
    for name, what in list(recipe.items())[:ENTRIES] if isinstance(recipe, dict) else ():
        parts = [part for part in str(name).split("/") if part not in ("", ".", "..")]
        if not parts or not isinstance(what, dict):
            continue
        try:
            _make(folder, parts, what)
        except (OSError, ValueError):  # no such name on this file system, or something is in the way
            continue


def _make(folder: Path, parts: list[str], what: dict[str, object]) -> None:
    place = folder
    for part in parts[:-1]:
        place = place / part
        if place.is_symlink():
            return
        place.mkdir(mode=0o700, exist_ok=True)
    path = place / parts[-1]
    text = what.get("text")
    match what.get("kind"):
        case "folder":
            path.mkdir()
        case "link":
            _link(path, str(text))
        case "fifo":
            os.mkfifo(path)
        case "deep":
            _make_deep(path, what.get("levels"))
        case _:
            if path.is_symlink():
                return
            path.write_bytes(str(text or "").encode("utf-8", "surrogateescape")[: 1 << 16])
    mode = what.get("mode")
    if isinstance(mode, int) and not path.is_symlink():
        os.chmod(path, stat.S_IMODE(mode & 0o7777))


def _link(path: Path, to: str) -> None:
    """A link that leads at most two folders above the recipe's: what lies above is not ours to read."""
    os.symlink(to, path)
    if os.path.isabs(to) or to.count("..") > 2:
        path.unlink()
        os.symlink("../..", path)


def _make_deep(path: Path, levels: object) -> None:
    """Makes `levels` folders, each in the one before, step by step: the path may be longer than the kernel takes."""
    here = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        name = path.name
        for _ in range(min(levels, DEEPEST) if isinstance(levels, int) else 1):
            os.mkdir(name, dir_fd=here)
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here, name = below, "d"
    finally:
        os.close(here)


@contextmanager
def trees(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """A folder is installed or refused, and in both cases nothing is left in the way of the next command. An
    installed folder can be listed, hashed, found, switched and removed."""
    source, project, home = folder / "a" / "b" / "source", folder / "project", folder / "home"
    source.parent.mkdir(parents=True)

    def take(data: bytes) -> None:
        try:
            recipe = json.loads(data)
        except (ValueError, RecursionError):
            return
        project.mkdir()
        try:
            lay(source, recipe)
            _commands(source, project, home)
        finally:
            for used in (source, project, home):
                assert not delete(used), "a folder cannot be deleted"

    with without_fsync():
        yield take


def _commands(source: Path, project: Path, home: Path) -> None:
    folders = ExtensionFolders(project, home)
    try:
        hash_content(source, look_at(source, Scope.PROJECT).manifest)
    except ContentError:
        pass
    try:
        install(LocalSource(source), Scope.PROJECT, folders)
    except InstallError:
        pass
    parent = folders.parent(Scope.PROJECT)
    left = [name for name in os.listdir(parent) if is_staging(name)] if parent.is_dir() else []
    assert not left, "a staging folder is left"
    discover([str(source)], project, home)
    everything = installed_extensions(folders)
    for extension in everything:
        newer_source(extension.folder, allowance_in_the_loop())
        try:
            switch(extension, home, on=False)
            remove(extension, home, everything, purge=True)
        except InstallError:
            pass


TARGETS = (Target("install_trees", lambda: [seeds.as_line(recipe) for recipe in RECIPES], trees, 30, 0.02),)
