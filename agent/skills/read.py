"""Makes a skill of the bytes of its file. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.skills import front_matter
from agent.skills.allowed_tools import ToolRule, entries_in, rule_from
from agent.skills.front_matter import FrontMatterError
from agent.skills.skill import NAME_LENGTH, Skill
from wire.text import one_line

if TYPE_CHECKING:
    from agent.skills.front_matter import Value

ALLOWED = ("allowed-tools", "allowed_tools")
PERMISSIONS = "permissions"
SHOWN = 80
"""Characters of a quoted value."""


class SkillError(ValueError):
    """Why a file is no skill. `line` counts from 1; 0 if it is about the whole file."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def read_skill(data: bytes, path: str, folder: str) -> tuple[Skill, list[tuple[int, str]]]:
    """The skill in a file, and lines with remarks about what of it has no effect. Without a name it has that of its
    folder. Raises `SkillError`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SkillError(data.count(b"\n", 0, error.start) + 1, "it is not UTF-8: save it as UTF-8") from None
    try:
        yaml_text, first, body = front_matter.split(text)
        values = front_matter.values(yaml_text, first) if yaml_text.strip() else {}
    except FrontMatterError as error:
        raise SkillError(error.line, str(error)) from None
    remarks: list[tuple[int, str]] = []
    name = _name(values.get("name"), folder)
    description = _text("description", values.get("description"))
    allowed = _allowed(values, remarks)
    if (permissions := values.get(PERMISSIONS)) is not None:
        remarks.append((permissions.line, f"{PERMISSIONS}: has no effect here; {ALLOWED[0]} restricts tools"))
    return Skill(name=name, description=description.strip(), body=body, path=path, allowed=allowed), remarks


def _name(value: Value | None, folder: str) -> str:
    line = 0 if value is None else value.line
    name = _text("name", value).strip() or folder
    if len(name) > NAME_LENGTH:
        raise SkillError(line, f"the name {one_line(name, SHOWN)!r} is longer than {NAME_LENGTH} characters")
    if name != one_line(name, NAME_LENGTH) or not name.isprintable():
        raise SkillError(line, f"the name {one_line(name, SHOWN)!r} must be one line of printable characters")
    return name


def _text(key: str, value: Value | None) -> str:
    """A text; "" for one that is absent or null."""
    if value is None or value.kind == "nothing":
        return ""
    if not isinstance(value.content, str):
        raise SkillError(value.line, f"{key}: must be text, not {_described(value)}")
    return value.content


def _allowed(values: dict[str, Value], remarks: list[tuple[int, str]]) -> tuple[ToolRule, ...] | None:
    given = [key for key in ALLOWED if key in values]
    if not given:
        return None
    if len(given) > 1:
        raise SkillError(values[given[1]].line, f"{given[0]} and {given[1]} mean the same: leave one of them out")
    key, value = given[0], values[given[0]]
    entries = value.content if isinstance(value.content, list) else entries_in(value.content or "")
    if value.content is None or entries is None:
        what = _described(value) if value.content is None else one_line(repr(value.content), SHOWN)
        raise SkillError(value.line, f"{key}: must be a list of tools, such as [read, edit], not {what}")
    rules = []
    for entry in entries:
        rule, fault = rule_from(entry)
        rules.append(rule)
        if fault:
            remarks.append((value.line, f"{key}: {one_line(entry, SHOWN)!r} allows nothing: {fault}"))
    return tuple(rules)


def _described(value: Value) -> str:
    return "a list" if value.kind == "list" else value.kind
