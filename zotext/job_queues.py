"""Queues of jobs, each with its own threads: a slow job delays only its own queue."""

from __future__ import annotations

import os
import threading
import time
from collections import deque

from .errors import print_traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class JobQueue:
    """Runs up to `threads` jobs at a time. Jobs begin in order; with one thread they also end in order.

    The threads start when there is work, each with a call of `on_thread`. They are daemons: a stuck one does not keep
    the process alive.
    """

    def __init__(self, name: str, threads: int, on_thread: Callable[[], None] | None = None) -> None:
        self._name = name
        self._limit = threads
        self._on_thread = on_thread
        self._started = 0
        self._idle = 0
        self._jobs: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._open = True

    def submit(self, job: Callable[[], None]) -> bool:
        """Adds a job. Returns False if the queue is closed. Raises `RuntimeError` if it has no thread for it."""
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
        """Takes no more jobs. Earlier jobs are done; then the threads end."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def wait_idle(self, deadline: float) -> bool:
        """Waits until all jobs are done. Returns False if they are not done at `deadline` (`time.monotonic`)."""
        with self._changed:
            while self._jobs or self._idle < self._started:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
            return True

    def _work(self) -> None:
        if self._on_thread is not None:
            self._on_thread()
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
                os._exit(0)  # a handler has forked, and this is the child: it has no work
            job = None  # type: ignore[assignment]  # frees the job's objects before the next job comes
