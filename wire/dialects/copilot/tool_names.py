"""The names and arguments of the agent's own tools in the words of Copilot CLI, and rewritten arguments back. Pure.

    ours                                              Copilot CLI's
    bash   command, timeout (s)                       bash    command, timeout (s)
    read   path, offset, limit                        view    path, view_range [first, last]; last -1: to the end
    write  path, content                              create  path, file_text
    edit   path, edits [{oldText, newText}]           edit    path, old_str, new_str

Extensions test for those names, and a guard that does must see everything that the tool will do. So a member that our
tool ignores is left out if Copilot's tool would read it, and several edits are shown as one: their texts follow one
another, each on its own line. `edits` is shown unchanged, too. All other members, and the arguments of all other tools,
are shown unchanged.

A `path` is shown as an absolute path, since Copilot's tools take no other and guards test its beginning: joined to the
working folder, and without `.` and `..`, as Node's `path.resolve` and our tools do it. `~` is an ordinary name there.
Links are not followed.

Sources of the format: the types of these tools in the public source of VS Code (`src/vs/platform/agentHost/node/
copilot/copilotToolDisplay.ts`; `copilotCLITools.ts` of its Copilot extension), the examples in the documentation of
`@github/copilot-sdk` 1.0.14, and published descriptions of the tools, for the unit of `timeout`. Copilot's `bash` also
has `description`, `mode` and `initial_wait`, which have no counterpart here; older versions of Copilot CLI had one
`str_replace_editor` in place of view, create and edit.
"""

from __future__ import annotations

import posixpath
from typing import Any

import msgspec

from wire.dialects.json_values import kind_of
from wire.lenient_json import ARGUMENTS_DEPTH, UNREADABLE, is_deeper, read
from wire.text import valid_text

NAMES = {"read": "view", "write": "create"}
"""Copilot's name of each tool whose name differs here."""
_MISSING = object()
_TO_THE_END = -1


class RewriteError(Exception):
    """Rewritten arguments have no meaning for the tool; the text names the member."""


def copilot_name(tool: str) -> str:
    """Returns the tool's name for an extension."""
    return NAMES.get(tool, tool)


def copilot_args(tool: str, args: bytes, cwd: str) -> Any:
    """Returns the value of the arguments for an extension. `args` is JSON text; invalid JSON is itself the value. `cwd`
    is the working folder; if it is "", paths are shown unchanged. Never raises."""
    value = _value(args)
    if not isinstance(value, dict):
        return value
    return _show(tool, value, cwd)


def restore_args(tool: str, args: bytes, given: Any, cwd: str) -> bytes | None:
    """Returns the tool's arguments for the arguments `given` by an extension, as JSON text; None if it changed nothing.
    `args` are the model's arguments that it was shown, with the same `cwd`. An unchanged member stays as the model
    wrote it. Raises `RewriteError`."""
    if not isinstance(given, dict):
        raise RewriteError(f"modifiedArgs is {kind_of(given)}, not an object")
    if is_deeper(given, ARGUMENTS_DEPTH):
        raise RewriteError(f"modifiedArgs is nested deeper than {ARGUMENTS_DEPTH} levels")
    original = _value(args)
    if not isinstance(original, dict):
        original = {}
    shown = _show(tool, original, cwd)
    if is_same_value(given, shown):
        return None
    kept = {
        name: shown[name] if name in shown and is_same_value(value, shown[name]) else value
        for name, value in given.items()
    }
    if "path" in kept and "path" in shown and kept["path"] is shown["path"]:
        kept["path"] = original["path"]
    take = _TAKEN.get(tool)
    try:
        return msgspec.json.encode(kept if take is None else take(kept, shown, original))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise RewriteError(f"modifiedArgs cannot be written as JSON: {error}") from None


def _show(tool: str, args: dict[str, Any], cwd: str) -> dict[str, Any]:
    show = _SHOWN.get(tool)
    if show is None:
        return args
    shown = show(args)
    if "path" in shown:
        shown["path"] = _absolute(shown["path"], cwd)
    return shown


def _absolute(path: Any, cwd: str) -> Any:
    """Returns the absolute path that a tool uses for `path`. A value that no tool takes as a path stays unchanged."""
    if not isinstance(path, str) or not path or not cwd or "\0" in path:
        return path
    whole = posixpath.normpath(posixpath.join(valid_text(cwd), path))
    return whole[1:] if whole.startswith("//") else whole  # in POSIX, two leading slashes may have another meaning


def _value(args: bytes) -> Any:
    try:
        return read(bytes(args))[0]
    except UNREADABLE:
        return bytes(args).decode("utf-8", "replace")


