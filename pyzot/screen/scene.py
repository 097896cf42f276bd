"""Everything that the user sees of one engine after another, and the engine itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from ..answers import State
from ..async_runtime import AsyncRuntime
from ..errors import RuntimeDied, ZotError
from .commands import Commands
from .engine import Engine
from .questions import WHAT_ROWS, Questions, question_rows
from .view.figures import count, dollars, joined, tokens
from .view.notes import Notes
from .view.panels import PanelStack
from .view.text import Palette, fit, wrap
from .view.transcript import Transcript


class View(Protocol):
    """The terminal, or plain lines. `show` prints lines into the scrollback. `announce` makes lines about something
    new that is not final: a terminal draws it anyway, when `change` says so. `insert` inserts a text at the cursor,
    `suggest` puts one into an empty input. `run_outside` gives the terminal to a program and returns its exit status.
    """

    palette: Palette

    def show(self, lines: Sequence[str]) -> None: ...
    def announce(self, lines: Callable[[], Sequence[str]]) -> None: ...
    def change(self) -> None: ...
    def insert(self, text: str) -> None: ...
    def suggest(self, text: str) -> None: ...
    async def run_outside(self, command: Sequence[str]) -> int: ...
    def leave(self) -> None: ...


NOTE_ROWS = 6
QUEUE_ROWS = 4
REFRESH_S = 0.1
"""Seconds after a start of an extension until its commands are listed."""


class Scene:
    """The transcript, notes, panels, questions and commands, with the engine that they come from."""

    def __init__(self, options: Mapping[str, Any], view: View, *, clock: Callable[[], float], columns: int) -> None:
        self.view = view
        self.clock = clock
        self.options = options
        self.cwd = os.path.abspath(options.get("cwd") or os.curdir)
        self.commands = Commands()
        self.transcript = Transcript(view.palette, clock=clock, columns=columns)
        self.notes = Notes(view.palette)
        self.panels = PanelStack(view.palette)
        self.questions = Questions(self._on_question)
        self.engine = Engine(options, permission=self.questions.ask)
        self.extensions: set[str] = set()
        """The names of the extensions so far."""
        self.state: State | None = None
        """The state of the engine after the last prompt; None before its first start."""
        self.windows: dict[str, int] = {}
        """Tokens that each known model can read."""
        self.has_started = asyncio.Event()
        """Set when the extensions have started, and all commands are known."""
        self.shell_outputs = ""
        """The outputs of `!command`s that the model gets with the next prompt."""
        self.is_over = False
        self.exit_status = 0
        self.changed = asyncio.Event()
        """Set when there may be something to carry out."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_refreshing = False

    @property
    def runtime(self) -> AsyncRuntime:
        """The engine. Raises `ZotError` if none runs."""
        if self.engine.runtime is None:
            raise ZotError("the engine is starting; try again in a moment")
        return self.engine.runtime

    def begin(self, work: Awaitable[None]) -> None:
        """Does something beside all else. A refusal is ignored: what it is about has gone."""

        async def run() -> None:
            try:
                await work
            except ZotError:
                return

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def attempt(self, work: Awaitable[None]) -> None:
        """Does something, and says why it failed."""
        try:
            await work
        except RuntimeDied:
            self.engine.notice_end()
        except (ZotError, OSError, ValueError) as error:  # a ValueError: a file is no image
            self.say("error", f"✗ {error}")
        self.view.change()

    async def refresh(self) -> None:
        """Asks for the state, the commands and the skills."""
        runtime = self.runtime
        self.state = await runtime.state()
        self.engine.session = self.state.session
        self.commands.update(await runtime.commands(), await runtime.skills())
        if not self.state.starting:
            self.has_started.set()
        self.view.change()

    def refresh_soon(self) -> None:
        """Does so once for all extensions that start now."""

        async def refresh() -> None:
            await asyncio.sleep(REFRESH_S)
            self._is_refreshing = False
            await self.refresh()

        if not self._is_refreshing:
            self._is_refreshing = True
            self.begin(refresh())

    def leave(self, status: int = 0) -> None:
        """Ends the screen; what runs is aborted."""
        if not self.is_over:
            self.is_over, self.exit_status = True, status
            if self.engine.runtime is not None:
                self.engine.runtime.cancel()
            self.changed.set()
            self.view.leave()

    async def close(self) -> None:
        """Ends the engine and all that is done beside it."""
        for task in self._tasks:
            task.cancel()
        await self.engine.close()

    def say(self, style: str, text: str) -> None:
        """Prints a text, cleaned, in a style; "" is none."""
        palette, columns = self.view.palette, self.transcript.columns
        lines = palette.clean(text).split("\n")
        self.view.show([palette.paint(style, row) for line in lines for row in wrap(line, columns)])

    def status(self, activity: str, columns: int) -> str:
        """The status line. `activity` is what the queue does."""
        state, last, number = self.state, self.transcript.usage, len(self.extensions)
        if self.engine.runtime is None or state is None:
            return "starting"
        window, held = self.windows.get(state.model), 0 if last is None else tokens(last)
        context = f"{100 * held / window:.0f} % of {count(window)}" if window and held else ""
        cost, spent = dollars(state.usage.cost_usd), f"{count(tokens(state.usage))} tokens"
        extensions = f"{number} extension{'' if number == 1 else 's'}" if number else ""
        what = activity if self.questions.first is None else "a guard asks"
        return joined((what, state.model, cost, context, spent, extensions), columns)

    def rows(self, waiting: Sequence[str], columns: int, height: int) -> list[str]:
        """All that is not final in at most `height` rows, with the lines that wait. A question and a panel come first
        if not all have room."""
        palette, asked = self.view.palette, self.questions.first
        question = [] if asked is None else question_rows(asked, columns, height, palette)
        left = height - len(question)
        panels = self.panels.rows(columns, max(4, left * 2 // 3)) if left >= 4 else []
        left -= len(panels)
        queue = queue_rows(waiting, columns, max(0, min(QUEUE_ROWS, left // 3)), palette)
        left -= len(queue)
        notes = self.notes.lines(columns, max(0, min(NOTE_ROWS, left // 2)))
        self.transcript.columns = columns
        return [*self.transcript.live(left - len(notes)), *notes, *panels, *queue, *question]

    def _on_question(self) -> None:
        if (first := self.questions.first) is not None:
            self.view.announce(lambda: question_rows(first, self.transcript.columns, WHAT_ROWS, self.view.palette))
        self.view.change()


def queue_rows(waiting: Sequence[str], columns: int, height: int, palette: Palette) -> list[str]:
    """The first lines, one row each; the last row counts those that are left out."""
    lines = [palette.one_line(line, 400) for line in waiting]
    if len(lines) > height > 0:
        lines[height - 1 :] = [f"{len(lines) - height + 1} more wait"]
    return [palette.paint("dim", fit(line, columns)) for line in lines[:height]]
