"""Reads a tool's arguments by type. Errors name the wrong field.

As in zot, a field that is missing or null counts as empty, and unknown fields are ignored. Strings are made valid
Unicode: a lone UTF-16 surrogate, which JSON allows, becomes U+FFFD.
"""

from __future__ import annotations

import json
import os

from agent.tools.outcome import ToolError

Arguments = dict[str, object]

_JSON_NAMES = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "a number"}


def decode(raw: bytes) -> Arguments:
    """The arguments as the model wrote them. b"" means no arguments.

    Raises ToolError (`invalid args: …`) when they are not a JSON object.
    """
    try:
        return fields(json.loads(raw) if raw.strip() else {})
    except (ValueError, RecursionError) as error:
        raise ToolError(f"invalid args: not valid JSON: {error}") from None


def fields(value: object) -> Arguments:
    """`value` itself if it is an object; `{}` for null. Raises ToolError for another value."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong_type("the arguments", "an object", value)
    return value


def text(args: Arguments, name: str, *, label: str = "") -> str:
    """The string `name`, or "" when it is missing. `label` is its name in the error text."""
    value = args.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong_type(label or name, "a string", value)
    return value if value.isascii() else _well_formed(value)


def integer(args: Arguments, name: str) -> int:
    """The integer `name`, or 0 when it is missing. 3.0 is an integer, as in JSON Schema; zot refuses it."""
    value = args.get(name)
    if value is None:
        return 0
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong_type(name, "an integer", value)
    return value


def replacements(args: Arguments) -> list[tuple[str, str]]:
    """The pairs (oldText, newText) of `edits`, in order."""
    value = args.get("edits")
    if value is None:
        return []
    if not isinstance(value, list):
        raise _wrong_type("edits", "an array", value)
    pairs = []
    for number, item in enumerate(value, 1):
        if item is not None and not isinstance(item, dict):
            raise _wrong_type(f"edit {number}", "an object", item)
        edit: Arguments = item or {}
        old, new = (text(edit, name, label=f"edit {number}: {name}") for name in ("oldText", "newText"))
        pairs.append((old, new))
    return pairs


def path(args: Arguments, cwd: str) -> tuple[str, str]:
    """The `path` argument as given, and as an absolute path.

    A relative path is joined to `cwd` (the process's own if ""). `.` and `..` are removed without a look at the file
    system, as in zot; also `..` of an absolute path, which zot leaves to the file system: after a link it could lead to
    another file than the one that guards see. `~` stays as it is. Raises ToolError.
    """
    given = text(args, "path")
    if not given:
        raise ToolError("path is required")
    if "\0" in given:
        raise ToolError("path must not contain a NUL character")
    if os.path.isabs(given) and ".." not in given.split("/"):
        return given, given
    return given, os.path.normpath(os.path.join(cwd or os.getcwd(), given))


def _wrong_type(name: str, wanted: str, value: object) -> ToolError:
    return ToolError(f"invalid args: {name} must be {wanted}, not {_describe(value)}")


def _describe(value: object) -> str:
    return f"the number {value}" if isinstance(value, float) else _JSON_NAMES.get(type(value), "null")


def _well_formed(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value
