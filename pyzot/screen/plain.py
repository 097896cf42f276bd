"""The conversation as plain lines: for `TERM=dumb`, pipes and screen readers. Nothing is drawn twice."""

from __future__ import annotations

import asyncio
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .conversation import Conversation
from .scene import Scene
from .view.text import Palette

PROMPT = "> "


class PlainScreen:
    """A view that prints. It reads lines from stdin, and leaves once stdin has ended and all lines are carried out."""

    def __init__(self, options: Mapping[str, Any], *, first: str = "") -> None:
        self.palette = Palette(has_colours=False)
        self._options = options
        self._first = first
        self._has_input = True
        self._is_asking = False
        """Whether the cursor is behind the prompt."""

    async def run(self) -> int:
        """Converses until the user leaves. Returns the exit status."""
        columns = shutil.get_terminal_size().columns
        self.scene = Scene(self._options, self, clock=time.monotonic, columns=columns)
        self.scene.transcript.can_unfold = False
        self.conversation = Conversation(self.scene, in_order=True)
        if self._first:
            self.conversation.submit(self._first)
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), name="zot-stdin", daemon=True).start()
        return await self.conversation.run()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread of its own, since a file cannot be waited for."""
        try:
            for line in sys.stdin:
                loop.call_soon_threadsafe(self._enter, line.rstrip("\n"))
            loop.call_soon_threadsafe(self._end_input)
        except (OSError, RuntimeError, ValueError):
            return  # the screen has ended

    def _enter(self, line: str) -> None:
        self._is_asking = False
        if line.strip():
            self.conversation.submit(line)
        self.change()

    def _end_input(self) -> None:
        self._has_input = False
        self.conversation.end_input()

    # --- for the conversation ---------------------------------------------------------------------------------

    def show(self, lines: Sequence[str]) -> None:
        """Prints lines. The end of the reader ends the screen."""
        if not lines:
            return
        try:
            if self._is_asking:
                self._is_asking = False
                print()  # noqa: T201
            print("\n".join(lines), flush=True)  # noqa: T201
        except OSError:
            self.scene.leave(1)

    def announce(self, lines: Callable[[], Sequence[str]]) -> None:
        self.show(lines())

    def change(self) -> None:
        is_idle = self.conversation.activity == "ready" and self.scene.state is not None
        is_ready = is_idle or self.scene.questions.first is not None
        if is_ready and self._has_input and not self._is_asking and sys.stdin.isatty():
            self._is_asking = True
            print(PROMPT, end="", flush=True)  # noqa: T201

    def insert(self, text: str) -> None:
        self.show([f"for the next line: {self.palette.clean(text)}"])

    def suggest(self, text: str) -> None:
        self.show([f"go on with: {self.palette.clean(text)}…"])

    async def run_outside(self, command: Sequence[str]) -> int:
        process = await asyncio.create_subprocess_exec(*command, cwd=self.scene.cwd)
        return await process.wait()

    def leave(self) -> None:
        return


def serve(options: Mapping[str, Any], *, first: str = "") -> int:
    """Converses in plain lines. Returns the exit status."""
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    return asyncio.run(PlainScreen(options, first=first).run())
