"""The last prompt again: the conversation ends before it, however often it was compacted since."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyzot.errors import RefusedError
from pyzot.events import CompactDone
from pyzot.screen.looking_back import LookingBack
from pyzot.screen.scene import Scene
from tests.pyzot.screen.conftest import KeptView


def message(text, role="user", kind="text"):
    return {"role": role, "content": [{"type": kind, "text": text}]}


class Runtime:
    """Messages in memory, or also in a file, which keeps those that a summary has replaced."""

    def __init__(self, *, is_stored):
        self.held, self.kept, self.compactions = [], [], {}
        self.is_stored = is_stored

    def add(self, *messages):
        self.held += messages
        self.kept += messages

    def compact(self, count):
        """Replaces the first messages by a summary."""
        before = len(self.held)
        self.held[:count] = [message("summary")]
        self.compactions[len(self.kept)] = count
        return CompactDone("summary", before, len(self.held))

    async def state(self):
        session = SimpleNamespace(id="s") if self.is_stored else None
        return SimpleNamespace(session=session, message_count=len(self.held))

    async def messages(self):
        return list(self.held)

    async def set_messages(self, messages):
        self.held = list(messages)

    async def clear(self):
        self.held, self.kept, self.compactions = [], [], {}

    async def sessions(self):
        return [SimpleNamespace(id="s", message_count=len(self.kept))]

    async def fork(self, at):
        if not 1 <= at <= len(self.kept):
            raise RefusedError(f"from 1 to {len(self.kept)}")
        kept, compactions = self.kept[:at], self.compactions
        self.held, self.kept, self.compactions = [], [], {}
        for each in kept:
            if len(self.kept) in compactions:
                self.compact(compactions[len(self.kept)])
            self.add(each)


class Looker:
    """The prompts of a screen with this runtime."""

    def __init__(self, runtime):
        self.runtime = runtime
        self.scene = Scene({}, KeptView(), clock=lambda: 0.0, columns=60)
        self.scene.engine.runtime = runtime
        self.scene.refresh = self.state_again
        self.looking_back = LookingBack(self.scene)

    async def state_again(self):
        pass

    def prompt(self, text, replies, compacted=None):
        """A prompt, its replies, and a compaction of all messages but the last one in between."""
        self.looking_back.add(text, f"output before {text}\n", len(self.runtime.held))
        self.runtime.add(message(text))
        if compacted is not None and len(self.runtime.held) > 1:
            self.looking_back.compacted(self.runtime.compact(min(compacted, len(self.runtime.held) - 1)))
        self.runtime.add(*(message(f"reply {number} to {text}", "assistant") for number in range(replies)))


def look(runtime, deeds):
    async def run():
        looker = Looker(runtime)
        await deeds(looker)
        return looker

    return asyncio.run(run())


def texts(messages):
    return [each["content"][0]["text"] for each in messages]


prompts = st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(1, 4)), min_size=1, max_size=5)


@given(prompts, st.booleans(), st.integers(1, 3))
def test_the_conversation_ends_before_the_prompt_that_is_edited(turns, is_stored, edits):
    async def deeds(looker):
        before = []
        for number, (replies, compacted) in enumerate(turns):
            before.append(texts(looker.runtime.kept if is_stored else looker.runtime.held))
            looker.prompt(f"p{number}", replies, compacted)
        for number in reversed(range(max(0, len(turns) - edits), len(turns))):
            await looker.looking_back.edit_last()
            left = texts(looker.runtime.held)
            assert looker.scene.view.suggested[-1] == f"p{number}"
            assert looker.scene.shell_outputs.startswith(f"output before p{number}\n")
            assert not any(f"p{later}" in text for later in range(number, len(turns)) for text in left)
            if is_stored:
                assert texts(looker.runtime.kept) == before[number]

    look(Runtime(is_stored=is_stored), deeds)


def test_without_a_prompt_nothing_is_edited():
    async def deeds(looker):
        looker.runtime.add(message("of another screen"))
        await looker.looking_back.edit_last()
        looker.prompt("one", 1)
        looker.looking_back.clear()
        await looker.looking_back.edit_last()

    looker = look(Runtime(is_stored=True), deeds)
    assert looker.scene.view.suggested == looker.scene.view.lines == []
    assert len(looker.runtime.held) == 3


@pytest.mark.parametrize("deed", ["edit_last", "show_thinking"])
def test_without_an_engine_it_is_said_so(deed):
    async def deeds(looker):
        looker.prompt("one", 1)
        looker.scene.engine.runtime = None
        await looker.scene.attempt(getattr(looker.looking_back, deed)())

    assert look(Runtime(is_stored=False), deeds).scene.view.lines[0].startswith("✗ ")


def test_the_thinking_of_the_last_message_that_has_some():
    async def deeds(looker):
        await looker.looking_back.show_thinking()
        looker.runtime.add(message("old", "assistant", "thinking"), message("hm", "assistant", "thinking"))
        looker.runtime.add(message("reply", "assistant"), message("", "assistant", "thinking"))
        await looker.looking_back.show_thinking()

    assert look(Runtime(is_stored=False), deeds).scene.view.lines == ["no thinking to show", "hm"]


def test_the_last_exchange_of_a_session_that_is_continued():
    async def deeds(looker):
        await looker.looking_back.show_last()
        looker.prompt("one", 1)
        looker.prompt("two", 2)
        looker.runtime.add(message("result", "tool"))
        await looker.looking_back.show_last()

    lines = look(Runtime(is_stored=False), deeds).scene.view.lines
    assert lines == ["> two", "reply 0 to two", "", "reply 1 to two"]
