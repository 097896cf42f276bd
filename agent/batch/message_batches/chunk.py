"""Decides which requests go together in one message batch, and their ids. Pure."""

from __future__ import annotations

import re

REQUESTS = 10_000
"""Maximum of a message batch. The provider takes ten times as many, but their results would come later, and their plan
would hold the loop for a second."""
BYTES = 256_000_000
"""Maximum of the request that creates a message batch, by the provider's rule."""
NAMES_BYTES = 8_000_000
"""Maximum of the ids of its tasks: one line of the journal has them all."""
HEAD, BETWEEN, TAIL = b'{"requests":[', b",", b"]}"
"""The bytes around the requests of a message batch."""
CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The provider's rule for the id of a request."""
_PREFIX = "zot-{}-"


class Chunk:
    """The requests of the next message batch, as far as they are counted."""

    def __init__(self) -> None:
        self.count = 0
        self._bytes = len(HEAD) + len(TAIL)
        self._names_bytes = 0

    def has_room(self, task: str, size: int) -> bool:
        """Whether a request of `size` bytes may join. The first one may always: if it is too large, the provider says
        so."""
        if not self.count:
            return True
        return (
            self.count < REQUESTS
            and self._bytes + len(BETWEEN) + size <= BYTES
            and self._names_bytes + _name_bytes(task) <= NAMES_BYTES
        )

    def add(self, task: str, size: int) -> None:
        self._bytes += size + (len(BETWEEN) if self.count else 0)
        self._names_bytes += _name_bytes(task)
        self.count += 1


def _name_bytes(task: str) -> int:
    """Bytes of an id in JSON, at most."""
    return 6 * len(task) if not task.isascii() else len(task) + 16


def custom_id(nonce: str, number: int) -> str:
    return f"{_PREFIX.format(nonce)}{number}"


def number_in(custom_id: str, nonce: str) -> int | None:
    """The number of the request with this id; None if it is of no request of this message batch."""
    prefix = _PREFIX.format(nonce)
    digits = custom_id.removeprefix(prefix)
    if not CUSTOM_ID.fullmatch(custom_id) or not custom_id.startswith(prefix) or not digits.isdecimal():
        return None
    return int(digits) if str(int(digits)) == digits else None
