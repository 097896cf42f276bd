"""Answers the requests about prompts and compactions: to begin, steer, abort and list them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.rpc import messages
from agent.rpc.prompt_queue import QueueFullError
from agent.rpc.refusal import RequestRefusedError
from agent.run.steer_queue import SteerRefusedError, SteerTooLateError
from wire.rpc import requests, responses

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.rpc.prompt_queue import PromptQueue
    from agent.transcript import Image

ABORTED = "aborted by the client"
TEXT_SHOWN = 200
"""Characters of a prompt's text in the answer to `queue`."""
INSTRUCTIONS_LIMIT = 10_000
"""Maximum of the instructions of a compaction in characters."""


class PromptRequests:
    """Carries out requests. Each method raises `RequestRefusedError`."""

    def __init__(self, engine: Engine, queue: PromptQueue) -> None:
        self._engine = engine
        self._queue = queue

    def prompt(self, request: requests.Prompt) -> responses.Started:
        text, images = _content(request)
        try:
            prompt, position = self._queue.add(text, images)
        except QueueFullError as error:
            raise RequestRefusedError(str(error)) from None
        self._engine.host_calls.forget_refusals()
        return responses.Started(started=True, prompt=prompt.id, position=position)

    def compact(self, request: requests.Compact) -> responses.Started:
        instructions = request.instructions or ""
        if len(instructions) > INSTRUCTIONS_LIMIT:
            raise RequestRefusedError(f"instructions: more than {INSTRUCTIONS_LIMIT} characters")
        try:
            compaction, position = self._queue.add_compaction(instructions)
        except QueueFullError as error:
            raise RequestRefusedError(str(error)) from None
        return responses.Started(started=True, prompt=compaction.id, position=position)

    def steer(self, request: requests.Steer) -> responses.Steered:
        text, images = _content(request)
        running = self._queue.running
        if running is None:
            raise RequestRefusedError("no prompt runs; send the message with prompt", "no_prompt")
        if running.command == "compact":
            raise RequestRefusedError("a compaction runs, and no prompt; send the message with prompt", "no_prompt")
        try:
            self._engine.steer(text, images)
        except SteerTooLateError as error:
            raise RequestRefusedError(str(error), "no_prompt") from None
        except SteerRefusedError as error:
            raise RequestRefusedError(str(error)) from None
        return responses.Steered(running.id)

    def abort(self, request: requests.Abort) -> None:
        self._queue.abort(request.prompt, ABORTED)
        if request.prompt is None:  # also while no prompt runs
            self._engine.cancel_pending(ABORTED)

    def queue(self, _request: requests.Queue) -> responses.Queued:
        return responses.Queued(
            tuple(
                responses.QueuedPrompt(
                    prompt.id,
                    running=prompt is self._queue.running,
                    aborted=prompt.abort.requested,
                    message=prompt.text[:TEXT_SHOWN],
                    command=prompt.command,
                    extension=msgspec.UNSET if prompt.sent is None else prompt.sent.extension,
                )
                for prompt in self._queue
            )
        )


def _content(request: requests.Prompt | requests.Steer) -> tuple[str, tuple[Image, ...]]:
    """The text and the images of a message. Raises `RequestRefusedError`."""
    text = request.message or ""
    if not text.strip() and not request.images:
        raise RequestRefusedError(
            f"message: a {'prompt' if isinstance(request, requests.Prompt) else 'steer'} needs a text or an image"
        )
    try:
        return text, messages.prompt_images(request.images or ())
    except messages.UnfitMessageError as error:
        raise RequestRefusedError(str(error)) from None
