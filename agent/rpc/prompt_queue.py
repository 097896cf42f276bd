"""Orders the prompts and compactions: first in, first out. Does no I/O."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal

import msgspec

from agent.abort import Abort
from agent.engine.host_calls.sent_prompts import SendAllowance, SendRefusedError, SentPrompt
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent.transcript import Image

PROMPTS_LIMIT = 1000
"""Maximum number of waiting prompts."""
BYTES_LIMIT = 64 * 1024 * 1024
"""Maximum of all waiting prompts in characters of text and base64."""


class QueueFullError(Exception):
    """The queue takes no more; the text says why."""


class QueuedPrompt(msgspec.Struct, eq=False):
    """A prompt of the client or of an extension, or a compaction. Its abort may be requested before it begins."""

    id: str
    text: str
    """The prompt; for a compaction, its instructions."""
    images: tuple[Image, ...] = ()
    command: Literal["prompt", "compact"] = "prompt"
    """The request that it comes from."""
    abort: Abort = msgspec.field(default_factory=Abort)
    sent: SentPrompt | None = None
    """The prompt as an extension has sent it; None if it is the client's."""

    @property
    def kind(self) -> str:
        """Its kind in a word, for people."""
        return "prompt" if self.command == "prompt" else "compaction"

    @property
    def size(self) -> int:
        """Characters of text and base64."""
        return len(self.text) + sum(len(image.data) for image in self.images)


class PromptQueue:
    """The running prompt and the waiting ones, compactions included. An aborted prompt keeps its place: the records of
    two prompts are never mixed."""

    def __init__(self) -> None:
        self.running: QueuedPrompt | None = None
        self.waiting: deque[QueuedPrompt] = deque()
        self.on_put: Callable[[QueuedPrompt, int], None] = lambda _prompt, _position: None
        """Called with each prompt that is accepted, and the number of prompts before it."""
        self._count = 0
        self._size = 0
        self._allowance = SendAllowance()
        """The prompts that extensions may still send until the client's next prompt."""

    def __iter__(self) -> Iterator[QueuedPrompt]:
        if self.running is not None:
            yield self.running
        yield from self.waiting

    @property
    def is_busy(self) -> bool:
        return self.running is not None or bool(self.waiting)

    def add(self, text: str, images: tuple[Image, ...]) -> tuple[QueuedPrompt, int]:
        """Puts a prompt of the client at the end. Returns it and the number of prompts before it. Renews the number of
        prompts that extensions may send. Raises `QueueFullError`."""
        put = self._put(QueuedPrompt(f"p{self._count + 1}", text, images))
        self._allowance.renew()
        return put

    def add_sent(self, sent: SentPrompt) -> None:
        """Puts a prompt of an extension at the end. Raises `SendRefusedError`."""
        self._allowance.take()
        try:
            self._put(QueuedPrompt(f"p{self._count + 1}", sent.text, sent=sent))
        except QueueFullError as error:
            raise SendRefusedError(str(error)) from None

    def add_compaction(self, instructions: str) -> tuple[QueuedPrompt, int]:
        """Puts a compaction at the end, as `add` puts a prompt."""
        return self._put(QueuedPrompt(f"p{self._count + 1}", instructions, command="compact"))

    def _put(self, prompt: QueuedPrompt) -> tuple[QueuedPrompt, int]:
        if len(self.waiting) >= PROMPTS_LIMIT:
            raise QueueFullError(f"{PROMPTS_LIMIT} prompts wait already; wait until some are done")
        if self.waiting and self._size + prompt.size > BYTES_LIMIT:
            raise QueueFullError(f"prompts of {BYTES_LIMIT >> 20} MiB wait already; wait until some are done")
        position = len(list(self))
        self._count += 1
        self._size += prompt.size
        self.waiting.append(prompt)
        self.on_put(prompt, position)
        return prompt, position

    def begin(self) -> QueuedPrompt | None:
        """Takes the prompt that has waited longest; it runs until `end`. Returns None if none waits."""
        assert self.running is None
        if not self.waiting:
            return None
        self.running = self.waiting.popleft()
        self._size -= self.running.size
        return self.running

    def end(self) -> None:
        """Ends the running prompt."""
        assert self.running is not None
        self.running = None

    # --- aborts -------------------------------------------------------------------------------------------

    def abort(self, prompt_id: str | None, reason: str) -> None:
        """Requests the abort of the prompt with this id. With None: of the running prompt, else of the first waiting
        one; if an extension has sent that, also of the client's first one. Does nothing if there is no such
        prompt."""
        meant = self._first if prompt_id is None else [prompt for prompt in self if prompt.id == prompt_id]
        for prompt in meant:
            prompt.abort.request(Status.INTERRUPTED, reason)

    def abort_all(self, reason: str) -> None:
        """Requests the abort of all prompts."""
        for prompt in self:
            prompt.abort.request(Status.INTERRUPTED, reason)

    def abort_others(self, reason: str) -> None:
        """Requests the abort of all prompts but the running one and the client's first one."""
        kept = [self.running, self._clients_first]
        for prompt in self:
            if prompt not in kept:
                prompt.abort.request(Status.INTERRUPTED, reason)

    @property
    def _first(self) -> list[QueuedPrompt]:
        """The first prompt of all and the client's first one, which may be the same."""
        own = self._clients_first
        return [*{id(prompt): prompt for prompt in (next(iter(self), own), own) if prompt is not None}.values()]

    @property
    def _clients_first(self) -> QueuedPrompt | None:
        return next((prompt for prompt in self if prompt.sent is None), None)
