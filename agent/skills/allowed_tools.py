"""The tools that may be called while skills with `allowed-tools` are active. Pure.

A skill is active from the call that loads it to the end of the prompt. Calls must fit an entry of one of the active
skills that have a list; a skill without one neither restricts nor widens. `skill` may always be called.

| entry | allows |
|---|---|
| `read`, `Read` | the tool of this name, whatever the case |
| `todo_*`, `*` | all tools whose names begin so; all tools |
| `Bash(git status)` | exactly this command |
| `Bash(git log:*)`, `Bash(git log *)` | one simple command that begins with these words |
| `Read(docs/**)`, `Bash(* --help)` | nothing: such a pattern cannot be held, and is told when the skill is read |
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import orjson

from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

SKILL = "skill"
BASH = "bash"
SHOWN = 300
"""Characters of the entries in a refusal."""
_ENTRY = re.compile(r"[^\s,()]+(?:\([^()]*\))?")
_TOOL = re.compile(r"([^\s,()*]*\*?)(?:\((.*)\))?", re.DOTALL)
_NOT_SIMPLE = re.compile(r"[;&|<>`$()\n\r\0]")
"""Characters that, wherever they stand, make a command more than one program with its arguments."""
_BLANKS = " \t\n"
"""Separators of words in a shell. `str.split` would take other white space, too, which is part of a word there."""
_BLANK = re.compile(rf"[{_BLANKS}]+")


class ToolRule(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `allowed-tools`."""

    written: str
    """As the author wrote it."""
    tool: str
    """In lower case; with a `*` at its end any tool that begins so; empty if nothing fits the entry."""
    command: str | None = None
    """For `bash`, in this very case: the command, or the words that it begins with. None: any command."""
    is_beginning: bool = False

    def fits(self, tool: str, args: bytes) -> bool:
        """Whether it allows a call with these arguments, a JSON object."""
        name = tool.lower()
        if not (name.startswith(self.tool[:-1]) if self.tool.endswith("*") else name == self.tool):
            return False
        return self.command is None or (tool == BASH and self._fits_command(_command(args).strip(_BLANKS)))

    def _fits_command(self, command: str) -> bool:
        assert self.command is not None
        if not self.is_beginning:
            return command == self.command
        words = _BLANK.split(self.command)
        return not _NOT_SIMPLE.search(command) and _BLANK.split(command)[: len(words)] == words


def entries_in(text: str) -> list[str] | None:
    """The entries of a line `Read, Bash(git log:*)`, with commas or blanks between them; None if it is no such list."""
    left = _ENTRY.sub("", text)
    return None if left.strip(" \t\r\n,") else _ENTRY.findall(text)


def rule_from(written: str) -> tuple[ToolRule, str]:
    """The rule of an entry, and why nothing fits it; "" if something may."""
    written = written.strip()
    found = _TOOL.fullmatch(written)
    if found is None or not found[1]:
        return ToolRule(written=written, tool=""), "it is no name of a tool"
    tool, pattern = found[1].lower(), (found[2] or "").strip()
    if not pattern or pattern == "*":
        return ToolRule(written=written, tool=tool), ""
    if tool != BASH:
        return ToolRule(written=written, tool=""), "only a pattern of Bash can be held"
    command = re.sub(r"(?::| )\*$", "", pattern).strip()
    if not command or "*" in command:
        return ToolRule(written=written, tool=""), "a pattern of Bash may have one *, at its end: Bash(git log:*)"
    return ToolRule(written=written, tool=tool, command=command, is_beginning=command != pattern), ""


class ActiveSkills:
    """The skills that a prompt has loaded so far."""

    def __init__(self) -> None:
        self._restricting: dict[str, tuple[ToolRule, ...]] = {}

    def begin(self, name: str, allowed: tuple[ToolRule, ...] | None) -> None:
        """The skill is active from now on."""
        if allowed is not None:
            self._restricting[name] = allowed

    def refusal(self, tool: str, args: bytes) -> str:
        """Why the call may not be run; "" if it may."""
        if not self._restricting or tool == SKILL:
            return ""
        rules = [rule for allowed in self._restricting.values() for rule in allowed]
        if any(rule.fits(tool, args) for rule in rules):
            return ""
        names = list(self._restricting)
        who = f"the skill {names[0]} allows" if len(names) == 1 else f"the skills {_joined(names)} allow"
        entries = list(dict.fromkeys(rule.written for rule in rules if rule.tool))
        only = one_line(_joined([*entries, SKILL]), SHOWN)
        return f"{tool} was not run: until the end of this prompt {who} only {only}{_about_commands(tool, rules)}"


def _about_commands(tool: str, rules: Sequence[ToolRule]) -> str:
    if tool == BASH and any(rule.is_beginning for rule in rules):
        return "; such a command of bash must be a single one, without ; & | < > ` $ ( ) and line breaks"
    return ""


def _joined(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _command(args: bytes) -> str:
    command = orjson.loads(args).get("command")
    return command if isinstance(command, str) else ""
