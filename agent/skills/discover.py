"""Finds the skills of extensions, of the project and of the user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.skills.builtin_skills import FILE, builtin_skills
from agent.skills.read import SkillError, read_skill
from supervisor.discovery.skill_files import kebab_case, skill_files
from supervisor.home.safe_files import read_file
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent.skills.skill import Skill
    from supervisor.discovery.found_extension import FoundExtension

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
    """Empty for a fault of an extension's manifest."""
    line: int
    """From 1; 0 if it is about the whole."""
    text: str
    is_left_out: bool = True
    """Whether the skill is skipped. False if only a part of it has no effect."""
    extension: str = ""
    """The extension that the skill comes with."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        who = f"extension {self.extension}: " if self.extension else ""
        what = f"skill {place}: " if place else ""
        return f"{who}{what}{self.text}" + ("; the skill is skipped" if self.is_left_out else "")


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


def discover(
    cwd: Path, home: Path, extensions: Iterable[FoundExtension] = (), *, with_users: bool = True
) -> SkillDiscovery:
    """The skills of the extensions, `with_users` those in `FOLDER/NAME/SKILL.md` of all places, then those that come
    with zot. Of several with one name the first wins. Symbolic links to folders count. A faulty skill hides no other.
    The caller has checked that the extensions may be used."""
    found: dict[str, Skill] = {}
    shadowed: list[Shadowed] = []
    faults: list[SkillFault] = []
    users = _installed(places(cwd, home), faults) if with_users else ()
    for skill in (*_of_extensions(extensions, faults), *users, *builtin_skills()):
        winner = found.setdefault(skill.name, skill)
        if winner is not skill:
            shadowed.append(Shadowed(skill, winner))
            if skill.extension or winner.extension:
                said = f"is hidden: {winner.label} has a skill {skill.name!r}"
                faults.append(SkillFault(skill.source, 0, said, is_left_out=False, extension=skill.extension))
    return SkillDiscovery(tuple(found.values()), tuple(shadowed), tuple(faults))


def discover_installed(cwd: Path, home: Path) -> SkillDiscovery:
    """`discover` with the extensions of the project and of the user that a run would use."""
    from supervisor.discovery.admission import Admission, Consent
    from supervisor.discovery.discover import discover as discover_extensions

    admit = Admission(home, Consent()).for_one_start()
    return discover(cwd, home, discover_extensions((), cwd, home, admit).usable)


def _of_extensions(extensions: Iterable[FoundExtension], faults: list[SkillFault]) -> Iterator[Skill]:
    for found in extensions:
        if not found.manifest.skills:
            continue
        name, listed = valid_text(found.manifest.name), skill_files(found)
        faults += [SkillFault("", 0, text, is_left_out=False, extension=name) for text in listed.faults]
        skills = [skill for file in listed.files if (skill := _read(file.path, file.name, faults, name)) is not None]
        if change := found.change:  # the model must not read what the user has not seen
            faults.append(SkillFault("", 0, f"its skills are skipped: {change}", is_left_out=False, extension=name))
            continue
        yield from skills


def _installed(parents: Iterable[Path], faults: list[SkillFault]) -> Iterator[Skill]:
    for parent in parents:
        for folder in _folders(parent, faults):
            if (skill := _read(str(folder / FILE), folder.name, faults)) is not None:
                yield skill


def _read(path: str, name: str, faults: list[SkillFault], extension: str = "") -> Skill | None:
    """The skill in a file; its default name is `name`. None if there is none; a fault of the file is added."""
    shown = valid_text(path)

    def fault(line: int, text: str, *, is_left_out: bool = True) -> None:
        faults.append(SkillFault(shown, line, text, is_left_out, extension))

    try:
        if path != shown:
            raise SkillError(0, "its path is not valid UTF-8, and the model could not be told of it")
        skill, remarks = read_skill(read_file(Path(path), LIMIT), path, name)
    except FileNotFoundError:
        if os.path.islink(path):
            fault(0, "is a link that leads nowhere")
    except OSError as error:
        fault(0, f"cannot be read: {error.strerror}")
    except SkillError as error:
        fault(error.line, one_line(str(error), 400))
    else:
        for line, text in remarks:
            fault(line, text, is_left_out=False)
        if not extension:
            return skill
        return msgspec.structs.replace(skill, name=f"{kebab_case(extension)}:{skill.name}", extension=extension)
    return None


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
