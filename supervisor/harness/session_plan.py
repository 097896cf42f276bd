"""The arguments by which two sessions are told apart: which of a tool's arguments are paths, and their values. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from supervisor.registry.registration import Tool

FOLDER_WORDS = frozenset({"dir", "directory", "folder", "cwd", "root"})
FILE_WORDS = frozenset({"path", "file", "filename", "filepath"})
LISTING_WORDS = frozenset({"list", "ls", "tree", "glob"})
"""Words in the name of a tool whose path is a folder."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MADE_UP = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}, "null": None}


def path_arguments(tool: Tool) -> dict[str, bool]:
    """The arguments that are paths by a word of their names, or of their descriptions. The value is True for a
    folder."""
    found: dict[str, bool] = {}
    takes_folder = bool(_words(tool.name) & (FOLDER_WORDS | LISTING_WORDS))
    for argument, schema in tool.schema.get("properties", {}).items():
        if isinstance(schema, dict) and schema.get("type", "string") == "string":
            for text in (argument, str(schema.get("description", ""))):
                if (words := _words(text)) & (FOLDER_WORDS | FILE_WORDS):
                    found.setdefault(argument, takes_folder or not words & FILE_WORDS)
    return found


def made_up_arguments(tool: Tool, folder: str, file: str) -> dict[str, Any]:
    """The required arguments, and at least one path. Both names are made up, so that no call can hit something that is
    there."""
    paths, properties = path_arguments(tool), tool.schema.get("properties", {})
    needed = [*tool.schema.get("required", ())]
    if not paths.keys() & set(needed):
        needed.append(next(iter(paths)))
    given = {argument: _value(properties.get(argument)) for argument in needed}
    return given | {argument: folder if paths[argument] else file for argument in needed if argument in paths}


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _value(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return "x"
    return (schema.get("enum") or [_MADE_UP.get(str(schema.get("type")), "x")])[0]
