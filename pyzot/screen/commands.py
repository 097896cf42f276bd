"""The receiver of an entered line: the model, the shell, or a command of the screen, an extension or a skill. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ..answers import CommandInfo, SkillInfo

_HEAD = re.compile(r"/([\w-](?:[^\s/]*[\w-])?)(?:\s+(.*))?\Z", re.DOTALL)
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_NAMED = re.compile(r"(?:(?<=\s)|^)@(?:\"([^\"\n\0\ud800-\udfff]+)\"|([^\s\0\ud800-\udfff]+))")
PREFIX = "zot:"
"""Names a built-in command whose own name an extension has."""


class Kind(Enum):
    """The receiver of a line."""

    PROMPT = "prompt"
    SHELL = "shell"
    BUILT_IN = "built-in"
    EXTENSION = "extension"
    SKILL = "skill"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class BuiltIn:
    """A command of the screen. Its description begins with its arguments. `waits`: it changes the transcript, the model
    or the tools, so it waits in the queue. `is_zots`: the Go zot has it too; then it wins over an extension's command
    of this name."""

    name: str
    description: str
    waits: bool = False
    is_zots: bool = False


BUILT_INS = {
    each.name: each
    for each in (
        BuiltIn("help", "Show the commands and the keys.", is_zots=True),
        BuiltIn("model", "[ID] Use another model.", waits=True, is_zots=True),
        BuiltIn("compact", "[INSTRUCTIONS] Replace older messages by a summary.", waits=True, is_zots=True),
        BuiltIn("clear", "Begin a new conversation.", waits=True, is_zots=True),
        BuiltIn("resume", "[ID] Go on with a past session.", waits=True),
        BuiltIn("fork", "Go on in a copy of the session.", waits=True),
        BuiltIn("export", "[FILE] Write the conversation to a file: .md, .html, .json or .zotsession."),
        BuiltIn("cost", "Show tokens and dollars, and the cost of each extension."),
        BuiltIn("tools", "List the tools that the model has."),
        BuiltIn("ext", "Show the state of each extension."),
        BuiltIn("reload-ext", "[NAME] Load one extension again, or all and new ones.", waits=True, is_zots=True),
        BuiltIn("top", "Show what each extension uses, live."),
        BuiltIn("trust", "[NAME] Trust an extension of this project, and start it.", waits=True),
        BuiltIn("exit", "Leave.", is_zots=True),
    )
}
"""The commands of the screen by their names."""


@dataclass(frozen=True)
class Line:
    """An entered line by its receiver. `name` and `rest` are a command without its slash, and its arguments."""

    kind: Kind
    text: str
    name: str = ""
    rest: str = ""

    @property
    def waits(self) -> bool:
        """Whether the line waits until all before it are done."""
        return self.kind in (Kind.PROMPT, Kind.SKILL) or (self.kind is Kind.BUILT_IN and BUILT_INS[self.name].waits)


class Commands:
    """The commands that can be entered now."""

    def __init__(self) -> None:
        self.of_extensions: dict[str, CommandInfo] = {}
        self.of_skills: dict[str, SkillInfo] = {}

    def update(self, commands: Iterable[CommandInfo], skills: Iterable[SkillInfo]) -> None:
        """Takes the commands of the engine; the first one of a name counts."""
        self.of_extensions = {each.name.lower(): each for each in reversed(list(commands))}
        self.of_skills = {each.name.lower(): each for each in skills}

    def read(self, text: str) -> Line:
        """The receiver of a line. A slash that no name follows, as in a path, begins a prompt."""
        if text.startswith("!") and text[1:].strip():
            return Line(Kind.SHELL, text, rest=text[1:].strip())
        found = _HEAD.match(text.strip())
        if found is None:
            return Line(Kind.PROMPT, text)
        name, rest = found[1].lower(), (found[2] or "").strip()
        own = BUILT_INS.get(name.removeprefix(PREFIX))
        if own is not None and (own.is_zots or name.startswith(PREFIX) or name not in self.of_extensions):
            return Line(Kind.BUILT_IN, text, own.name, rest)
        kind = Kind.EXTENSION if name in self.of_extensions else Kind.SKILL if name in self.of_skills else Kind.UNKNOWN
        return Line(kind, text, name, rest)

    def list(self) -> list[tuple[str, str]]:
        """Each command with its slash, and its description, the built-in ones first."""
        own = [(name, Kind.BUILT_IN, each.description) for name, each in BUILT_INS.items()]
        of_extensions = [
            (name, Kind.EXTENSION, f"{each.description} [{each.extension}]")
            for name, each in sorted(self.of_extensions.items())
        ]
        of_skills = [(name, Kind.SKILL, f"{each.description} [skill]") for name, each in sorted(self.of_skills.items())]
        found = []
        for name, kind, description in (*own, *of_extensions, *of_skills):
            is_read = self.read(f"/{name}").kind is kind
            if is_read or kind is Kind.BUILT_IN:
                found.append((f"/{'' if is_read else PREFIX}{name}", description.strip()))
        return found


def images_in(text: str, cwd: str) -> list[str]:
    """The paths of the images that the text names with `@`, each once. A name without a file stays a word."""
    found: dict[str, None] = {}
    for match in _NAMED.finditer(text):
        path = os.path.join(cwd, os.path.expanduser(match[1] or match[2].rstrip(".,;:!?)")))
        if path.lower().endswith(IMAGES) and os.path.isfile(path):
            found[path] = None
    return list(found)
