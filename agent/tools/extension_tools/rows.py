"""Gathers the facts about the extensions of one dialect: those of the host, and those in folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.tools.extension_tools.report import Row, advice
from supervisor.extension.lifecycle import WorkerState
from supervisor.reload.plan import is_of
from wire.text import one_line, printable, valid_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from supervisor.discovery.discover import Discovery
    from supervisor.discovery.skipped_extension import SkippedExtension
    from supervisor.extension.extension import Extension
    from supervisor.supervisor import Supervisor

LOG_LINES = 20
LOG_BYTES = 8 * 1024
LINE = 500
"""Maximum of a line of the log in characters."""


def rows_of(supervisor: Supervisor, dialect: str, parents: Sequence[Path], discovery: Discovery) -> list[Row]:
    """First the host's extensions, in the order of guards; then those that do not run, by name."""
    running = [each for each in supervisor.extensions if each.found.manifest.dialect == dialect and not each.found.link]
    names = {each.name for each in running}
    places = {each.found.place for each in running}
    skipped = {each.folder: each for each in discovery.skipped}
    rows = [_row(each, supervisor, skipped.get(each.found.place)) for each in running]
    others = [
        Row(
            name=found.manifest.name,
            scope=found.scope.label,
            folder=_path_text(found.place),
            state="trusted, not started yet: call extensions_reload",
        )
        for found in discovery.found
        if found.manifest.dialect == dialect and found.manifest.name not in names
    ]
    others += [
        _row_of_skipped(each, parents)
        for each in discovery.skipped
        if each.folder not in places and is_of(each, dialect, parents)
    ]
    return rows + sorted(others, key=lambda row: row.name)


def _row(extension: Extension, supervisor: Supervisor, skipped: SkippedExtension | None) -> Row:
    offered = supervisor.registrations.tools()
    tools = [name for name in extension.tools if name in offered and offered[name].owner is extension]
    found = extension.found
    state = _state(extension)
    if skipped is not None and skipped.why.is_waiting:
        state += f"; its files as they are now are {skipped.reason}: {advice(extension.name)}"
    elif skipped is not None and skipped.reason:
        state += f"; its files as they are now are not used: {skipped.reason}"
    elif found.change:
        state += "; its files have changed since it was started: call extensions_reload"
    return Row(
        name=extension.name,
        scope=found.scope.label,
        state=valid_text(state),
        folder=_path_text(found.place),
        tools=tuple(tools),
        hidden=tuple(name for name in extension.tools if name not in tools and extension.is_up),
        guards=tuple(sorted(extension.guards)),
        commands=extension.registry.command_names,
        restarts=extension.account.restarts,
        reloads=extension.reloads,
        log=_path_text(extension.log.path),
        last_lines=last_lines(extension.log.path),
    )


def _state(extension: Extension) -> str:
    match extension.state:
        case WorkerState.READY:
            return "running"
        case WorkerState.ASLEEP:
            return "asleep: it is started when it is needed"
        case WorkerState.SPAWNED | WorkerState.GREETED | WorkerState.WAKING:
            return "starting"
        case WorkerState.BACKOFF:
            return f"failed, is restarted soon: {extension.failure}"
        case WorkerState.STOPPING | WorkerState.EXITED | WorkerState.STOPPED:
            return f"stopped: {extension.failure}"
        case _:
            return f"failed: {extension.failure}"


def _row_of_skipped(skipped: SkippedExtension, parents: Sequence[Path]) -> Row:
    found = skipped.untrusted
    if found is None:
        scope = "project" if parents and skipped.folder.is_relative_to(parents[0]) else "user"
        name, state = skipped.name, skipped.reason if not skipped.is_error else f"failed: {skipped.reason}"
    else:
        name, scope = found.manifest.name, found.scope.label
        state = f"{skipped.reason}, so it does not run: {advice(name)}"
    return Row(name=valid_text(name), scope=scope, state=valid_text(state), folder=_path_text(skipped.folder))


def last_lines(log: Path) -> str:
    """The end of a log: at most `LOG_LINES` lines; "" if there is none."""
    try:
        with open(log, "rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - LOG_BYTES)
            file.seek(start)
            lines = file.read(LOG_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    kept = lines[1 if start else 0 :][-LOG_LINES:]
    return "\n".join(one_line(printable(line), LINE) for line in kept)


def _path_text(path: Path) -> str:
    return valid_text(str(path))
