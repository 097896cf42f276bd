"""The messages of the user in one prompt: the one that begins it, and those that wait for the next request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.images.limits import UnfitImageError
from agent.output import event_content
from agent.transcript import Image, Message, Text, now, text_of
from wire import events, frames

if TYPE_CHECKING:
    from agent.abort import Abort
    from agent.output.event_writer import EventWriter
    from agent.run.conversation import Conversation
    from agent.run.session_hooks import SessionHooks
    from agent.run.steering import Steering
    from agent.tools.toolbox import Toolbox
    from supervisor.calls.verdict import Judgement
    from supervisor.supervisor import Supervisor


class UserMessages:
    """Puts messages at the end of the conversation, once guards have judged them."""

    def __init__(
        self,
        supervisor: Supervisor,
        toolbox: Toolbox,
        event_writer: EventWriter,
        conversation: Conversation,
        abort: Abort,
        steering: Steering,
        session: SessionHooks,
    ) -> None:
        self._supervisor = supervisor
        self._toolbox = toolbox
        self._event_writer = event_writer
        self._conversation = conversation
        self._abort = abort
        self._steering = steering
        self._session = session

    @property
    def has_waiting(self) -> bool:
        """Whether a message waits for the next request."""
        return self._steering.has_waiting

    def begin(self, text: str, images: tuple[Image, ...]) -> Judgement:
        """The message that begins the prompt. Readers see it also if a guard blocks it; then it is no part of the
        conversation. Raises `UnfitImageError`."""
        images = self._toolbox.fit_message(images, self._event_writer.wait)
        message, judgement = self._judged(text, images)
        if not judgement.is_blocked:
            started = self._session.start(text_of(message.content))
            message = with_context(message, started, judgement.additional_context)
        self._show(message)
        if not judgement.is_blocked:
            self._append(message)
        return judgement

    def deliver_waiting(self) -> bool:
        """The messages that wait. A guard may block one: its notice says so, and the prompt goes on. Returns whether
        any was delivered; after an abort none is."""
        is_any_delivered = False
        while (waiting := self._steering.take()) is not None:
            text, images = waiting
            try:
                images = self._toolbox.fit_message(images, self._event_writer.wait)
            except UnfitImageError as error:  # the message was taken, so the model gets its words
                text, images = f"{text}\n\n[the images of this message are left out: {error}]", ()
            message, judgement = self._judged(text, images)
            if self._abort.is_requested():
                return False
            if not judgement.is_blocked:
                message = with_context(message, judgement.additional_context)
                self._show(message)
                self._append(message)
                is_any_delivered = True
        return is_any_delivered

    def add_unjudged(self, text: str) -> None:
        """Words of ours. No guard judges them: no user has written them."""
        message = Message("user", (Text(text),), now())
        self._show(message)
        self._append(message)

    def _judged(self, text: str, images: tuple[Image, ...]) -> tuple[Message, Judgement]:
        judgement = self._supervisor.intercept(frames.Event("user_prompt", text=text))
        text = text if judgement.text is None else judgement.text
        return Message("user", (Text(text), *images) if text or not images else images, now()), judgement

    def _show(self, message: Message) -> None:
        self._event_writer.emit(events.UserMessage(event_content.content(message.content), message.time))

    def _append(self, message: Message) -> None:
        self._conversation.append(message)
        self._supervisor.tell(frames.Event("user_prompt", text=text_of(message.content)))


def with_context(message: Message, *contexts: str) -> Message:
    """The message with what guards add for the model: each context is a text behind what the user wrote."""
    added = tuple(Text(context) for context in contexts if context)
    return Message(message.role, (*message.content, *added), message.time) if added else message
