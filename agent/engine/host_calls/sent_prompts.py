"""Accepts or refuses the prompts that extensions send, and queues them. Does no I/O."""

from __future__ import annotations

from collections import deque

import msgspec

MOST = 10
"""Maximum of prompts from all extensions together: in a headless run; in rpc after each prompt of the client."""
FILES_MOST = 20
"""Maximum of files of one prompt."""
CHARACTERS_MOST = 4 * 1024 * 1024
"""Maximum of one prompt, with the names of its files."""


class SentPrompt(msgspec.Struct, frozen=True):
    text: str
    files: tuple[str, ...]
    """As the extension names them."""
    extension: str
    """The name of its sender."""


class SendRefusedError(Exception):
    """The prompt is not taken; the text says why."""


def check_sent_prompt(prompt: SentPrompt) -> None:
    """Raises `SendRefusedError` for an empty prompt and for one that is too large."""
    if not prompt.text.strip() and not prompt.files:
        raise SendRefusedError("the prompt is empty")
    if len(prompt.files) > FILES_MOST:
        raise SendRefusedError(f"{len(prompt.files)} files go with the prompt; at most {FILES_MOST} may")
    if len(prompt.text) + sum(map(len, prompt.files)) > CHARACTERS_MOST:
        raise SendRefusedError(f"the prompt has more than {CHARACTERS_MOST >> 20} Mi characters")


class SendAllowance:
    """Counts the prompts that may still be sent."""

    def __init__(self) -> None:
        self.taken = 0

    def take(self) -> None:
        """Counts one prompt. Raises `SendRefusedError` if none is left."""
        if self.taken >= MOST:
            raise SendRefusedError(f"extensions have sent {MOST} prompts already, and no more are accepted")
        self.taken += 1

    def renew(self) -> None:
        """Allows the full number again."""
        self.taken = 0


class SentPrompts:
    """First in, first out, for one run. A closed queue takes nothing."""

    def __init__(self) -> None:
        self._waiting: deque[SentPrompt] = deque()
        self._allowance = SendAllowance()
        self._closed = ""

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def add(self, prompt: SentPrompt) -> None:
        """Raises `SendRefusedError`."""
        if self._closed:
            raise SendRefusedError(self._closed)
        self._allowance.take()
        self._waiting.append(prompt)

    def next(self) -> SentPrompt | None:
        """Takes the prompt that has waited longest; None if none waits."""
        return self._waiting.popleft() if self._waiting else None

    def drop(self) -> list[SentPrompt]:
        """Removes and returns all waiting prompts."""
        dropped = list(self._waiting)
        self._waiting.clear()
        return dropped

    def close(self, reason: str) -> list[SentPrompt]:
        """Refuses further prompts. Returns the waiting ones, which are dropped."""
        self._closed = reason
        return self.drop()
