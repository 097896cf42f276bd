"""A conversation with an engine that is not one, and a view that keeps all that it shows."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from functools import partial

import pytest

from pyzot.async_runtime import AsyncRuntime
from pyzot.connection import engine_process
from pyzot.screen import engine as engine_module
from pyzot.screen.conversation import Conversation
from pyzot.screen.scene import Scene
from pyzot.screen.view.text import Palette
from tests.pyzot.conftest import fake_engine
from tests.support.patience import PATIENCE_S


class KeptView:
    """Keeps what is shown. `until` waits for a line."""

    def __init__(self):
        self.palette = Palette(has_colours=False)
        self.lines = []
        self.announced = []
        self.inserted = []
        self.suggested = []
        self.has_left = False
        self._changed = asyncio.Condition()

    def show(self, lines):
        self.lines += lines
        self.change()

    def announce(self, lines):
        self.announced += lines()

    def change(self):
        async def tell():
            async with self._changed:
                self._changed.notify_all()

        self._telling = asyncio.ensure_future(tell())

    def insert(self, text):
        self.inserted.append(text)

    def suggest(self, text):
        self.suggested.append(text)

    async def run_outside(self, command):
        return 0

    def leave(self):
        self.has_left = True

    async def until(self, is_so):
        """Waits until `is_so()`, which may change with whatever is shown."""
        async with asyncio.timeout(PATIENCE_S):
            async with self._changed:
                await self._changed.wait_for(is_so)

    async def until_line(self, begin, count=1):
        await self.until(lambda: sum(line.startswith(begin) for line in self.lines) >= count)


@pytest.fixture
def converse(monkeypatch):
    """Begins a conversation with `fake_engine.py`, which misbehaves as the word says."""
    monkeypatch.setattr(engine_process, "CLOSE_S", 0.5)
    monkeypatch.setattr(engine_process, "EXIT_S", 0.5)

    @asynccontextmanager
    async def begin(behaviour="works", *, in_order=False, **options):
        monkeypatch.setattr(engine_module, "AsyncRuntime", partial(AsyncRuntime, program=fake_engine(behaviour)))
        scene = Scene(options, KeptView(), clock=time.monotonic, columns=80)
        conversation = Conversation(scene, in_order=in_order)
        conversation.ended = asyncio.ensure_future(conversation.run())
        try:
            yield conversation
        finally:
            scene.leave()
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.wait([conversation.ended])

    return begin
