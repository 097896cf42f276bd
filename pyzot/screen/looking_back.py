"""Looks back in the conversation: edits the last prompt in a copy of the session, and shows what the model thought."""

from __future__ import annotations

from ..events import CompactDone
from .scene import Scene


class LookingBack:
    """The prompts of this screen."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._prompts: list[tuple[str, str, int]] = []
        """Each prompt with what was sent before its text, and the number of messages before it, counted as the engine
        does now."""

    def add(self, text: str, hidden: str, before: int) -> None:
        """A prompt is sent, with a beginning that the user does not see, after this number of messages."""
        self._prompts.append((text, hidden, before))

    def compacted(self, event: CompactDone) -> None:
        """Counts anew: a summary has replaced messages."""
        gone = event.messages_before - event.messages_after
        self._prompts = [(text, hidden, before - gone) for text, hidden, before in self._prompts]

    def clear(self) -> None:
        """Another conversation begins."""
        self._prompts.clear()

    async def edit_last(self) -> None:
        """Brings the last prompt back into the input, in a copy of the session that ends before it."""
        its = self._scene
        if not self._prompts:
            return
        text, hidden, before = self._prompts.pop()
        runtime = its.runtime
        state = await runtime.state()
        if state.session is None:
            await runtime.set_messages((await runtime.messages())[: max(0, before)])
        else:
            stored = {each.id: each.message_count for each in await runtime.sessions()}
            gone = stored.get(state.session.id, state.message_count) - state.message_count
            at = gone + before
            await (runtime.fork(at) if at > 0 else runtime.clear())
            back = gone - at + (await runtime.state()).message_count  # of messages that a summary had replaced
            self._prompts = [(each, more, number + back) for each, more, number in self._prompts]
        await its.refresh()
        where = f" in the new session {its.engine.session.id}" if its.engine.session else ""
        its.say("dim", f"before the last prompt again{where}; what tools did to files stays done")
        its.shell_outputs = hidden + its.shell_outputs
        its.view.suggest(text)

    async def show_last(self) -> None:
        """Prints the last prompt of the conversation, and the text that followed."""
        shown: list[str] = []
        for message in reversed(await self._scene.runtime.messages()):
            text = "\n".join(block["text"] for block in message["content"] if block.get("type") == "text")
            shown += [text] if text.strip() and message["role"] != "tool" else []
            if text.strip() and message["role"] == "user":
                break
        if shown:
            self._scene.say("dim", f"> {shown.pop()}")
            self._scene.say("", "\n\n".join(reversed(shown)))

    async def show_thinking(self) -> None:
        """Prints what the model thought last, as far as its provider shows it."""
        for message in reversed(await self._scene.runtime.messages()):
            texts = [block.get("text") for block in message["content"] if block.get("type") == "thinking"]
            if any(texts):
                self._scene.say("dim", "\n\n".join(filter(None, texts)))
                return
        self._scene.say("dim", "no thinking to show")
