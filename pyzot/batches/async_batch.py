"""`AsyncBatch`: as `Batch`, for programs with asyncio."""

from __future__ import annotations

import warnings

from ..async_runtime import called_back, come
from ..connection.engine_process import STUCK_S
from ..errors import ProtocolError
from .client import BatchClient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Self, Unpack

    from ..events import AnyEvent
    from ..flags import Place
    from .command_line import BatchOptions
    from .results import BatchSummary, TaskResult


class AsyncBatch:
    """As `Batch`, with `async with`, `async for` and `await`:

        async with AsyncBatch(["Is 91 prime?", "Is 97 prime?"], "runs/primes", jobs=4) as batch:
            async for result in batch:
                print(result.id, result.status, result.text)

    It belongs to no loop: each call waits in the loop that it is made in. A task that is cancelled while it waits for
    a result changes nothing: the batch goes on, and the result is the next one's.
    """

    def __init__(
        self,
        tasks: Iterable[str | Mapping[str, Any]],
        folder: Place,
        *,
        on_event: Callable[[str, int, AnyEvent], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] | None = None,
        **options: Unpack[BatchOptions],
    ) -> None:
        """Takes all tasks and starts the batch. The arguments and what is raised are those of `Batch`; the callbacks
        are called in a thread of the batch."""
        self._is_closed = True
        self._client = BatchClient(
            tasks, folder, options, on_event=on_event, on_stderr=on_stderr, env=env, program=program
        )
        self._is_closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TaskResult:
        """As `next` of a `Batch`."""
        client = self._client
        client.check_owner()
        await called_back(client.on_begun)
        for inbox in client.inboxes():
            while True:
                await called_back(inbox.on_ready)
                result: TaskResult | None = inbox.take(wait=False)
                if result is not None:
                    return result
                if inbox.is_drained:  # else another task has taken it
                    break
        client.end()
        raise StopAsyncIteration

    @property
    def summary(self) -> BatchSummary | None:
        """As of a `Batch`."""
        return self._client.summary

    async def wait(self) -> BatchSummary:
        """As of a `Batch`."""
        self._client.begin_wait()
        await come(self._client.process.ended, None)
        return self._client.ended_summary()

    def drain(self) -> None:
        """Starts no more tasks; those that run end by themselves. May be called from anywhere."""
        self._client.drain()

    def stop(self) -> None:
        """Aborts the runs; their tasks are run again when the batch goes on. May be called from anywhere."""
        self._client.stop()

    @property
    def pid(self) -> int:
        """Of the batch's process."""
        return self._client.process.pid

    async def close(self) -> None:
        """Stops the batch if it still runs, and waits until no process of it is left; if the task is cancelled
        meanwhile, they end all the same."""
        if self._client.process.is_foreign:
            return
        self._is_closed = True
        self._client.begin_close()
        for process in self._client.processes():
            try:
                await come(process.ended, STUCK_S)
            except ProtocolError:  # a callback of the program holds the thread up
                pass
            process.close(0.1)  # the thread ends at this moment

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {getattr(self, '_client', 'not started')}>"

    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True) and not self._client.process.is_foreign and not self._client.is_over:
            self._client.begin_close()
            warnings.warn("an AsyncBatch was not closed", ResourceWarning, stacklevel=2)
