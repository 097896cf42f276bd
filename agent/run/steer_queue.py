"""Messages of a client for the running prompt, which wait for the next turn boundary. Does no I/O."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.transcript import Image

WAITING_LIMIT = 100
"""Maximum number of waiting messages."""
SIZE_LIMIT = 32 * 1024 * 1024
"""Maximum of all waiting messages in characters of text and base64."""


class SteerRefusedError(Exception):
    """The message is not taken; the text says why."""


class SteerTooLateError(SteerRefusedError):
    """The prompt makes no further request."""


class SteerQueue:
    """First in, first out, for one prompt. A closed queue takes nothing and has dropped its messages."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[str, tuple[Image, ...]]] = deque()
        self._size = 0
        self._is_open = True

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def add(self, text: str, images: tuple[Image, ...] = ()) -> None:
        """Takes a message. Raises `SteerRefusedError`."""
        if not self._is_open:
            raise SteerTooLateError("the prompt that runs is about to end; send the message with prompt")
        if len(self._waiting) >= WAITING_LIMIT:
            raise SteerRefusedError(f"{WAITING_LIMIT} messages wait already for the next turn")
        if self._waiting and self._size + _size(text, images) > SIZE_LIMIT:
            raise SteerRefusedError(f"messages of {SIZE_LIMIT >> 20} MiB wait already for the next turn")
        self._waiting.append((text, images))
        self._size += _size(text, images)

    def take(self) -> tuple[str, tuple[Image, ...]] | None:
        """The message that has waited longest; None if none waits."""
        if not self._waiting:
            return None
        taken = self._waiting.popleft()
        self._size -= _size(*taken)
        return taken

    def close(self) -> None:
        self._is_open = False
        self._waiting.clear()
        self._size = 0


def _size(text: str, images: tuple[Image, ...]) -> int:
    return len(text) + sum(len(image.data) for image in images)
