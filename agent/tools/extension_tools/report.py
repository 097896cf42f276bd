"""Texts for the model about extensions: short, exact, and with the next step. Pure."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

import msgspec

from wire.text import counted, one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from wire.control import ReloadOutcome

LISTED = 100
"""Maximum of extensions, and of names of one kind, in a text."""
REASON = 500
"""Maximum of a reason in characters."""
PATH = 4096
"""Maximum of a path in characters."""
NAME = 80
"""Maximum of a name in characters: a folder without an extension may have any name."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A running extension, or one in its folder."""

    name: str
    scope: str
    state: str
    """The state in a few words, with the reason if it does not run."""
    folder: str
    tools: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Its tools that are not offered, because another tool has the name."""
    guards: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    restarts: int = 0
    reloads: int = 0
    log: str = ""
    """The path of its log; "" if it has never run."""
    last_lines: str = ""


def advice(name: str) -> str:
    """The next step, by a person, for an extension that waits for trust."""
    return f"a person has to look at it, and run in a terminal: zot ext trust {quote(name)}"


def scaffold_report(name: str, program: str, tool: str) -> str:
    """The text after a scaffold."""
    return (
        f"made {program}, a skeleton with the tool {tool}. Edit it, then call extensions_reload. It does not run before"
        f" it is trusted as it is then: {advice(name)}"
    )


def list_report(rows: Sequence[Row]) -> str:
    if not rows:
        return "there are no Copilot extensions; extensions_manage with operation scaffold makes one"
    lines = [f"{counted(len(rows), 'Copilot extension')}:"]
    lines += [
        f"- {one_line(row.name, NAME)} ({row.scope}): {one_line(row.state, REASON)}{_tools(row)}"
        for row in rows[:LISTED]
    ]
    if len(rows) > LISTED:
        lines.append(f"- and {len(rows) - LISTED} more")
    return "\n".join(lines)


def inspection_report(row: Row) -> str:
    lines = [
        f"{one_line(row.name, NAME)} ({row.scope})",
        f"state: {one_line(row.state, REASON)}",
        f"folder: {one_line(row.folder, PATH)}",
    ]
    if row.log:
        lines += [
            f"tools: {_names(row.tools)}",
            *([f"tools that are hidden, since their names are taken: {_names(row.hidden)}"] if row.hidden else []),
            f"guards: {_names(row.guards)}",
            *([f"commands: {_names(['/' + name for name in row.commands])}"] if row.commands else []),
            f"restarts: {row.restarts}, reloads: {row.reloads}",
            f"log: {row.log}",
        ]
    if row.last_lines:
        lines += ["the end of the log:", row.last_lines]
    return "\n".join(lines)


def reload_report(
    outcomes: Sequence[ReloadOutcome],
    up: Collection[str],
    new_tools: Mapping[str, Sequence[str]],
    waiting: Collection[ReloadOutcome],
) -> str:
    """The text after a reload. `up`: the extensions that serve now; `new_tools`: tools that were not offered before, by
    extension; `waiting`: the outcomes of extensions that wait for the user's trust."""
    if not outcomes:
        return "there are no Copilot extensions to reload; extensions_manage with operation scaffold makes one"
    done = sum(each.outcome in ("reloaded", "started") for each in outcomes)
    lines = [f"{done} of {counted(len(outcomes), 'Copilot extension')} reloaded or started:"]
    lines += [
        _outcome(each, each in waiting, each.name in up, new_tools.get(each.name, ())) for each in outcomes[:LISTED]
    ]
    if len(outcomes) > LISTED:
        lines.append(f"- and {len(outcomes) - LISTED} more")
    if any(new_tools.values()):
        lines.append("the new tools can be called from now on")
    return "\n".join(lines)


def _outcome(told: ReloadOutcome, is_waiting: bool, is_up: bool, new_tools: Sequence[str]) -> str:
    said = f"- {one_line(valid_text(told.name), NAME)}: "
    reason = one_line(valid_text(told.reason), REASON)
    why = f"{reason}; {advice(told.name)}" if is_waiting else reason
    match told.outcome:
        case "reloaded" | "started":
            return said + told.outcome + (f"; new tools: {_names(new_tools)}" if new_tools else "")
        case "stopped":
            return f"{said}stopped: {reason}"
        case "kept" if is_up:
            return f"{said}not reloaded: {why}; the running version stays"
        case _:
            return f"{said}not started: {why}"


def _tools(row: Row) -> str:
    return f"; tools: {_names(row.tools)}" if row.tools else ""


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more if names else "none"
