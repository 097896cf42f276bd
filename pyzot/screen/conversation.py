"""The conversation with the engine: carries out what the user enters, at once or in its turn, and shows it."""

from __future__ import annotations

import asyncio
import os
from collections import deque

from ..errors import RuntimeDied, ZotError
from ..events import CompactDone
from . import built_ins
from .attachments import images_in
from .commands import Commands, Kind, Line
from .engine import STARTS, Engine
from .looking_back import LookingBack
from .questions import HOW, Questions
from .records import Records
from .view.figures import Status, count, duration
from .view.live import question_rows
from .view.notes import Notes
from .view.panels import PanelStack
from .view.tool_calls import text_of
from .view.transcript import Transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any, Protocol

    from ..answers import State
    from ..async_runtime import AsyncRuntime
    from .view.text import Palette

    class View(Protocol):
        """The terminal, or plain lines."""

        palette: Palette

        def show(self, lines: Sequence[str]) -> None:
            """Prints lines into the scrollback."""

        def announce(self, lines: Sequence[str]) -> None:
            """Something new is among what is not final. Plain lines print it, a terminal draws it anyway."""

        def change(self) -> None:
            """Draws what is not final again, soon."""

        def insert(self, text: str) -> None:
            """Inserts a text at the cursor."""

        def suggest(self, text: str) -> None:
            """Puts a text into an empty input, for the user to go on with."""

        async def run_outside(self, command: Sequence[str]) -> int:
            """Gives the terminal to a program, and returns its exit status."""

        def leave(self) -> None:
            """Ends the screen."""


SHELL_CONTEXT = 20_000
"""Characters of the output of a `!command` that the model gets with the next prompt."""
DISPLAY_LIMIT = 64 * 1024
"""Characters of a text of a command that are shown."""
REFRESH_S = 0.1
"""Seconds after a start of an extension until its commands are listed."""
COMPLETION_S = 5.0
"""Seconds that a completion waits for the engine."""


