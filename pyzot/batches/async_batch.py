"""`AsyncBatch`: runs many tasks and returns results as they come. A client of `zot batch --json` in a child process.

asyncio: for programs with asyncio. `python -m wire.rpc.blocking_half` writes `Batch` from it, for all others.
"""

from __future__ import annotations

import warnings

from ..connection.async_waits import next_item, wait_answer, wait_gone
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
    """Runs tasks, each in its own process, and returns their results as they come. Options are the flags of `zot
    batch`, by their names.

        async with AsyncBatch(["Is 91 prime?", "Is 97 prime?"], "runs/primes", jobs=4) as batch:
            async for result in batch:
                print(result.id, result.status, result.text)
        print(batch.summary.cost_usd)

    A task is a prompt, or a mapping with the fields of a task (`zot schema batch.task`). `folder` keeps the results:
    the same tasks with the same folder continue an earlier batch, and finished tasks do not run again.

    All methods may be called from any thread. In a forked process the copy is closed.

    asyncio: it belongs to no loop: each call waits in its caller's loop. Cancelling a task that waits for a result
    changes nothing: the batch goes on, and the next call gets the result.
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
        """Takes all tasks and starts the batch.

        - `on_event`: gets the id of a task, the number of the attempt, and an event of its run, for each event of each
          run, in a thread of the batch. The runs may have to wait for it;
        - `on_stderr`: gets the lines for a person, in the same thread, one for each task among them. Default: only
          lines about the batch itself are written, to `sys.stderr`;
        - `env`: added to the environment of the batch;
        - `program`: the command line to run instead of this Python's zot, without `batch` and the flags.

        Raises `TypeError` for a wrong option or task, `ValueError` for more than 256 MiB of tasks and for `api_key`
        with the engine `ray`, and `OSError` if the program cannot be started. Faults that `zot batch` finds are raised
        with the first result."""
        self._is_closed = True
        self._client = BatchClient(
            tasks, folder, options, on_event=on_event, on_stderr=on_stderr, env=env, program=program
        )
        self._is_closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TaskResult:
        """Returns the final result of the next task: first of the tasks that an earlier batch finished, in their order,
        then of the others as they end. Each result is returned once, to the first iteration that asks; at the end none
        of the batch's processes is left. A failed task has a result, too. Tasks that did not end (`summary` says why)
        have no result.

        Raises `BatchError` if the batch has not begun (`exit_status` 2: a task or an option is wrong) or could not go
        on, `ProtocolError` if the program is not `zot batch`, `ClosedError` after `close`, and `BusyError` in
        `on_event`."""
        self._client.check_reader()
        await wait_answer(self._client.begun, None)
        for inbox in self._client.inboxes():
            result: TaskResult | None = await next_item(inbox)
            if result is not None:
                return result
        self._client.end()
        raise StopAsyncIteration

    @property
    def summary(self) -> BatchSummary | None:
        """The end of the batch: the reason, and the statuses, tokens and dollars of all tasks, earlier batches
        included. None until it has ended."""
        return self._client.summary

    async def wait(self) -> BatchSummary:
        """Waits for the end. Results that come meanwhile are not kept in memory; a later iteration reads them from the
        folder. Raises the same errors as an iteration."""
        self._client.begin_wait()
        await wait_answer(self._client.process.ended, None)
        return self._client.ended_summary()

    def drain(self) -> None:
        """Starts no more tasks; running ones end by themselves, and then the iteration ends. Does not wait, and may be
        called from anywhere."""
        self._client.drain()

    def stop(self) -> None:
        """Aborts the runs; a continued batch runs their tasks again. Does not wait; may be called from anywhere."""
        self._client.stop()

    # --- the end --------------------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """The pid of the batch's process."""
        return self._client.process.pid

    async def close(self) -> None:
        """Stops the batch if it still runs, and waits until no process of it is left. A second call waits for the same
        end.

        asyncio: if the task is cancelled meanwhile, they end all the same."""
        if self._client.process.is_foreign:
            return
        self._is_closed = True
        self._client.begin_close()
        for process in self._client.processes():
            await wait_gone(process)

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
