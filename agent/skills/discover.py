"""Finds the skills of the project and of the user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.skills.builtin_skills import FILE, builtin_skills
from agent.skills.read import SkillError, read_skill
from supervisor.home.safe_files import read_file
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.skills.skill import Skill

LIMIT = 256 * 1024
"""Bytes of a skill's file at most: the model reads the whole of it."""
FOLDERS = 500
"""Folders in one place that are looked at, the first by name."""


class Shadowed(msgspec.Struct, frozen=True):
    """A skill that has no effect, and the one of the same name that was found before it."""

    skill: Skill
    by: Skill


class SkillFault(msgspec.Struct, frozen=True):
    """A fault of a file or folder."""

    path: str
    line: int
    """From 1; 0 if it is about the whole."""
    text: str
    is_left_out: bool = True
    """Whether the skill is skipped. False if only a part of it has no effect."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"skill {place}: {self.text}" + ("; the skill is skipped" if self.is_left_out else "")


class SkillDiscovery(msgspec.Struct, frozen=True):
    skills: tuple[Skill, ...]
    """In the order of their precedence."""
    shadowed: tuple[Shadowed, ...] = ()
    faults: tuple[SkillFault, ...] = ()


def places(cwd: Path, home: Path) -> list[Path]:
    """The folders in which folders of skills are, in the order of their precedence."""
    user = Path(os.path.expanduser("~"))
    listed = [
        cwd / ".zot" / "skills",
        home / "skills",
        cwd / ".claude" / "skills",
        user / ".claude" / "skills",
        cwd / ".agents" / "skills",
        user / ".agents" / "skills",
    ]
    once: dict[str, Path] = {}
    for folder in listed:
        if folder.is_absolute():  # without a home there is none to expand ~ to
            once.setdefault(os.path.realpath(folder), folder)
    return list(once.values())


def discover(cwd: Path, home: Path) -> SkillDiscovery:
    """The skills in `FOLDER/NAME/SKILL.md` of all places, then those that come with zot. Of several with one name the
    first wins. Symbolic links to folders count. A faulty skill hides no other."""
    found: dict[str, Skill] = {}
    shadowed: list[Shadowed] = []
    faults: list[SkillFault] = []
    for skill in (*_installed(places(cwd, home), faults), *builtin_skills()):
        winner = found.setdefault(skill.name, skill)
        if winner is not skill:
            shadowed.append(Shadowed(skill, winner))
    return SkillDiscovery(tuple(found.values()), tuple(shadowed), tuple(faults))


def _installed(parents: Iterable[Path], faults: list[SkillFault]) -> Iterable[Skill]:
    for parent in parents:
        for folder in _folders(parent, faults):
            path = folder / FILE
            shown = valid_text(str(path))
            try:
                if str(path) != shown:
                    raise SkillError(0, "its path is not valid UTF-8, and the model could not be told of it")
                skill, remarks = read_skill(read_file(path, LIMIT), str(path), folder.name)
            except FileNotFoundError:
                if path.is_symlink():
                    faults.append(SkillFault(shown, 0, "is a link that leads nowhere"))
            except OSError as error:
                faults.append(SkillFault(shown, 0, f"cannot be read: {error.strerror}"))
            except SkillError as error:
                faults.append(SkillFault(shown, error.line, one_line(str(error), 400)))
            else:
                faults += [SkillFault(shown, line, text, is_left_out=False) for line, text in remarks]
                yield skill


def _folders(parent: Path, faults: list[SkillFault]) -> list[Path]:
    found = []
    try:
        with os.scandir(parent) as entries:
            for entry in entries:
                # entry.is_dir() would raise for a link that leads to itself, and all other folders would be lost.
                if os.path.isdir(entry.path):
                    found.append(parent / entry.name)
                elif entry.is_symlink() and not os.path.exists(entry.path):
                    faults.append(SkillFault(valid_text(entry.path), 0, "is a link that leads nowhere"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        said = f"cannot be read: {error.strerror}; the skills in it are skipped"
        faults.append(SkillFault(valid_text(str(parent)), 0, said, is_left_out=False))
        return []
    if len(found) > FOLDERS:
        faults.append(
            SkillFault(
                valid_text(str(parent)),
                0,
                f"has {len(found)} folders: only the first {FOLDERS} are read",
                is_left_out=False,
            )
        )
    return sorted(found)[:FOLDERS]
