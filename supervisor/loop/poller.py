"""Asks the kernel which descriptors are ready. On Linux without the objects that `selectors` makes for each answer: a
frame that passes through a host takes two of them."""

from __future__ import annotations

import math
import select
import selectors
from typing import Protocol

READ, WRITE = 1, 4
"""The bits of `EPOLLIN` and `EPOLLOUT`."""
AT_ONCE = 256
"""Maximum number of ready descriptors of one answer. Others come with the next one."""
LONGEST_S = 86_400.0
"""Maximum of one wait in seconds: the kernel takes no more than 24 days. A loop waits again."""


class Poller(Protocol):
    """Masks are of `READ` and `WRITE`. Errors and hang-ups come as further bits, or as both of these."""

    def register(self, fd: int, mask: int) -> None: ...
    def modify(self, fd: int, mask: int) -> None: ...
    def unregister(self, fd: int) -> None: ...
    def poll(self, timeout: float | None) -> list[tuple[int, int]]:
        """Waits for `timeout` seconds at most, and for `LONGEST_S`; without one for ever. Returns descriptors with
        their masks."""
        ...

    def close(self) -> None: ...


class _Selector:
    """By the module `selectors`."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def register(self, fd: int, mask: int) -> None:
        self._selector.register(fd, _events(mask))

    def modify(self, fd: int, mask: int) -> None:
        self._selector.modify(fd, _events(mask))

    def unregister(self, fd: int) -> None:
        self._selector.unregister(fd)

    def poll(self, timeout: float | None) -> list[tuple[int, int]]:
        return [(key.fd, _mask(events)) for key, events in self._selector.select(_bounded(timeout))]

    def close(self) -> None:
        self._selector.close()


def _events(mask: int) -> int:
    return (selectors.EVENT_READ if mask & READ else 0) | (selectors.EVENT_WRITE if mask & WRITE else 0)


def _bounded(timeout: float | None) -> float | None:
    return None if timeout is None else min(timeout, LONGEST_S)


def _mask(events: int) -> int:
    return (READ if events & selectors.EVENT_READ else 0) | (WRITE if events & selectors.EVENT_WRITE else 0)


if hasattr(select, "epoll"):

    class _Epoll:
        def __init__(self) -> None:
            self._epoll = select.epoll()
            self.register, self.modify = self._epoll.register, self._epoll.modify
            self.close = self._epoll.close

        def unregister(self, fd: int) -> None:
            try:
                self._epoll.unregister(fd)
            except OSError:
                pass  # it was closed before

        def poll(self, timeout: float | None) -> list[tuple[int, int]]:
            # Whole milliseconds, rounded up: a wait that ends early would be made again.
            timeout = _bounded(timeout)
            return self._epoll.poll(None if timeout is None else math.ceil(timeout * 1000) / 1000, AT_ONCE)

    def make_poller() -> Poller:
        return _Epoll()

else:

    def make_poller() -> Poller:
        return _Selector()
