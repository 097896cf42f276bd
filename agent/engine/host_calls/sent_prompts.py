"""The prompts that extensions send: which are taken, and in which order they wait. Does no I/O."""

from __future__ import annotations

from collections import deque

import msgspec

MOST = 10
"""Prompts that are taken from all extensions together in a headless run; in rpc since the client's last prompt."""
FILES_MOST = 20
"""Files that go with one prompt."""
CHARACTERS_MOST = 4 * 1024 * 1024
"""Of one prompt, with the names of its files."""


class SentPrompt(msgspec.Struct, frozen=True):
    text: str
    files: tuple[str, ...]
    """As the extension names them."""
    extension: str
    """The name of its sender."""


class SendRefusedError(Exception):
    """The prompt is not taken; the text says why."""


def check_sent_prompt(prompt: SentPrompt) -> None:
    """Raises `SendRefusedError` for a prompt that says nothing, and for one that is too large."""
    if not prompt.text.strip() and not prompt.files:
        raise SendRefusedError("the prompt is empty")
    if len(prompt.files) > FILES_MOST:
        raise SendRefusedError(f"{len(prompt.files)} files go with the prompt; at most {FILES_MOST} may")
    if len(prompt.text) + sum(map(len, prompt.files)) > CHARACTERS_MOST:
        raise SendRefusedError(f"the prompt has more than {CHARACTERS_MOST >> 20} Mi characters")


class SendAllowance:
    """How many prompts may still be sent."""

    def __init__(self) -> None:
        self.taken = 0

    def take(self) -> None:
        """One prompt more. Raises `SendRefusedError`."""
        if self.taken >= MOST:
            raise SendRefusedError(f"extensions have sent {MOST} prompts already, and no more are accepted")
        self.taken += 1

    def renew(self) -> None:
        """As many as at first may be sent again."""
        self.taken = 0


class SentPrompts:
    """First in, first out, for one run. Once it is closed it takes nothing."""

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
        """Takes all that wait."""
        dropped = list(self._waiting)
        self._waiting.clear()
        return dropped

    def close(self, reason: str) -> list[SentPrompt]:
        """Refuses what comes from now on. Returns what waited, and is dropped."""
        self._closed = reason
        return self.drop()
