"""Reads the descriptions in a function's docstring: Google style (`Args:`) or `:param name: text`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PARAMETER_SECTIONS = ("args:", "arguments:", "parameters:", "params:", "attributes:")
OTHER_SECTIONS = ("returns:", "return:", "raises:", "yields:", "example:", "examples:", "note:", "notes:")
_DESCRIPTION, _PARAMETERS, _OTHER = "description", "parameters", "other"


def parse(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Returns the description, which is everything before the first section, and the description of each parameter."""
    reader = _Reader()
    for line in _dedented(docstring or ""):
        reader.read(line.strip(), len(line) - len(line.lstrip()))
    return _paragraphs(reader.description), reader.parameters


class _Reader:
    """Reads line by line. `_current` is the parameter to which a continued line belongs."""

    def __init__(self) -> None:
        self.description: list[str] = []
        self.parameters: dict[str, str] = {}
        self._section = _DESCRIPTION
        self._current = ""
        self._entries_at = -1

    def read(self, line: str, indent: int) -> None:
        if line.startswith(":"):
            self._section = _OTHER
            self._begin_parameter(*_field(line))
        elif indent == 0 and line.lower() in PARAMETER_SECTIONS:
            self._section, self._current, self._entries_at = _PARAMETERS, "", -1
        elif indent == 0 and line.lower() in OTHER_SECTIONS:
            self._section, self._current = _OTHER, ""
        elif self._section == _PARAMETERS and line and indent == 0:
            self._section = _DESCRIPTION
            self.description.append(line)
        elif self._section == _PARAMETERS and line:
            self._entry(line, indent)
        elif self._section == _DESCRIPTION:
            self.description.append(line)
        elif line and self._current:
            self._continue_parameter(line)

    def _entry(self, line: str, indent: int) -> None:
        """Reads `name: text`, `name (type): text`, or a line that continues the text before."""
        self._entries_at = indent if self._entries_at < 0 else self._entries_at
        if indent <= self._entries_at and ":" in line:
            head, _, text = line.partition(":")
            self._begin_parameter(head.split("(")[0].strip().lstrip("*"), text.strip())
        elif self._current:
            self._continue_parameter(line)

    def _begin_parameter(self, name: str, text: str) -> None:
        self._current = name
        if name:
            self.parameters[name] = text

    def _continue_parameter(self, line: str) -> None:
        self.parameters[self._current] = f"{self.parameters[self._current]} {line}".strip()


def _field(line: str) -> tuple[str, str]:
    """Reads `:param str name: text` or `:param name: text`; any other field has no name."""
    head, _, text = line[1:].partition(":")
    words = head.split()
    if len(words) < 2 or words[0] not in ("param", "parameter", "arg", "argument"):
        return "", ""
    return words[-1].lstrip("*"), text.strip()


def _dedented(docstring: str) -> list[str]:
    """Returns the lines without their common indentation; the first line does not count."""
    lines = docstring.expandtabs().splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    return [lines[0].strip(), *(line[margin:].rstrip() for line in lines[1:])] if lines else []


def _paragraphs(lines: Iterable[str]) -> str:
    """Joins the lines of each paragraph; an empty line separates two paragraphs."""
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line:
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    return "\n\n".join(" ".join(words) for words in paragraphs if words)
