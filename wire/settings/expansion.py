"""Puts variables into the text of an MCP server's entry: `${VAR}`, `${VAR:-default}`, `${env:VAR}` and
`${workspaceFolder}`. Pure.

It is done once: what a variable holds is not looked into. Anything else that looks like a shell's, such as `$VAR` and
`${VAR##*/}`, stays as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WORKSPACE = "workspaceFolder"
_PART = re.compile(
    r"\$\{(?:(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?|(?P<other>[A-Za-z]+:[^{}]*))\}"
)
"""`other` is what editors ask a person for, or read from their settings: `${input:token}`, `${config:x}`."""


class ExpansionError(ValueError):
    """A variable is not set, or is one that only an editor has. The text names it and says what to do."""


def expand(text: str, environ: Mapping[str, str], workspace: str) -> str:
    """The text with the values of its variables. Raises `ExpansionError`."""

    def value(found: re.Match[str]) -> str:
        if found["other"] is not None:
            raise ExpansionError(
                f"{found[0]} is something that only an editor can fill in; write ${{VAR}}, and set VAR"
            )
        name, default = found["name"], found["default"]
        if name == WORKSPACE:
            return workspace
        if (held := environ.get(name, default)) is None:
            raise ExpansionError(f"the variable {name} is not set; set it, or write ${{{name}:-default}}")
        return held

    head, rest = _divided(text)
    return _PART.sub(value, head) + rest


def variables_in(text: str) -> Iterator[str]:
    """Yields the names of the environment variables in the text, also of those with a default."""
    for found in _PART.finditer(_divided(text)[0]):
        if found["name"] is not None and found["name"] != WORKSPACE:
            yield found["name"]


def _divided(text: str) -> tuple[str, str]:
    """The text up to its last closing brace, and the rest, in which no variable ends: a search for the end of each that
    begins there would take the square of its length."""
    end = text.rfind("}") + 1
    return text[:end], text[end:]