def is_same_value(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same for JavaScript, through which one of them went: its numbers are doubles, and
    infinities become null."""
    pairs = [(one, other)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pairs += [(value, other[name]) for name, value in one.items()]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif _plain(one) != _plain(other):
            return False
    return True


def _plain(value: Any) -> tuple[str, Any]:
    """Returns the kind of a value and the value, for a comparison."""
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, int | float):
        try:
            return "number", float(value)
        except OverflowError:
            return "null", None
    if isinstance(value, str):
        return "string", value
    return ("null", None) if value is None else ("container", id(value))


# --- read and view ------------------------------------------------------------------------------------------


def _view(args: dict[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in args.items() if name != "view_range"}
    offset, limit = _whole(args.get("offset")), _whole(args.get("limit"))
    if offset is None or limit is None:
        return shown  # the tool refuses such values
    shown.pop("offset", None)
    shown.pop("limit", None)
    first = max(offset, 1)
    if limit > 0:
        shown["view_range"] = [first, first + limit - 1]
    elif first > 1:
        shown["view_range"] = [first, _TO_THE_END]
    return shown


def _read(given: dict[str, Any], shown: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    given = dict(given)
    wanted = given.pop("view_range", None)
    if is_same_value(wanted, shown.get("view_range")):
        return {**_only(original, "offset", "limit"), **given}
    if wanted is None:
        return given
    lines = [_whole(line) for line in wanted] if isinstance(wanted, list) else []
    match lines:
        case [int(first), int(last)] if first >= 0 and (last == _TO_THE_END or last >= first):
            first = max(first, 1)
            window = {"offset": first} if last == _TO_THE_END else {"offset": first, "limit": max(last - first + 1, 1)}
            return {**given, **window}
    raise RewriteError("modifiedArgs.view_range is not [first line, last line]")


def _whole(value: Any) -> int | None:
    """Returns the whole number, or 0 for a missing value; None for any other value."""
    if value is None:
        return 0
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# --- write and create ---------------------------------------------------------------------------------------


def _create(args: dict[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in args.items() if name not in ("content", "file_text")}
    if "content" in args:
        shown["file_text"] = args["content"]
    return shown


def _write(given: dict[str, Any], shown: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    given = dict(given)
    wanted = given.pop("file_text", _MISSING)
    if not _is_changed(wanted, shown, "file_text"):
        return {**_only(original, "content"), **given}
    if wanted is _MISSING and "content" not in given:
        raise RewriteError("modifiedArgs.file_text is missing")
    return given if wanted is _MISSING else {**given, "content": wanted}


# --- edit ---------------------------------------------------------------------------------------------------


_EDIT_MEMBERS = frozenset({"old_str", "new_str", "edits"})


def _edit(args: dict[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in args.items() if name not in ("old_str", "new_str")}
    edits = args.get("edits")
    if isinstance(edits, list) and edits:
        for name, ours in (("old_str", "oldText"), ("new_str", "newText")):
            shown[name] = "\n".join(_texts(edits, ours))
    return shown


def _texts(edits: list[Any], name: str) -> list[str]:
    texts = [edit.get(name) if isinstance(edit, dict) else None for edit in edits]
    return [text if isinstance(text, str) else "" for text in texts]


def _one_edit(given: dict[str, Any], shown: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    given = dict(given)
    if given.keys().isdisjoint(_EDIT_MEMBERS) and not shown.keys().isdisjoint(_EDIT_MEMBERS):
        raise RewriteError("modifiedArgs has no edit: old_str and new_str are missing")
    pieces = {name: given.pop(name, shown.get(name, _MISSING)) for name in ("old_str", "new_str")}
    if not any(_is_changed(piece, shown, name) for name, piece in pieces.items()):
        return {**_only(original, "edits"), **given}
    if "edits" in given and _is_changed(given["edits"], shown, "edits"):
        raise RewriteError("modifiedArgs changes edits, and old_str or new_str besides: which of them counts?")
    edits = original.get("edits")
    count = len(edits) if isinstance(edits, list) else 0
    if count > 1:
        why = f"modifiedArgs changes old_str or new_str of a call with {count} edits: change edits instead"
        raise RewriteError(why)
    for name, piece in pieces.items():
        if not isinstance(piece, str):
            said = "missing" if piece is _MISSING else f"{kind_of(piece)}, not a string"
            raise RewriteError(f"modifiedArgs.{name} is {said}")
    one = edits[0] if count and isinstance(edits, list) and isinstance(edits[0], dict) else {}
    return {**given, "edits": [{**one, "oldText": pieces["old_str"], "newText": pieces["new_str"]}]}


def _only(args: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: args[name] for name in names if name in args}


def _is_changed(value: Any, shown: dict[str, Any], name: str) -> bool:
    """Whether a member, or `_MISSING`, differs from the shown one."""
    before = shown.get(name, _MISSING)
    return value is not before and (value is _MISSING or before is _MISSING or not is_same_value(value, before))


_SHOWN = {"read": _view, "write": _create, "edit": _edit}
_TAKEN = {"read": _read, "write": _write, "edit": _one_edit}