class Conversation:
    """The user's side of one engine after another. `submit` takes entered lines; `run` ends with the screen."""

    def __init__(self, options: Mapping[str, Any], view: View, *, clock: Callable[[], float], columns: int) -> None:
        self.view = view
        self.commands = Commands()
        self.transcript = Transcript(view.palette, clock=clock, columns=columns)
        self.notes = Notes(view.palette)
        self.panels = PanelStack(view.palette)
        self.questions = Questions(self._on_question)
        self.records = Records(self)
        self.looking_back = LookingBack(self)
        self.queue: deque[Line] = deque()
        """The lines that wait, the next one first."""
        self.is_over = False
        self.cwd = os.path.abspath(options.get("cwd") or os.curdir)
        self.engine = Engine(
            options, on_event=self.records.take, on_stderr=self.records.line, on_death=self._on_death,
            permission=self.questions.ask,
        )  # fmt: skip
        self._options = options
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._state: State | None = None
        self._windows: dict[str, int] = {}
        """Tokens that each known model can read."""
        self._exit_status = 0
        self._ends_when_done = False
        self._began = 0.0
        """When the present work of the queue began; 0 without any."""
        self._beside: dict[Line, float] = {}
        """Lines that are carried out beside the queue, and when each began."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._shell_outputs: list[str] = []
        self._is_refreshing = False

    # --- the life of the screen -------------------------------------------------------------------------------

    async def run(self) -> int:
        """Carries out what waits until the user leaves. Returns the exit status."""
        try:
            await self._start()
            while not self.is_over:
                if self.queue:
                    await self._carry_out(self.queue.popleft())
                elif self._ends_when_done and not self._beside:
                    break
                else:
                    self._changed.clear()
                    self.view.change()
                    await self._changed.wait()
        finally:
            for task in self._tasks:
                task.cancel()
            await self.engine.close()
        return self._exit_status

    def leave(self, status: int = 0) -> None:
        """Ends the screen; what runs is aborted."""
        if not self.is_over:
            self.is_over, self._exit_status = True, status
            if self.engine.runtime is not None:
                self.engine.runtime.cancel()
            self._changed.set()
            self.view.leave()

    def end_input(self) -> None:
        """No more lines come: leaves when all are carried out. Questions are answered with no."""
        self._ends_when_done = True
        self.questions.deny_all("no more input")
        self._changed.set()

    async def _start(self) -> None:
        """Starts an engine. If that fails, the screen ends."""
        try:
            runtime = await self.engine.start()
            self._windows = {model.id: model.context_window for model in await runtime.list_models()}
            await self.refresh(runtime)
        except (ZotError, OSError, TypeError) as error:
            self.say("error", f"✗ {error}")
            self.leave(max(1, getattr(error, "exit_status", 1)))
            return
        if self._options.get("resume") == "" and not self.engine.has_died:
            self.view.suggest("/resume ")

    def _on_death(self, error: ZotError) -> None:
        """The engine has gone without being asked: another one continues the session."""
        self.panels.clear()
        self.notes.clear()
        self.view.show(self.transcript.end())
        self.say("error", f"✗ {error}")
        if self.engine.quick_deaths >= STARTS:
            self.say("error", f"the engine has died {STARTS} times soon after its start; zot -c continues the session")
            self.leave(1)
        else:
            self.say("yellow", "it starts again and continues the session; what it was doing is not repeated")
            self.begin(self._start())

    async def refresh(self, runtime: AsyncRuntime) -> None:
        """Asks for the state, the commands and the skills."""
        self._state = await runtime.state()
        if self._state.session is not None:
            self.engine.session = self._state.session.id
        self.commands.update(await runtime.commands(), await runtime.skills())
        self.view.change()

    def refresh_soon(self) -> None:
        """Does so once for all extensions that start now."""
        if not self._is_refreshing:
            self._is_refreshing = True
            self.begin(self._refresh_late())

    async def _refresh_late(self) -> None:
        await asyncio.sleep(REFRESH_S)
        self._is_refreshing = False
        await self.refresh(self.runtime)

    @property
    def runtime(self) -> AsyncRuntime:
        """The engine. Raises `ZotError` if none runs."""
        if self.engine.runtime is None:
            raise RuntimeDied(1, ["it starts again; try once more"])
        return self.engine.runtime

    # --- input ------------------------------------------------------------------------------------------------

    def submit(self, text: str) -> None:
        """Takes an entered line: an answer to a question, or a line that is carried out at once or in its turn."""
        if self.questions.first is not None:
            if not self.questions.answer(text):
                self.say("yellow", HOW)
            return
        line = self.commands.read(text)
        if line.waits:
            self.queue.append(line)
            self._changed.set()
        else:
            self.begin(self._carry_out_beside(line))
        self.view.change()

    def take_back(self) -> str:
        """Removes the last waiting line and returns it; "" if none waits."""
        return self.queue.pop().text if self.queue else ""

    def abort(self) -> bool:
        """Removes the notes, and aborts what runs. Returns whether something ran."""
        self.notes.clear()
        if runs := self.is_busy or bool(self._beside):
            self.runtime.cancel()
        return runs

    @property
    def is_busy(self) -> bool:
        """Whether a line of the queue is carried out."""
        return self._began > 0

    def begin(self, work: Awaitable[None]) -> None:
        """Does something beside the queue. A refusal is ignored: what it is about has gone."""

        async def run() -> None:
            try:
                await work
            except ZotError:
                return

        task = self._loop.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out_beside(self, line: Line) -> None:
        self._beside[line] = self._clock()
        await self._attempt(line)
        del self._beside[line]
        self._changed.set()

    async def _carry_out(self, line: Line) -> None:
        """Carries out a line of the queue."""
        self._began = self._clock()
        await self._attempt(line)
        self._began = 0.0

    async def _attempt(self, line: Line) -> None:
        self.view.change()
        try:
            await self._obey(line)
        except RuntimeDied:
            return  # `_on_death` says so
        except (ZotError, OSError) as error:
            self.say("error", f"✗ {error}")
        finally:
            self.view.change()

    async def _obey(self, line: Line) -> None:
        match line.kind:
            case Kind.PROMPT:
                await self._prompt(line.text, line.text)
            case Kind.SKILL:
                await self._prompt(line.text, f"Use the skill {line.name!r}.\n\n{line.rest}".rstrip())
            case Kind.BUILT_IN:
                await built_ins.carry_out(self, line)
            case Kind.EXTENSION:
                await self._command(line)
            case Kind.SHELL:
                await self._shell(line.rest)
            case Kind.UNKNOWN:
                near = self.commands.nearest(line.name)
                self.say("error", f"✗ no such command: /{line.name}{f'; did you mean {near}?' if near else ''}")

    async def _prompt(self, entered: str, text: str) -> None:
        self.notes.clear()
        outputs, self._shell_outputs = self._shell_outputs, []
        images = images_in(text, self.cwd)
        self.looking_back.add(entered, 0 if self._state is None else self._state.message_count)
        try:
            async for event in self.runtime.prompt("\n\n".join((*outputs, text)), images):
                if isinstance(event, CompactDone):
                    self.looking_back.compacted(event)
                if event.prompt:
                    self.records.note(event)
                    self.view.show(self.transcript.take(event))
                    self.view.change()
        finally:
            self.view.show(self.transcript.end())
        await self.refresh(self.runtime)

    async def _command(self, line: Line) -> None:
        """Runs a command of an extension, and does what its outcome asks for."""
        outcome = await self.runtime.command(line.text)
        if outcome.action == "prompt" and outcome.text.strip():
            self.queue.append(Line(Kind.PROMPT, outcome.text))
        elif outcome.action == "insert":
            self.view.insert(outcome.text)
        elif outcome.action == "display":
            self.say("blue", f"[/{line.name}] {outcome.text[:DISPLAY_LIMIT]}")

    async def _shell(self, command: str) -> None:
        """Runs a command of the user. Its output goes to the model with the next prompt."""
        outcome = await self.runtime.call_tool("bash", {"command": command})
        text = text_of(outcome.content)
        if len(text) > SHELL_CONTEXT:
            text = f"{text[: SHELL_CONTEXT // 2]}\n[…]\n{text[-SHELL_CONTEXT // 2 :]}"
        self._shell_outputs.append(f"I ran a command myself:\n{text}")

    # --- panels -----------------------------------------------------------------------------------------------

    def press(self, key: str, text: str | None = None) -> None:
        """Sends a key to the top panel."""
        if (panel := self.panels.top) is not None:
            self.begin(self.runtime.panel_key(panel.extension, panel.id, key, text))

    def close_panel(self) -> None:
        """Closes the top panel."""
        if (panel := self.panels.top) is not None:
            self.panels.close(panel.extension, panel.id)
            self.begin(self.runtime.panel_close(panel.extension, panel.id))

    def tell_panel_size(self, columns: int, rows: int) -> None:
        """Tells the extension of the top panel how many columns and rows its lines have, if that has changed."""
        panel = self.panels.top
        if panel is not None and panel.told_size != (columns, rows) and self.engine.runtime is not None:
            panel.told_size = (columns, rows)
            self.begin(self.engine.runtime.panel_resize(panel.extension, panel.id, columns, rows))

    # --- what is shown ----------------------------------------------------------------------------------------

    def say(self, style: str, text: str) -> None:
        """Prints a text, cleaned, in a style; "" is none."""
        paint = self.view.palette.paint
        self.view.show([paint(style, line) for line in self.view.palette.clean(text).split("\n")])

    def _on_question(self) -> None:
        if (first := self.questions.first) is not None:
            self.view.announce(question_rows(first, self.transcript.columns, self.view.palette))
        self.view.change()

    def status(self) -> Status:
        """The parts of the status line."""
        state = self._state
        activity = "starting" if self.engine.runtime is None or state is None else "ready"
        if self.questions.first is not None:
            activity = "a guard asks"
        elif self.is_busy:
            activity = f"working {duration(self._clock() - self._began)}"
        number = len(self.records.extensions)
        return Status(
            activity=activity,
            model="" if state is None else state.model,
            used=None if state is None else state.usage,
            last=self.transcript.usage,
            window=None if state is None else self._windows.get(state.model),
            extensions=f"{number} extension{'' if number == 1 else 's'}" if number else "",
        )

    def beside(self) -> list[str]:
        """The lines that are carried out beside the queue for a second or more, with their times."""
        now = self._clock()
        return [f"{line.text} {duration(now - began)}" for line, began in self._beside.items() if now - began >= 1]

    def arguments_of(self, command: str) -> list[tuple[str, str]]:
        """The arguments that a command may get, with descriptions. It waits: for the thread of the completion."""
        name = self.commands.read(command).name
        if name == "model":
            return [(model, f"{count(window)} tokens") for model, window in self._windows.items()]
        if name == "reload-ext":
            return [(known, "") for known in sorted(self.records.extensions)]
        if name != "resume" or self.engine.runtime is None:
            return []
        asked = asyncio.run_coroutine_threadsafe(self.engine.runtime.sessions(), self._loop)
        try:
            return [(each.id[:8], f"{each.modified[:16]} {each.title}") for each in asked.result(COMPLETION_S)]
        except (ZotError, TimeoutError):
            return []
