"""Threads that work off jobs in order. A slow job holds up its own lane and no other."""

from __future__ import annotations

import os
import threading
import time
from collections import deque

from .errors import print_traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Lane:
    """Up to `threads` jobs at a time, begun in order; with one thread they also end in order.

    The threads start when there is work, and are daemons: one that is stuck does not keep the process alive.
    """

    def __init__(self, name: str, threads: int) -> None:
        self._name = name
        self._limit = threads
        self._started = 0
        self._idle = 0
        self._jobs: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._open = True

    def submit(self, job: Callable[[], None]) -> bool:
        """False when the lane is closed. Raises `RuntimeError` if it has no thread and the system gives it none."""
        with self._changed:
            if not self._open:
                return False
            self._jobs.append(job)
            if self._idle < len(self._jobs) and self._started < self._limit:
                try:
                    threading.Thread(target=self._work, name=f"zotext {self._name}", daemon=True).start()
                except RuntimeError:
                    if not self._started:
                        self._jobs.pop()
                        raise
                else:
                    self._started += 1
            self._changed.notify_all()
            return True

    def close(self) -> None:
        """Takes no more jobs. Those that it has are done, and the threads end then."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def wait_idle(self, deadline: float) -> bool:
        """Until all jobs are done; False if they are not at `deadline` (`time.monotonic`)."""
        with self._changed:
            while self._jobs or self._idle < self._started:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
            return True

    def _work(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                self._changed.notify_all()
                while not self._jobs and self._open:
                    self._changed.wait()
                self._idle -= 1
                if not self._jobs:
                    self._started -= 1
                    self._changed.notify_all()
                    return
                job = self._jobs.popleft()
            process = os.getpid()
            try:
                job()
            except BaseException as error:
                print_traceback("a handler", error)
            if os.getpid() != process:
                os._exit(0)  # a handler has forked, and this is the child: nobody has anything to do for it
            job = None  # type: ignore[assignment]  # what it holds is not kept until the next one
