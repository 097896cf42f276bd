"""The messages of the user in one prompt: the first one, and those that wait for the next request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import orjson

from agent.images.limits import UnfitImageError
from agent.output import event_content
from agent.run.turn.tool_calls import ToolCalls
from agent.transcript import Image, Message, Text, ToolCall, now, text_of
from wire import events, frames
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.abort import Abort
    from agent.output.event_writer import EventWriter
    from agent.run.conversation import Conversation
    from agent.run.session_hooks import SessionHooks
    from agent.run.steer_queue import SteerQueue
    from agent.tools.toolbox import Toolbox
    from agent.transcript import Block
    from supervisor.calls.guard_chain import Judgement
    from supervisor.supervisor import Supervisor


class UserMessages:
    """Adds messages to the end of the conversation after guards have judged them."""

    def __init__(
        self,
        supervisor: Supervisor,
        toolbox: Toolbox,
        event_writer: EventWriter,
        conversation: Conversation,
        abort: Abort,
        steering: SteerQueue,
        session: SessionHooks,
    ) -> None:
        self._supervisor = supervisor
        self._toolbox = toolbox
        self._event_writer = event_writer
        self._conversation = conversation
        self._abort = abort
        self._steering = steering
        self._session = session
        self._tool_calls = ToolCalls(supervisor, toolbox, event_writer, abort)

    @property
    def has_waiting(self) -> bool:
        """Whether a message waits for the next request."""
        return self._steering.has_waiting

    def begin(self, text: str, images: tuple[Image, ...], files: Sequence[str] = (), sender: str = "") -> Judgement:
        """Adds the first message of the prompt, followed by the content of `files`; `sender` is the extension that has
        sent it. Readers also see a message that a guard blocks; it is not in the conversation, and no file is read.
        Raises `UnfitImageError`."""
        images = self._toolbox.fit_message(images, self._event_writer.wait)
        message, judgement = self._judge(text, images, files, sender)
        if not judgement.is_blocked:
            started = self._session.start(text_of(message.content))
            contexts = (started, judgement.additional_context)
            told = text_of(with_context(message, *contexts).content)
            message = with_context(self._with_files(message, files), *contexts)
        self._show(message, sender)
        if not judgement.is_blocked:
            self._append(message, _event(told, files, sender))
        return judgement

    def _with_files(self, message: Message, files: Sequence[str]) -> Message:
        if not files:
            return message
        said = message.content if text_of(message.content).strip() else ()
        parts = attachment_blocks(files, self._tool_calls, f"attached-{len(self._conversation.transcript)}")
        return Message(message.role, (*said, *parts), message.time)

    def deliver_waiting(self) -> bool:
        """Adds the waiting messages. If a guard blocks one, a notice says so, and the prompt goes on. Returns whether
        any was delivered; none is after an abort."""
        is_any_delivered = False
        while (waiting := self._steering.take()) is not None:
            text, images = waiting
            try:
                images = self._toolbox.fit_message(images, self._event_writer.wait)
            except UnfitImageError as error:  # the message was accepted: the model gets at least its text
                text, images = f"{text}\n\n[the images of this message are left out: {error}]", ()
            message, judgement = self._judge(text, images)
            if self._abort.is_requested():
                return False
            if not judgement.is_blocked:
                message = with_context(message, judgement.additional_context)
                self._show(message)
                self._append(message)
                is_any_delivered = True
        return is_any_delivered

    def add_unjudged(self, text: str) -> None:
        """Adds a text of ours. No guard judges it: no user has written it."""
        message = Message("user", (Text(text),), now())
        self._show(message)
        self._append(message)

    def _judge(
        self, text: str, images: tuple[Image, ...], files: Sequence[str] = (), sender: str = ""
    ) -> tuple[Message, Judgement]:
        judgement = self._supervisor.intercept(_event(text, files, sender))
        text = text if judgement.text is None else judgement.text
        return Message("user", (Text(text), *images) if text or not images else images, now()), judgement

    def _show(self, message: Message, sender: str = "") -> None:
        content = event_content.content(message.content)
        self._event_writer.emit(events.UserMessage(content, message.time, sender or msgspec.UNSET))

    def _append(self, message: Message, told: frames.Event | None = None) -> None:
        self._conversation.append(message)
        self._supervisor.tell(_event(text_of(message.content)) if told is None else told)


def _event(text: str, files: Sequence[str] = (), sender: str = "") -> frames.Event:
    return frames.Event("user_prompt", text=text, files=[*files] or None, sender=sender or None)


def with_context(message: Message, *contexts: str) -> Message:
    """The message with what guards add for the model: each context is a text behind what the user wrote."""
    added = tuple(Text(context) for context in contexts if context)
    return Message(message.role, (*message.content, *added), message.time) if added else message


READ = "read"
OFF = "the tool read is off in this run"


def attachment_blocks(files: Sequence[str], tool_calls: ToolCalls, call_ids: str) -> tuple[Block, ...]:
    """The blocks after the prompt for these files, each under its name: its text or its image, or why it is
    missing. `call_ids` is how the ids of the calls begin, which guards see."""
    names = [valid_text(name) for name in files]
    if not tool_calls.has_built_in(READ):
        return tuple(Text(f"[file {name}: not read: {OFF}]") for name in names)
    calls = [
        ToolCall(f"{call_ids}-{number}", READ, orjson.dumps({"path": name})) for number, name in enumerate(names, 1)
    ]
    parts: list[Block] = []
    for name, result in zip(names, tool_calls.run_unannounced(calls), strict=True):
        text = text_of(result.content)
        if result.is_error:
            parts.append(Text(f"[file {name}: not read: {text}]"))
            continue
        images = [part for part in result.content if isinstance(part, Image)]
        parts += [Text(f"[file {name}]\n{text}" if text or not images else f"[file {name}]"), *images]
    return tuple(parts)
