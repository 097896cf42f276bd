"""The conversation with the engine: carries out what the user enters, at once or in its turn."""

from __future__ import annotations

import asyncio
from collections import deque
from difflib import get_close_matches

from ..errors import RuntimeDied, ZotError
from ..events import CompactDone
from . import built_ins
from .commands import Kind, Line, images_in
from .engine import STARTS
from .looking_back import LookingBack
from .questions import HOW
from .records import Records
from .scene import Scene
from .view.figures import count, duration, local_time
from .view.tool_calls import text_of

SHELL_CONTEXT = 20_000
"""Last characters of the output of a `!command` that the model gets with the next prompt."""
DISPLAY_LIMIT = 64 * 1024
"""Characters of a text of a command that are shown."""
COMPLETION_S = 5.0
"""Seconds that a completion waits for the engine."""


class Conversation:
    """The user's side. `submit` takes entered lines; `run` ends with the screen."""

    def __init__(self, scene: Scene, *, in_order: bool = False) -> None:
        """With `in_order`, every line waits for the one before it."""
        self.scene = scene
        self._is_in_order = in_order
        self.looking_back = LookingBack(scene)
        self.queue: deque[Line] = deque()
        """The lines that wait, the next one first."""
        self._records = Records(scene)
        scene.engine.on_event = self._records.take
        scene.engine.on_stderr = lambda line: scene.say("dim", line.removeprefix("zot: "))
        scene.engine.on_death = self._on_death
        self._loop = asyncio.get_running_loop()
        self._ends_when_done = False
        self._began = 0.0
        """When the present work of the queue began; 0 without any."""
        self._beside: list[tuple[Line, float]] = []
        """Lines that are carried out beside the queue, and when each began."""

    # --- the life of the screen -------------------------------------------------------------------------------

    async def run(self) -> int:
        """Carries out what waits until the user leaves. Returns the exit status."""
        scene = self.scene
        try:
            await self._start()
            while not scene.is_over:
                scene.engine.notice_end()
                if self.queue and scene.engine.runtime is not None:
                    self._began = scene.clock()
                    scene.view.change()
                    await scene.attempt(self._obey(self.queue.popleft()))
                    self._began = 0.0
                elif self._ends_when_done and not (self.queue or self._beside):
                    break
                else:
                    scene.changed.clear()
                    scene.view.change()
                    await scene.changed.wait()
        finally:
            await scene.close()
        if scene.state is not None and scene.state.session is not None and scene.state.message_count:
            scene.say("dim", f"zot -r {scene.state.session.id[:8]} goes on with this session")
        return scene.exit_status

    def end_input(self) -> None:
        """No more lines come: leaves when all are carried out. Questions are answered with no."""
        self._ends_when_done = True
        self.scene.questions.deny_all("no more input")
        self.scene.changed.set()

    async def _start(self) -> None:
        """Starts an engine. If that fails, the screen ends; one that dies afterwards is started again."""
        scene = self.scene
        try:
            runtime = await scene.engine.start()
        except (ZotError, OSError, TypeError) as error:
            scene.say("error", "✗ " + str(error).partition(":\n")[0])  # its lines on stderr are shown already
            scene.leave(max(1, getattr(error, "exit_status", 1)))
            return
        try:
            scene.windows = {model.id: model.context_window for model in await runtime.list_models()}
            await scene.refresh()
            if not scene.engine.has_died:
                await self.looking_back.show_last()
        except RuntimeDied:
            scene.engine.notice_end()
            return
        except ZotError as error:
            scene.say("error", f"✗ {error}")
        if scene.state is not None and scene.state.provider == "none":
            scene.say("yellow", "no key for a model: zot login asks for one; commands of extensions need none")
        if scene.options.get("resume") == "" and not scene.engine.has_died:
            scene.view.suggest("/resume ")
        scene.changed.set()

    def _on_death(self, error: ZotError) -> None:
        """The engine has gone without being asked: another one continues the session."""
        scene = self.scene
        scene.panels.clear()
        scene.notes.clear()
        scene.view.show(scene.transcript.end(has_died=True))
        scene.say("error", "✗ " + str(error).partition(":\n")[0])
        if (status := getattr(error, "exit_status", 1)) in (2, 9):  # a wrong flag, a required extension
            scene.leave(status)
        elif scene.engine.quick_deaths >= STARTS:
            scene.say("error", f"it has ended {STARTS} times soon after its start; zot -c continues the session")
            scene.leave(1)
        else:
            scene.say("yellow", "another engine continues the session; what this one was doing is not repeated")
            scene.begin(self._start())

    # --- input ------------------------------------------------------------------------------------------------

    def submit(self, text: str) -> None:
        """Takes an entered line: an answer to a question, or a line that is carried out at once or in its turn."""
        scene = self.scene
        if scene.questions.first is not None:
            if not scene.questions.answer(text):
                scene.say("yellow", HOW)
            return
        line = scene.commands.read(text)
        if line.waits or self._is_in_order:
            self.queue.append(line)
            scene.changed.set()
        else:
            scene.begin(self._carry_out_beside(line))
        scene.view.change()

    def take_back(self) -> str:
        """Removes the last waiting line and returns it; "" if none waits."""
        return self.queue.pop().text if self.queue else ""

    def abort(self) -> bool:
        """Removes the notes, and aborts what runs. Returns whether something ran."""
        self.scene.notes.clear()
        runtime = self.scene.engine.runtime
        if runs := runtime is not None and (self.is_busy or bool(self._beside)):
            self.scene.runtime.cancel()
        return runs

    def edit_last(self) -> None:
        """Brings the last prompt back into the input, if nothing runs or waits."""
        if not (self.is_busy or self.queue):
            self.scene.begin(self.scene.attempt(self.looking_back.edit_last()))

    @property
    def is_busy(self) -> bool:
        """Whether a line of the queue is carried out."""
        return self._began > 0

    async def _carry_out_beside(self, line: Line) -> None:
        begun = (line, self.scene.clock())
        self._beside.append(begun)
        await self.scene.attempt(self._obey(line))
        self._beside.remove(begun)
        self.scene.changed.set()

    async def _obey(self, line: Line) -> None:
        if line.kind is Kind.UNKNOWN:  # an extension that was still starting may have it
            await self.scene.has_started.wait()
            line = self.scene.commands.read(line.text)
        if line.kind not in (Kind.PROMPT, Kind.SKILL):
            self.scene.say("bold", f"> {line.text}")
        match line.kind:
            case Kind.PROMPT:
                await self._prompt(line.text, line.text)
            case Kind.SKILL:
                await self._prompt(line.text, f"Use the skill {line.name!r}.\n\n{line.rest}".rstrip())
            case Kind.BUILT_IN:
                await built_ins.carry_out(self.scene, self.looking_back, line)
            case Kind.EXTENSION:
                await self._command(line)
            case Kind.SHELL:
                await self._shell(line.rest)
            case Kind.UNKNOWN:
                near = get_close_matches(f"/{line.name}", [name for name, _ in self.scene.commands.list()], 1)
                hint = f"; did you mean {near[0]}?" if near else "; /help lists them"
                self.scene.say("error", f"✗ no such command: /{line.name}{hint}")

    async def _prompt(self, entered: str, text: str) -> None:
        scene = self.scene
        scene.notes.clear()
        stream = scene.runtime.prompt(scene.shell_outputs + text, images_in(text, scene.cwd))
        hidden, scene.shell_outputs = scene.shell_outputs, ""
        scene.transcript.hidden = hidden
        self.looking_back.add(entered, hidden, 0 if scene.state is None else scene.state.message_count)
        try:
            async for event in stream:
                if isinstance(event, CompactDone):
                    self.looking_back.compacted(event)
                if event.prompt:
                    scene.view.show(scene.transcript.take(event))
                    scene.view.change()
        finally:
            scene.view.show(scene.transcript.end())
        await scene.refresh()

    async def _command(self, line: Line) -> None:
        """Runs a command of an extension, and does what its outcome asks for."""
        outcome = await self.scene.runtime.command(line.text)
        if outcome.action == "prompt" and outcome.text.strip():
            self.queue.append(Line(Kind.PROMPT, outcome.text))  # the end of this line is a change
        elif outcome.action == "insert":
            self.scene.view.insert(outcome.text)
        elif outcome.action == "display":
            self.scene.say("blue", f"[/{line.name}] {outcome.text[:DISPLAY_LIMIT]}")

    async def _shell(self, command: str) -> None:
        """Runs a command of the user. Its output goes to the model with the next prompt."""
        outcome = await self.scene.runtime.call_tool("bash", {"command": command})
        await self.scene.runtime.state()  # its record comes after this answer
        self.scene.engine.take_waiting()
        self.scene.shell_outputs += f"I ran this command: {command}\n{text_of(outcome.content)[-SHELL_CONTEXT:]}\n\n"

    # --- panels -----------------------------------------------------------------------------------------------

    def press(self, key: str, text: str | None = None) -> None:
        """Sends a key to the top panel. PageUp and PageDown move it, too, if it has more lines than fit."""
        scene = self.scene
        scene.panels.scroll({"pageup": -1, "pagedown": 1}.get(key, 0))
        if (panel := scene.panels.top) is not None and scene.engine.runtime is not None:
            scene.begin(scene.runtime.panel_key(panel.extension, panel.id, key, text))

    def close_panel(self) -> None:
        """Closes the top panel."""
        scene = self.scene
        if (panel := scene.panels.top) is not None and scene.engine.runtime is not None:
            scene.panels.close(panel.extension, panel.id)
            scene.begin(scene.runtime.panel_close(panel.extension, panel.id))

    def tell_panel_size(self) -> None:
        """Tells the extension of the top panel how many columns and rows its lines have, if that has changed."""
        scene = self.scene
        panel, size = scene.panels.top, scene.panels.shown_size
        if panel is not None and panel.told_size != size and scene.engine.runtime is not None:
            panel.told_size = size
            scene.begin(scene.runtime.panel_resize(panel.extension, panel.id, *size))

    # --- what is shown ----------------------------------------------------------------------------------------

    @property
    def activity(self) -> str:
        """The work of the queue, for the status line."""
        if self.is_busy:
            return f"working {duration(self.scene.clock() - self._began)}"
        return "begins" if self.queue else "ready"

    def waiting(self) -> list[str]:
        """The lines that are carried out beside the queue for a second or more, then those that wait."""
        now = self.scene.clock()
        commands = [(line, now - began) for line, began in self._beside if line.kind is not Kind.SHELL]
        slow = [(line, took) for line, took in commands if took >= 1]
        beside = [f"… {line.text} {duration(took)}" for line, took in slow]
        return beside + [f"waits: {line.text}" for line in self.queue]

    def arguments_of(self, command: str) -> list[tuple[str, str]]:
        """The arguments that a command may get, with descriptions. It waits: for the thread of the completion."""
        scene, name = self.scene, self.scene.commands.read(command).name
        if name == "model":
            return [(model, f"{count(window)} tokens") for model, window in scene.windows.items()]
        if name == "reload-ext":
            return [(known, "") for known in sorted(scene.extensions)]
        if name != "resume" or scene.engine.runtime is None:
            return []
        asked = asyncio.run_coroutine_threadsafe(scene.runtime.sessions(), self._loop)
        try:
            return [(each.id[:8], f"{local_time(each.modified)} {each.title}") for each in asked.result(COMPLETION_S)]
        except (ZotError, TimeoutError):
            return []
