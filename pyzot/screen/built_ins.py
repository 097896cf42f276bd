"""Carries out the commands of the screen itself."""

from __future__ import annotations

import os

from ..connection.command_line import default_program
from ..connection.requests import absolute
from .view.figures import count, dollars, tokens
from .view.text import fit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from .commands import Line
    from .conversation import Conversation

FORMATS = {".html": "html", ".htm": "html", ".json": "json", ".zotsession": "zotsession"}
KEYS = (
    ("Enter", "send; Alt-Enter, Ctrl-J or a \\ at the end of a line begin a new line"),
    ("Tab, Up, Down", "complete; recall earlier lines, or take back the last one that waits; Ctrl-R searches"),
    ("Esc", "abort; a second one edits the last prompt in a copy of the session; in a panel: close it"),
    ("Ctrl-C, Ctrl-D", "empty the input, abort, leave; leave"),
    ("Ctrl-O, Ctrl-T", "show the last folded result in full; show what the model thought last"),
    ("@PATH, !COMMAND", "name a file, or send an image; run a shell command, which guards judge"),
)


async def carry_out(conversation: Conversation, line: Line) -> None:
    """Carries out a built-in command. Raises `ZotError`."""
    await _DEEDS[line.name](conversation, line.rest)


async def _help(conversation: Conversation, _rest: str) -> None:
    paint = conversation.view.palette.paint
    known = conversation.commands.list()
    width = min(24, max(len(name) for name, _ in known))
    columns = conversation.transcript.columns
    conversation.view.show(
        [fit(f"{paint('bold', f'{name:{width}}')}  {text}", columns) for name, text in (*known, ("", ""), *KEYS)]
    )


async def _model(conversation: Conversation, rest: str) -> None:
    if not rest:
        conversation.view.suggest("/model ")
        return
    await conversation.runtime.set_model(rest)
    await conversation.refresh(conversation.runtime)
    conversation.say("dim", f"the model is {rest} from now on")


async def _compact(conversation: Conversation, rest: str) -> None:
    summary = await conversation.runtime.compact(rest or None)
    await conversation.refresh(conversation.runtime)
    conversation.say("dim", "older messages are replaced by this summary:")
    conversation.say("", summary)


async def _clear(conversation: Conversation, _rest: str) -> None:
    await conversation.runtime.clear()
    conversation.notes.clear()
    conversation.looking_back.clear()
    conversation.transcript.usage = None
    await conversation.refresh(conversation.runtime)
    conversation.say("dim", "a new conversation begins")


async def _resume(conversation: Conversation, rest: str) -> None:
    if not rest:
        conversation.view.suggest("/resume ")
        return
    resumed = await conversation.runtime.resume(rest.split()[0])
    conversation.looking_back.clear()
    await conversation.refresh(conversation.runtime)
    conversation.say("dim", f"resumed {resumed.session}: {resumed.title}, {resumed.message_count} messages")


async def _fork(conversation: Conversation, _rest: str) -> None:
    forked = await conversation.runtime.fork()
    await conversation.refresh(conversation.runtime)
    conversation.say("dim", f"this is now the session {forked.session}, a copy")


async def _export(conversation: Conversation, rest: str) -> None:
    path = os.path.join(conversation.cwd, os.path.expanduser(rest or "conversation.md"))
    form: Any = FORMATS.get(os.path.splitext(path)[1].lower(), "markdown")
    written = await conversation.runtime.export(form, absolute(path))
    conversation.say("dim", f"wrote {written}")


async def _cost(conversation: Conversation, _rest: str) -> None:
    used = (await conversation.runtime.state()).usage
    stats = await conversation.runtime.stats()
    conversation.say(
        "",
        f"{dollars(used.cost_usd)}, {count(tokens(used))} tokens: {count(used.input)} input, "
        f"{count(used.output)} output, {count(used.cache_read)} read from the cache, "
        f"{count(used.cache_write)} written to it",
    )
    for name, figures in stats.items():
        megabytes = figures.rss_bytes / 1e6
        conversation.say(
            "", f"{name:20} {figures.cpu_s:8.2f} s CPU  {megabytes:8.1f} MB  {figures.processes} processes"
        )


async def _tools(conversation: Conversation, _rest: str) -> None:
    one_line = conversation.view.palette.one_line
    for tool in await conversation.runtime.tools():
        whose = f" [{tool.extension}]" if tool.extension else ""
        conversation.say("", f"{tool.name}{whose}: {one_line(tool.description, 100)}")


async def _ext(conversation: Conversation, _rest: str) -> None:
    stats = await conversation.runtime.stats()
    for name, figures in stats.items():
        trouble = "; ".join((figures.failure, *(alarm.text for alarm in figures.alarms))).strip("; ")
        conversation.say("", f"{name:20} {figures.state:10} {trouble}".rstrip())
    if not stats:
        conversation.say("dim", "no extensions; zot ext new NAME writes one, and zot ext install installs it")


async def _reload_ext(conversation: Conversation, rest: str) -> None:
    outcome = await conversation.runtime.reload(rest or None)
    faults = [f"{fault.name}: {fault.reason}" for fault in outcome.errors]
    conversation.say(
        "yellow" if faults else "dim",
        f"reloaded: {len(outcome.stopped)} stopped, {len(outcome.loaded)} loaded ({len(outcome.ready)} ready)"
        + (f", {len(faults)} errors" if faults else ""),
    )
    for fault in faults:
        conversation.say("red", fault)
    await conversation.refresh(conversation.runtime)


async def _top(conversation: Conversation, _rest: str) -> None:
    await conversation.view.run_outside([*default_program(), "top", str(conversation.runtime.pid)])


async def _trust(conversation: Conversation, rest: str) -> None:
    names = rest.split()
    status = await conversation.view.run_outside(
        [*default_program(), "ext", "trust", "--cwd", conversation.cwd, *names]
    )
    if status == 0:
        await _reload_ext(conversation, "")


async def _exit(conversation: Conversation, _rest: str) -> None:
    conversation.leave()


_DEEDS: dict[str, Callable[[Conversation, str], Awaitable[None]]] = {
    "help": _help,
    "model": _model,
    "compact": _compact,
    "clear": _clear,
    "resume": _resume,
    "fork": _fork,
    "export": _export,
    "cost": _cost,
    "tools": _tools,
    "ext": _ext,
    "reload-ext": _reload_ext,
    "top": _top,
    "trust": _trust,
    "exit": _exit,
}
