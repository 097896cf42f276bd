"""A prompt template: a text with `{name}` where a value goes; `{{` and `}}` stand for braces. Pure, but for `load`.

A value goes in as it is: nothing in it is looked at again. There are no formats, indices or attributes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agent.batch.tasks.faults import TasksError
from supervisor.home.safe_files import read_file
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
SIZE_LIMIT = 1024 * 1024
"""Bytes."""


class PromptTemplate:
    """Raises `TasksError` for a text that is no template."""

    def __init__(self, text: str, where: str = "--template") -> None:
        self._pieces: list[tuple[str, str | None]] = []
        """Each a text, and the name of the value behind it; None for no value."""
        at, literal = 0, ""
        for found in _PIECE.finditer(text):
            literal += text[at : found.start()]
            at = found.end()
            if found[0] in ("{{", "}}"):
                literal += found[0][0]
            elif found[1] and found[1].strip():
                self._pieces.append((literal, found[1].strip()))
                literal = ""
            else:
                raise TasksError([f"{where}: {_wrong(text, found.start(), found[0])}"])
        self._pieces.append((literal + text[at:], None))
        self.names = tuple(dict.fromkeys(name for _, name in self._pieces if name is not None))
        """The names of the values, each once."""
        if not text.strip():
            raise TasksError([f"{where}: it is empty; write the prompt, with {{name}} where a value goes"])

    @classmethod
    def load(cls, given: str) -> PromptTemplate:
        """`given` is the template, or `@FILE`. Raises `TasksError`."""
        if not given.startswith("@"):
            return cls(given)
        where = f"--template {valid_text(given)}"
        try:
            text = read_file(Path(given[1:]), SIZE_LIMIT).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise TasksError([f"{where}: it is not UTF-8"]) from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise TasksError([f"{where}: cannot be read: {reason}"]) from None
        return cls(text, where)

    def fill(self, values: Mapping[str, Any]) -> str:
        """The prompt. Raises `KeyError` with the name of a value that is missing."""
        return "".join(text if name is None else text + _as_text(values[name]) for text, name in self._pieces)


def _as_text(value: Any) -> str:
    """A text as it is; null as nothing; anything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def _wrong(text: str, at: int, found: str) -> str:
    line = text.count("\n", 0, at) + 1
    place = f"line {line}, column {at - text.rfind(chr(10), 0, at)}"
    if found in ("{", "}"):
        return f"{place}: {found!r} stands alone; write {found * 2!r} for a brace"
    return f"{place}: {found!r} names no value; write '{{{{}}}}' for a pair of braces"
