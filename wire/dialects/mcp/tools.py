"""The tools of an MCP server as registrations: their names, their hints, and the ones to leave out. Pure."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET, Raw

from wire import frames
from wire.dialects.base import Warned
from wire.dialects.json_values import as_json, kind_of, string
from wire.suggestions import join_names
from wire.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

NAME_LIMIT = 64
"""Maximum length of a tool's name for the model, in characters."""
NAME_KEPT = 55
"""Number of characters that are kept of a longer name, before `_` and eight digits of its hash."""
_OTHERS = re.compile(r"[^A-Za-z0-9_-]")
NAME_SHOWN = 80
"""Maximum length of a server's own name of a tool in a message, in characters."""

WARNINGS_LIMIT = 20
"""Maximum number of warnings about the faulty tools of one list."""


class ToolList(NamedTuple):
    """The usable tools of a server in its order, and warnings about the others."""

    tools: dict[str, tuple[str, frames.RegisterTool]]
    """The server's own name and the registration of each tool, by its name for the model."""
    warnings: tuple[Warned, ...]


def public_name(server: str, tool: str) -> str:
    """Returns the name of a tool or a prompt outside its server: `mcp__SERVER__TOOL`, at most 64 letters, digits, `_`
    and `-`. Other characters become `_`; a longer name ends in a hash of the server's and the tool's own names."""
    whole = f"mcp__{server}__{tool}"
    name = _OTHERS.sub("_", whole)
    if len(name) <= NAME_LIMIT:
        return name
    return f"{name[:NAME_KEPT]}_{sha256(whole.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def registration(server: str, tool: Any) -> frames.RegisterTool | Warned:
    """Returns the registration of one element of a server's list of tools, or why it is left out. Never raises."""
    frame, faults = _read_tool(server, tool)
    if frame is not None:
        return frame
    return _leave_out(server, tool, faults[0])


def registrations(server: str, tools: Sequence[Any], options: Mapping[str, Any]) -> ToolList:
    """Returns the usable tools of a server. `options` may have `include_tools` and `exclude_tools`, lists of the
    server's own names, in which `*` stands for any characters. Of tools with equal names, the first is kept. Never
    raises."""
    usable: dict[str, tuple[str, frames.RegisterTool]] = {}
    warnings: list[Warned] = []
    offered: dict[str, None] = {}
    includes, excludes = _patterns(options, "include_tools"), _patterns(options, "exclude_tools")
    is_wanted = _filter(includes, excludes)
    for tool in tools:
        raw = string(tool.get("name")) if isinstance(tool, dict) else ""
        if raw:
            offered[raw] = None
            if not is_wanted(raw):
                continue
        frame, faults = _read_tool(server, tool)
        if frame is None:
            warnings.append(_leave_out(server, tool, faults[0]))
        elif frame.name in usable:
            first = usable[frame.name][0]
            why = "the server lists it twice" if first == raw else f"{_quote(first)} has the same name, {frame.name}"
            warnings.append(_leave_out(server, tool, why))
        else:
            usable[frame.name] = raw, frame
            warnings += [Warned(f"tool {frame.name}", f"tool {_quote(raw)}: {fault}") for fault in faults]
    if (more := len(warnings) - WARNINGS_LIMIT) > 0:
        warnings[WARNINGS_LIMIT:] = [Warned("tools", f"{counted(more, 'more fault')} of its tools not named here")]
    warnings += _without_match("include_tools", includes or (), offered)
    warnings += _without_match("exclude_tools", excludes or (), offered)
    return ToolList(usable, tuple(warnings))


def _read_tool(server: str, tool: Any) -> tuple[frames.RegisterTool | None, list[str]]:
    """Returns the registration, or None for an unusable tool, and the tool's faults."""
    if not isinstance(tool, dict):
        return None, [f"it is {kind_of(tool)}, not an object"]
    name = tool.get("name")
    if not isinstance(name, str):
        return None, ["it has no name" if name is None else f"its name is {kind_of(name)}, not a string"]
    if not name:
        return None, ["its name is empty"]
    execution = tool.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        return None, ['it can only be called as a task (execution.taskSupport is "required"), which zot does not do']
    schema = tool.get("inputSchema")
    if schema is not None and not isinstance(schema, dict):
        return None, [f"its inputSchema is {kind_of(schema)}, not an object"]
    written = None if schema is None else as_json(schema)
    if schema is not None and written is None:
        return None, ["its inputSchema has numbers that are too large, or is nested too deeply"]
    faults: list[str] = []
    hints = tool.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    is_read_only = hints.get("readOnlyHint") is True
    output = tool.get("outputSchema")
    frame = frames.RegisterTool(
        public_name(server, name),
        _description(tool, hints, faults),
        UNSET if written is None else Raw(written),
        output_schema=UNSET if output is None else Raw(as_json(output) or b'"too deep, or with too large numbers"'),
        idempotent=True if is_read_only or hints.get("idempotentHint") is True else None,
        read_only=True if is_read_only else None,
    )
    return frame, faults


def _description(tool: dict[str, Any], hints: dict[str, Any], faults: list[str]) -> str | None:
    """Returns the description for the model, else a title, which servers write for people."""
    said = tool.get("description")
    if said is not None and not isinstance(said, str):
        faults.append(f"its description is {kind_of(said)}, not a string; ignored")
    return string(said) or string(tool.get("title")) or string(hints.get("title")) or None


def _leave_out(server: str, tool: Any, why: str) -> Warned:
    name = string(tool.get("name")) if isinstance(tool, dict) else ""
    if not name:
        return Warned(f"tool {why}", f"a tool is skipped: {why}")
    return Warned(f"tool {public_name(server, name)}", f"tool {_quote(name)} is skipped: {why}")


def _quote(name: str) -> str:
    return repr(one_line(name, NAME_SHOWN))


# --- the user's choice of tools -----------------------------------------------------------------------------


def _patterns(options: Mapping[str, Any], option: str) -> list[str] | None:
    """Returns the patterns of an option; None if it is not set."""
    value = options.get(option)
    if value is None:
        return None
    several = [value] if isinstance(value, str) else value
    return [each for each in several if isinstance(each, str)] if isinstance(several, list | tuple) else []


def _filter(includes: list[str] | None, excludes: list[str] | None) -> Callable[[str], bool]:
    def is_wanted(name: str) -> bool:
        if includes is not None and not any(fits(pattern, name) for pattern in includes):
            return False
        return not any(fits(pattern, name) for pattern in excludes or ())

    return is_wanted


def fits(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern, in which only `*` is special: it stands for any characters."""
    first, *rest = pattern.split("*")
    if not rest:
        return name == pattern
    *middle, last = rest
    at, end = len(first), len(name) - len(last)
    if at > end or not name.startswith(first) or not name.endswith(last):
        return False
    for part in middle:
        at = name.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def _without_match(option: str, patterns: Iterable[str], offered: Collection[str]) -> list[Warned]:
    """Returns warnings about patterns that match no tool: they are misspelt, or the server has changed."""
    has = f"it has {join_names([one_line(name, NAME_SHOWN) for name in offered])}" if offered else "it has no tools"
    return [
        Warned(f"{option} {pattern}", f"{option} names {_quote(pattern)}, which the server does not have; {has}")
        for pattern in patterns
        if not any(fits(pattern, name) for name in offered)
    ]
