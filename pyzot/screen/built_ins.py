"""Carries out the commands of the screen itself."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

from ..connection.command_line import default_program
from ..connection.requests import absolute
from ..errors import ZotError
from .commands import Line
from .looking_back import LookingBack
from .scene import Scene
from .view.figures import count, dollars, tokens
from .view.text import fit

FORMATS = {".html": "html", ".htm": "html", ".json": "json", ".zotsession": "zotsession"}
KEYS = (
    ("Enter", "send; Alt-Enter, Ctrl-J or \\ and Enter: a new line"),
    ("Tab", "complete, as it is offered while you type"),
    ("Up, Down", "earlier lines, first those that wait; Ctrl-R searches"),
    ("Esc", "abort, or close a panel; a second one edits the last prompt"),
    ("Ctrl-C, Ctrl-D", "empty the input, abort, then leave; leave"),
    ("Ctrl-O, Ctrl-T", "unfold the last result; show the last thinking"),
    ("@PATH", "a file by its name; an image is sent with the prompt"),
    ("!COMMAND", "a shell command, which guards judge as they judge the model's"),
)


async def carry_out(scene: Scene, looking_back: LookingBack, line: Line) -> None:
    """Carries out a built-in command. Raises `ZotError`."""
    await _DEEDS[line.name](scene, line.rest)
    is_resumed = line.name == "resume" and bool(line.rest)
    if line.name in ("clear", "compact") or is_resumed:
        looking_back.clear()
    if is_resumed:
        await looking_back.show_last()


async def _help(scene: Scene, _rest: str) -> None:
    for table in (scene.commands.list(), KEYS):
        width = min(24, max(len(name) for name, _ in table))
        for name, text in table:
            head = scene.view.palette.paint("bold", f"{name:{width}}")
            scene.say("", fit(f"{head}  {scene.view.palette.one_line(text)}", 2 * scene.transcript.columns))


async def _model(scene: Scene, rest: str) -> None:
    if not rest:
        scene.view.suggest("/model ")
        return
    await scene.runtime.set_model(rest)
    await scene.refresh()
    scene.say("dim", f"the model is {rest} from now on")


async def _compact(scene: Scene, rest: str) -> None:
    summary = await scene.runtime.compact(rest or None)
    await scene.refresh()
    scene.say("dim", "older messages are replaced by this summary:")
    scene.say("", summary)


async def _clear(scene: Scene, _rest: str) -> None:
    await scene.runtime.clear()
    scene.notes.clear()
    scene.transcript.usage = None
    await scene.refresh()
    scene.say("dim", "a new conversation begins")


async def _resume(scene: Scene, rest: str) -> None:
    if not rest:
        scene.view.suggest("/resume ")
        return
    resumed = await scene.runtime.resume(rest.split()[0])
    await scene.refresh()
    scene.say("dim", f"resumed {resumed.session}: {resumed.title}, {resumed.message_count} messages")


async def _fork(scene: Scene, _rest: str) -> None:
    forked = await scene.runtime.fork()
    await scene.refresh()
    scene.say("dim", f"this is now the session {forked.session}, a copy")


async def _export(scene: Scene, rest: str) -> None:
    path = os.path.join(scene.cwd, os.path.expanduser(rest or "conversation.md"))
    if os.path.exists(path) or not os.path.isdir(os.path.dirname(path)):
        why = "is there already; name another file" if os.path.exists(path) else "is in a folder that is not there"
        raise ZotError(f"{path} {why}")
    form: Any = FORMATS.get(os.path.splitext(path)[1].lower(), "markdown")
    written = await scene.runtime.export(form, absolute(path))
    scene.say("dim", f"wrote {written}")


async def _cost(scene: Scene, _rest: str) -> None:
    used = (await scene.runtime.state()).usage
    stats = await scene.runtime.stats()
    scene.say(
        "",
        f"{dollars(used.cost_usd)}, {count(tokens(used))} tokens: {count(used.input)} input, "
        f"{count(used.output)} output, {count(used.cache_read)} read from the cache, "
        f"{count(used.cache_write)} written to it",
    )
    for name, figures in stats.items():
        memory = f"{figures.rss_bytes / 2**20:8.1f} MiB"
        scene.say("", f"{name:20} {figures.cpu_s:8.2f} s CPU  {memory}  processes: {figures.processes}")


async def _tools(scene: Scene, _rest: str) -> None:
    one_line = scene.view.palette.one_line
    for tool in await scene.runtime.tools():
        whose = f" [{tool.extension}]" if tool.extension else ""
        scene.say("", f"{tool.name}{whose}: {one_line(tool.description, 100)}")


async def _ext(scene: Scene, _rest: str) -> None:
    stats = await scene.runtime.stats()
    for name, figures in stats.items():
        trouble = "; ".join((figures.failure, *(alarm.text for alarm in figures.alarms))).strip("; ")
        scene.say("", f"{name:20} {figures.state:10} {trouble}".rstrip())
    if not stats:
        scene.say("dim", "no extensions; zot ext new NAME writes one, and zot ext install installs it")


async def _reload_ext(scene: Scene, rest: str) -> None:
    outcome = await scene.runtime.reload(rest or None)
    faults = [f"{fault.name}: {fault.reason}" for fault in outcome.errors]
    done = f"reloaded: {len(outcome.stopped)} stopped, {len(outcome.loaded)} loaded ({len(outcome.ready)} ready)"
    scene.say("yellow" if faults else "dim", done + f", {len(faults)} error(s)" * bool(faults))
    for fault in faults:
        scene.say("red", fault)
    await scene.refresh()


async def _top(scene: Scene, _rest: str) -> None:
    await scene.view.run_outside([*default_program(), "top", str(scene.runtime.pid)])


async def _trust(scene: Scene, rest: str) -> None:
    trust = [*default_program(), "ext", "trust", "--cwd", scene.cwd, *rest.split()]
    if await scene.view.run_outside(trust) == 0:
        await _reload_ext(scene, "")


async def _exit(scene: Scene, _rest: str) -> None:
    scene.leave()


_DEEDS: dict[str, Callable[[Scene, str], Awaitable[None]]] = {
    "help": _help, "model": _model, "compact": _compact, "clear": _clear, "resume": _resume, "fork": _fork,
    "export": _export, "cost": _cost, "tools": _tools, "ext": _ext, "reload-ext": _reload_ext, "top": _top,
    "trust": _trust, "exit": _exit,
}  # fmt: skip
