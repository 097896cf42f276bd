"""Hashes the content of an extension. The hash shows whether the user has trusted this content.

The hash covers every file below the folder with its path, its exec bit and its content, every folder, and every
symbolic link with its target. It also covers files outside of the folder if a relative link, the manifest's `exec` or
one of its `args` leads to them: the next commit of a project can change these files. If these lead to a folder that
contains the extension, such as the project's, it covers only `__main__.py` there. Of an absolute link it covers only
the target path: the file there, such as the `python` of a virtual environment, does not come with the project.

The manifest's `data` names files that the extension writes itself: the hash leaves them out, unless `exec`, `args` or a
link leads to them.

Of the manifest, the hash covers the very bytes that were parsed, so zot starts the manifest that it has hashed.

The hash covers `__pycache__`: Python runs the files there in place of the source beside them, even if a commit has
brought them. Extensions of projects are told not to write there (`environment.py`). The hash also covers the record of
the installation: it names the source from which `zot ext update` fetches, and an update from there is trusted.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from supervisor.discovery.content.covered_files import (
    Content,
    ContentError,
    Covered,
    changed_error,
    digest_state,
    link_state,
    unreadable_error,
)
from supervisor.discovery.content.seal import HISTORY, Names
from supervisor.discovery.steps import Allowance, finish
from wire.data_files import paths_in
from wire.manifest import FILE, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from supervisor.discovery.steps import Steps

ENTRY = "__main__.py"
"""The file that Python runs if it gets a folder."""
MAX_DEPTH = 100
"""Maximum depth of folders within folders."""
MAX_LINKS = 40
"""Maximum number of links in one path. No system follows more."""


def hash_content(folder: Path, manifest: Manifest | None = None, allowance: Allowance | None = None) -> Content:
    """Reads all files and returns their hash. Raises `ContentError` if a file cannot be read or changes meanwhile, if
    it is not the manifest that was parsed, or if there is more than the allowance."""
    return finish(hash_steps(folder, manifest, allowance))


def hash_steps(
    folder: Path, manifest: Manifest | None = None, allowance: Allowance | None = None, beside: Iterable[str] = ()
) -> Steps[Content]:
    """`hash_content` in steps. Each read is taken from the allowance. Covers also the paths `beside` the folder,
    relative to it."""
    walk = _Walk(folder, allowance or Allowance(), manifest)
    yield from walk.all()
    if manifest is not None:
        for word in (*manifest.words, *beside):
            yield from walk.named(word)
    yield from walk.data_led_to()
    return walk.content(walk.folders)


class _Walk(Covered):
    def __init__(self, folder: Path, allowance: Allowance, manifest: Manifest | None) -> None:
        super().__init__(allowance)
        self._name = str(folder)
        self._root = os.path.realpath(folder)
        self._text = None if manifest is None else manifest.text
        self._is_data = manifest.is_data if manifest is not None and manifest.data else None
        self._left_out: set[tuple[int, int]] = set()
        """Device and inode of each file of data: a file system may take several spellings for one name."""
        self._led_to: list[tuple[str, str, os.stat_result]] = []
        """Files inside the folder to which a link or a word leads: the path, the path in the hash, and the state."""
        self.folders: dict[str, Names] = {}
        self._seen: set[str] = set()
        """Real paths outside of the folder that are covered already. Links may lead in circles."""

    def all(self) -> Steps[None]:
        """Covers all that the extension's folder contains."""
        for link in _links_to(self._name):
            self._stamp(link, self._stat(link))
        self._stamp(self._name, self._stat(self._root))
        yield from self._folder(self._root, "", self._name)
        if self._text and FILE not in self._files:  # it is a link; an empty text is of a folder without a manifest
            self._add(f"./{FILE}", digest_state(hashlib.sha256(self._text).hexdigest(), 0))

    def named(self, word: str) -> Steps[None]:
        """Covers the files and folders that a word of the command line names by relative paths out of the folder."""
        for named in paths_in(word):
            if "\0" in named:
                continue
            path = os.path.join(self._root, named)
            if ("/" not in named and named != "..") or os.path.isabs(named):
                self._lead_to(path, named)  # a name in the folder, or an absolute path
                continue
            self._count(named)
            yield from self._outside(path, named)

    def data_led_to(self) -> Steps[None]:
        """Covers the files of data that a link or a word of the command line leads to: they are part of the program."""
        for path, shown, found in self._led_to:
            if (found.st_dev, found.st_ino) in self._left_out:
                yield from self._file(path, shown)

    def _lead_to(self, path: str, shown: str) -> None:
        """Remembers the target of a path inside the folder. Does nothing without data."""
        if self._is_data is not None:
            with suppress(OSError):
                self._led_to.append((os.path.realpath(path), shown, os.stat(path)))

    def _folder(self, path: str, shown: str, stamped: str = "") -> Steps[None]:
        """Covers all content of a folder. `shown` is its path in the hash, relative to the extension's folder;
        `stamped` the path of its stamp, empty for a folder outside of the extension's, where there is no data."""
        pending = [(path, shown, stamped, 1)]
        while pending:
            path, shown, stamped, depth = pending.pop()
            names = []
            for entry in self._entries(path):
                inside = f"{shown}/{entry.name}" if shown else entry.name
                if entry.name == HISTORY:
                    continue
                found = self._stat(entry.path)
                if stamped and self._is_data is not None and stat.S_ISREG(found.st_mode) and self._is_data(inside):
                    self._left_out.add((found.st_dev, found.st_ino))
                    self._count(inside)
                    continue
                names.append(entry.name)
                if stat.S_ISDIR(found.st_mode):
                    self._check_depth(depth)
                    self._add(inside, b"folder")
                    self._stamp(entry.path, found)
                    pending.append((entry.path, inside, entry.path if stamped else "", depth + 1))
                elif stat.S_ISLNK(found.st_mode):
                    yield from self._link(entry.path, inside, found)
                elif stat.S_ISREG(found.st_mode):
                    yield from self._file(entry.path, inside)
                else:
                    self._add(inside, b"special %o" % stat.S_IFMT(found.st_mode))
                if self._is_step_full():
                    yield
            if stamped and self._is_data is not None:
                self.folders[stamped] = Names(shown, frozenset(names))

    def _check_depth(self, depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise ContentError(
                f"{self._name} holds more than {MAX_DEPTH} folders within one another; remove those that it does not"
                " need"
            )

    def _link(self, path: str, shown: str, found: os.stat_result) -> Steps[None]:
        try:
            target = os.readlink(path)
        except OSError as error:
            raise unreadable_error(path, error) from None
        self._add(shown, link_state(target))
        self._stamp(path, found)
        if os.path.isabs(target):
            self._lead_to(path, f"{shown} -> {target}")
        else:
            yield from self._outside(path, f"{shown} -> ./{target}")  # no file inside can have this path

    def _outside(self, path: str, shown: str) -> Steps[None]:
        """Covers the target of a path, if that is outside of the folder."""
        try:
            found = os.stat(path)  # fails for links in a circle, and for more links than `realpath` can follow
        except OSError:
            return
        real = os.path.realpath(path)
        if self._is_inside(real):
            self._lead_to(real, shown)
            return
        is_folder = stat.S_ISDIR(found.st_mode)
        if not (is_folder and self._is_above(real)):
            self._stamp(path, found)
        if real in self._seen:
            return
        self._seen.add(real)
        if stat.S_ISREG(found.st_mode):
            yield from self._file(real, shown)
        elif is_folder:
            self._add(shown, b"folder")
            if not self._is_above(real):
                yield from self._folder(real, shown)
            elif os.path.isfile(entry := os.path.join(real, ENTRY)):
                yield from self._outside(entry, f"{shown}/{ENTRY}")

    def _is_inside(self, real: str) -> bool:
        """Whether the walk through the folder covers this real path."""
        inside = os.path.relpath(real, self._root).split("/")
        return inside[0] != ".." and HISTORY not in inside

    def _is_above(self, real: str) -> bool:
        """Whether the folder with this real path contains the extension: then the extension works on it, and it is not
        part of the program."""
        return self._root.startswith(real.rstrip("/") + "/")

    def _stat(self, path: str) -> os.stat_result:
        try:
            return os.lstat(path)
        except OSError as error:
            raise unreadable_error(path, error) from None

    def _file(self, path: str, shown: str) -> Steps[None]:
        digest, found = yield from self._read(path)
        if shown == FILE and self._text is not None and digest != hashlib.sha256(self._text).hexdigest():
            raise changed_error(path)
        self._files[shown] = found.st_size
        self._add(shown, digest_state(digest, found.st_mode))

    def _add(self, shown: str, state: bytes) -> None:
        self._states.append((shown, state))
        self._count(shown)

    def _too_much(self, bound: str, which: str) -> ContentError:
        return ContentError(
            f"with {self._name} {super()._too_much(bound, which)}; move what it does not need out of it (caches, build"
            " output, data), or name it with --ext"
        )


def _links_to(path: str) -> Iterator[str]:
    """Yields the symbolic links in this path, so that a link that led elsewhere for a moment shows by its state."""
    at, left, links = "/", os.path.abspath(path).split("/"), 0
    while left and links < MAX_LINKS:
        name = left.pop(0)
        if name in ("", ".", ".."):
            at = os.path.dirname(at) if name == ".." else at
            continue
        try:
            target = os.readlink(os.path.join(at, name))
        except OSError:
            at = os.path.join(at, name)  # no link
            continue
        yield os.path.join(at, name)
        links += 1
        at = "/" if os.path.isabs(target) else at
        left = target.split("/") + left
