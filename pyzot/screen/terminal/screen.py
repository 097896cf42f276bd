"""Draws the conversation on a terminal: final lines go to the scrollback, the rest is drawn again below them."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import termios
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout
from prompt_toolkit.layout.containers import HSplit, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension

from ...events import PermissionAsked
from ..conversation import Conversation
from ..scene import Scene
from ..view import markdown
from ..view.text import Palette
from .completion import InputCompleter, may_complete
from .history import UserHistory
from .input import InputArea
from .keys import key_bindings
from .output import FrameOutput

FRAME_S = 0.02
"""Seconds between two frames that no key asks for."""
PRINTED_AT_ONCE = 8 * 1024
"""Characters that are printed between two keys: a slow terminal must not hold up typing."""
DOUBLE_S = 0.6
"""Seconds within which a second Esc edits the last prompt."""
CLOCK_S = 0.5
"""Seconds between two frames while something runs whose time is shown."""


class TerminalScreen:
    """A view of one conversation on the terminal of this process."""

    def __init__(self, options: Mapping[str, Any], *, first: str = "") -> None:
        self.palette = Palette(has_colours=not os.environ.get("NO_COLOR"))
        self.output = FrameOutput.on_stdout()
        self._modes = termios.tcgetattr(sys.stdin)
        self._options = options
        self._first = first
        self._lines: deque[str] = deque()
        """Lines that are not printed yet."""
        self._frame: asyncio.TimerHandle | None = None
        self._last_frame = 0.0
        self._rows: list[str] = []
        self._above = ANSI("")
        self._is_outside = False
        """Whether another program has the terminal."""
        self._last_escape = 0.0
        self._draft = ""
        """The input as it was before a question."""
        self._asked: PermissionAsked | None = None
        """The question that the input answers."""

    async def run(self) -> int:
        """Shows the screen until the user leaves. Returns the exit status."""
        loop = asyncio.get_running_loop()
        warm_up = loop.run_in_executor(None, markdown.prepare)  # the first reply must not wait for it
        warm_up.add_done_callback(lambda _done: gc.freeze())  # a search of all modules takes longer than a key may
        scene = self.scene = Scene(self._options, self, clock=time.monotonic, columns=self._columns)
        self.conversation = Conversation(scene)
        completer = InputCompleter(scene.commands.list, self.conversation.arguments_of, scene.cwd)
        self.input = InputArea(UserHistory(), completer, prompt=self._prompt, offers_for=may_complete)
        self.input.put(self._first)
        above = Window(FormattedTextControl(lambda: self._above), height=lambda: Dimension.exact(len(self._rows)))
        status = Window(FormattedTextControl(self._status), height=1, style="fg:ansibrightblack")
        scene.say("dim", "/help lists the commands and keys, Ctrl-D leaves")
        deeds = {
            Keys.ControlM: self._enter, Keys.Escape: self._escape, Keys.ControlC: self._interrupt,
            Keys.SIGINT: self._interrupt, Keys.ControlO: self._show_folded, Keys.ControlZ: self._suspend,
        }  # fmt: skip
        self.app: Application[None] = Application(
            before_render=self._compose,
            layout=Layout(HSplit([above, self.input.container, status]), focused_element=self.input.window),
            key_bindings=key_bindings(self.conversation, self.input, deeds), output=self.output, erase_when_done=True,
        )  # fmt: skip
        self.app.ttimeoutlen = self.app.timeoutlen = 0.05
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.scene.leave, 128 + number)
        loop.add_signal_handler(signal.SIGTSTP, self._suspend)
        work: asyncio.Task[int] | None = None

        def begin() -> None:
            nonlocal work
            work = loop.create_task(self.conversation.run())
            work.add_done_callback(lambda _work: self.leave())  # also if it fails
            loop.call_later(CLOCK_S, self._tick)

        try:
            await self.app.run_async(pre_run=begin, set_exception_handler=False)
        except (EOFError, OSError):  # the terminal has gone
            self._lines.clear()
            self._is_outside = True
            self.scene.leave(128 + signal.SIGHUP)
        found = await work if work is not None else 1
        self._print_rest()
        return found

    # --- for the conversation ---------------------------------------------------------------------------------

    def show(self, lines: Sequence[str]) -> None:
        self._lines.extend(lines)
        self.change()

    def announce(self, lines: Callable[[], Sequence[str]]) -> None:  # noqa: ARG002
        self.change()

    def insert(self, text: str) -> None:
        self.input.buffer.insert_text(text)
        self.change()

    def suggest(self, text: str) -> None:
        if not self.input.buffer.text:
            self.input.put(text)
            self.input.buffer.start_completion()
            self.change()

    async def run_outside(self, command: Sequence[str]) -> int:
        async with self._outside():
            modes = termios.tcgetattr(sys.stdin)
            modes[6][termios.VSUSP] = b"\0"  # it would stop alone, and no shell would continue it
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, modes)
            process = await asyncio.create_subprocess_exec(*command, cwd=self.scene.cwd)
            return await process.wait()

    @asynccontextmanager
    async def _outside(self) -> AsyncIterator[None]:
        """The terminal is as it was before the screen, for others."""
        self._is_outside = True
        try:
            async with in_terminal():
                termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._modes)
                self._print_rest()
                yield
        finally:
            self._is_outside = False
            self.change()

    def leave(self) -> None:
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    # --- drawing ----------------------------------------------------------------------------------------------

    @property
    def _columns(self) -> int:
        return max(10, self.output.get_size().columns)

    def change(self) -> None:
        """Has the next frame drawn, at most one in `FRAME_S`."""
        if self._frame is None:
            loop = asyncio.get_running_loop()
            wait = max(0.0, self._last_frame + FRAME_S - loop.time())
            self._frame = loop.call_later(wait, self._draw)

    def _draw(self) -> None:
        self._frame = None
        self._last_frame = asyncio.get_running_loop().time()
        if self._is_outside or not self.app.is_running or self.app.is_done:
            return
        self._stash_draft()
        if self._lines:
            self.output.print_above(self.app, self._next_text())
            if self._lines:
                self.change()
        else:
            self.app.invalidate()

    def _next_text(self) -> str:
        """The next lines, about `PRINTED_AT_ONCE` characters of them."""
        taken: list[str] = []
        size = 0
        while self._lines and size < PRINTED_AT_ONCE:
            taken.append(self._lines.popleft())
            size += len(taken[-1]) + 1
        return "\n".join([*taken, ""])

    def _print_rest(self) -> None:
        while self._lines:
            self.output.write_raw(self._next_text())
            self.output.flush()

    def _tick(self) -> None:
        """Draws again while a time is shown."""
        if not self.scene.is_over:
            if self.conversation.activity != "ready" or self.conversation.waiting():
                self.change()
            asyncio.get_running_loop().call_later(CLOCK_S, self._tick)

    def _compose(self, _app: object) -> None:
        """Makes the rows above the input, before each frame."""
        height = max(0, self.output.get_size().rows - self.input.rows - 2)
        self._rows = self.scene.rows(self.conversation.waiting(), self._columns, height)
        self._above = ANSI("\n".join(self._rows))
        self.conversation.tell_panel_size()

    def _status(self) -> ANSI:
        return ANSI(self.scene.status(self.conversation.activity, self._columns - 1))

    def _prompt(self) -> str:
        return "> " if self.scene.questions.first is None else "yes/no> "

    # --- keys -------------------------------------------------------------------------------------------------

    def _enter(self) -> None:
        """Submits the input."""
        if self._asked is not self.scene.questions.first:  # typed before this question
            self.change()
            return
        text = self.input.take(is_kept=self._asked is None)
        if text.strip():
            self.conversation.submit(text)
            self._stash_draft()

    def _stash_draft(self) -> None:
        """Empties the input for the answer to a question, and brings it back afterwards."""
        before, self._asked = self._asked, self.scene.questions.first
        if before is self._asked:
            return
        if before is None:
            self._draft = self.input.buffer.text
        self.input.put(self._draft if self._asked is None else "")

    def _escape(self) -> None:
        """Closes the menu, aborts what runs, or, a second time, edits the last prompt."""
        buffer = self.input.buffer
        now = asyncio.get_running_loop().time()
        is_second, self._last_escape = now - self._last_escape < DOUBLE_S, now
        if buffer.complete_state is not None:
            buffer.cancel_completion()
        elif self.conversation.abort():
            self._last_escape = 0.0
        elif is_second and not buffer.text:
            self._last_escape = 0.0
            self.conversation.edit_last()

    def _interrupt(self) -> None:
        """Empties the input, else aborts what runs, else leaves."""
        if self.input.buffer.text:
            self.input.take()
        elif not self.conversation.abort():
            self.scene.leave()

    def _suspend(self) -> None:
        """Stops this process until it is continued; the engine goes on."""

        async def stop() -> None:
            async with self._outside():
                os.kill(os.getpid(), signal.SIGSTOP)

        if not self._is_outside:
            self.app.create_background_task(stop())

    def _show_folded(self) -> None:
        """Prints in full what was folded last."""
        self.show(self.scene.transcript.unfold() or [self.palette.paint("dim", "nothing is folded")])


def serve(options: Mapping[str, Any], *, first: str = "") -> int:
    """Shows the screen on the terminal of this process. Returns the exit status."""
    return asyncio.run(TerminalScreen(options, first=first).run())
