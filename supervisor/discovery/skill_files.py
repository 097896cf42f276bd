"""Finds the files of skills that the manifest of an extension names, and reads none. Each lies in the extension's
folder: no `..` and no link leads out of it, so that the user's trust covers every one."""

from __future__ import annotations

import os
import re
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.content.seal import HISTORY
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from supervisor.discovery.found_extension import FoundExtension

FILE = "SKILL.md"
ENTRIES = 100
"""Maximum number of entries of `skills` that are used."""
LOOKED_AT = 5000
"""Maximum number of files and folders of one extension that are looked at."""
SKILLS = 500
"""Maximum number of skills of one extension."""
SHOWN = 60
"""Maximum number of characters of a path in a fault."""
_OTHERS = re.compile(r"[\W_]+")


class SkillFile(msgspec.Struct, frozen=True):
    """A file with a skill."""

    path: str
    """The absolute path, without links."""
    name: str
    """The name of the skill if its frontmatter has none."""


class SkillFiles(msgspec.Struct, frozen=True):
    """The files with the skills of one extension, in the order of its `skills`, and lines about what is skipped."""

    files: tuple[SkillFile, ...] = ()
    faults: tuple[str, ...] = ()


def kebab_case(name: str) -> str:
    """Returns the name in lower case with `-` between its words; the name itself if it has no letter and no digit."""
    return _OTHERS.sub("-", name.lower()).strip("-") or name


def skill_files(found: FoundExtension) -> SkillFiles:
    """Looks for `SKILL.md` in the folders that `skills` of the manifest names, and in all folders below."""
    entries = found.manifest.skills or ()
    search = _Search(os.path.realpath(found.folder))
    for number, entry in enumerate(entries[:ENTRIES]):
        search.take(f"skills[{number}]", entry)
    if len(entries) > ENTRIES:
        search.faults.append(f"skills: it has {len(entries)} entries, and only the first {ENTRIES} are used")
    return SkillFiles(tuple(search.files.values()), tuple(search.faults))


class _Search:
    def __init__(self, root: str) -> None:
        self.files: dict[str, SkillFile] = {}
        """By path: a file that two entries or a link lead to is there once."""
        self.faults: list[str] = []
        self._found = 0
        """How many skills there are, one that two entries lead to twice."""
        self._root = root
        self._seen: set[str] = set()
        self._left = LOOKED_AT
        """How many more files and folders are looked at; less than 0 once a bound was told of."""

    def take(self, place: str, entry: str) -> None:
        """Adds the files of one entry. A `/` at its start means the extension's folder, as for zot."""
        shown = repr(one_line(entry, SHOWN))
        if not entry.strip() or "\0" in entry:
            self.faults.append(f"{place} {shown} is no path; name a folder, or a {FILE}")
            return
        path = os.path.join(self._root, os.path.normpath(entry).lstrip("/"))
        if not self._is_inside(path):
            self.faults.append(f"{place} {shown} leads out of its folder; put the skills into it")
        elif os.path.isdir(path):
            before = self._found, len(self.faults), len(self._seen)
            self._scan(place, path)
            if (self._found, len(self.faults)) == before[:2] and len(self._seen) > before[2]:
                self.faults.append(f"{place} {shown} has no {FILE} in it, nor in a folder below")
        elif not os.path.lexists(path):
            self.faults.append(f"{place} {shown} is not there; name a folder, or a {FILE}")
        elif os.path.basename(path) != FILE:
            self.faults.append(f"{place} {shown} is neither a folder nor a {FILE}")
        else:
            self._add(path, os.path.basename(os.path.dirname(path)))

    def _is_inside(self, path: str) -> bool:
        """Whether the user's trust covers the path: the hash leaves the history of a repository out."""
        inside = os.path.relpath(os.path.realpath(path), self._root).split("/")
        return inside[0] != ".." and HISTORY not in inside

    def _scan(self, place: str, top: str) -> None:
        """Adds all files below a folder, those in real folders before those behind links."""
        pending, links = deque([(top, "")]), deque[tuple[str, str]]()
        while pending or links:
            path, name = (pending or links).popleft()
            for entry in self._entries(place, path):
                if entry.name == FILE:
                    self._add(entry.path, name or os.path.basename(os.path.realpath(path)))
                    continue
                inside = "-".join(filter(None, (name, kebab_case(entry.name))))
                if not entry.is_symlink():
                    pending.append((entry.path, inside))
                elif self._is_inside(entry.path):
                    links.append((entry.path, inside))
                else:
                    self.faults.append(f"{place}: {self._shown(entry.path)} is a link out of its folder")

    def _entries(self, place: str, path: str) -> list[os.DirEntry[str]]:
        """The folders and the skill in a folder, sorted by name; none if they were looked at before, or a bound was
        told of."""
        if (real := os.path.realpath(path)) in self._seen or self._left < 0:
            return []
        self._seen.add(real)
        try:
            with os.scandir(real) as listed:
                entries = sorted(islice(listed, self._left + 1), key=lambda entry: entry.name)
        except OSError as error:
            self.faults.append(f"{place}: {self._shown(path)} cannot be read: {error.strerror}")
            return []
        room, self._left = self._left, self._left - len(entries)
        if self._left < 0:
            self.faults.append(f"{place}: it has more than {LOOKED_AT} files; the rest is skipped")
        entries = entries[:room]
        return [each for each in entries if each.name == FILE or (each.name != HISTORY and os.path.isdir(each.path))]

    def _add(self, path: str, name: str) -> None:
        real = os.path.realpath(path)
        if not self._is_inside(path):
            self.faults.append(f"{self._shown(path)} is a link out of its folder")
        elif not os.path.isfile(real):
            self.faults.append(f"{self._shown(path)} is no file")
        elif real != valid_text(real):
            self.faults.append(
                f"{self._shown(path)}: its path is not valid UTF-8, and the model could not be told of it"
            )
        elif real not in self.files and len(self.files) >= SKILLS:
            if self._left >= 0:
                self.faults.append(f"skills: it has more than {SKILLS} skills; the rest is skipped")
            self._left = -1
        else:
            self._found += 1
            self.files.setdefault(real, SkillFile(real, kebab_case(name)))

    def _shown(self, path: str) -> str:
        return one_line(valid_text(os.path.relpath(path, self._root)), SHOWN)
