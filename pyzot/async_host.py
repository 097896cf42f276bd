"""`AsyncHost`: a client of a running host, such as `zot host`.

asyncio: for programs with asyncio. `python -m wire.rpc.blocking_half` writes `Host` from it, for all others.
"""

from __future__ import annotations

from .connection import host_requests
from .connection.async_waits import next_item, run_in_thread, wait_answer
from .connection.host_client import ANSWER_S, open_host, survey
from .errors import ClosedError, HostGoneError, ZotError
from .host_answers import HostInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
    from pathlib import Path
    from typing import Any, Self, TypeVar

    from .answers import CommandInfo, ToolInfo
    from .connection.host_client import HostClient, WatchStream
    from .connection.pending_answer import PendingAnswer
    from .connection.requests import Request
    from .events import AnyEvent
    from .host_answers import CommandAnswer, ExtensionStatus, ReloadOutcome, Stats, ToolAnswer, Verdict

    T = TypeVar("T")


class AsyncHost:
    """A running host and its extensions.

        async with AsyncHost() as host:
            print((await host.call("add", {"text": "tea"})).content)

    All methods may be called from any thread, also at the same time. They raise `HostRefusedError` if the host refuses,
    `HostGoneError` if it has ended, and `ClosedError` after `close`. Only `zot host` takes calls, commands, verdicts
    and events: the extensions of an agent's run serve its agent.

    asyncio: or `host = await AsyncHost()`, and `await host.close()` at the end. When a task that waits for a call is
    cancelled, the call is cancelled.
    """

    def __init__(self, pid: int | None = None, *, path: str | Path | None = None) -> None:
        """Connects to the host with this pid, or with the socket at this path; without both, to the only `zot host`, or
        without one to the only run of an agent. Raises `NoHostError`, `SeveralHostsError`, and `HostError` if it cannot
        be reached.

        asyncio: `async with` or `await` connects, and raises this."""
        self._named = pid, path
        self._connected: HostClient | None = None
        # blocking: self._connect()

    @staticmethod
    async def running() -> list[HostInfo]:
        """Returns all running hosts, the runs of agents included."""
        found = await run_in_thread(survey)
        for client, _ in found:
            await run_in_thread(client.close)
        return [info for _, info in found]

    @property
    def info(self) -> HostInfo:
        """The host's pid, kind, version and folder, and the names of its extensions at the time of the connection, in
        the order in which guards are asked."""
        return HostInfo.read(self._client.info.read())

    # --- extensions of the host -----------------------------------------------------------------------------

    async def tools(self) -> list[ToolInfo]:
        """Returns the tools of the extensions."""
        return await self._ask(host_requests.tools())

    async def commands(self) -> list[CommandInfo]:
        """Returns the slash commands of the extensions."""
        return await self._ask(host_requests.commands())

    async def call(
        self, tool: str, args: Mapping[str, Any] | None = None, *, on_progress: Callable[[str], None] | None = None
    ) -> ToolAnswer:
        """Calls a tool and waits for its answer; the tool itself sets `is_error` in it. No guard is asked.
        `on_progress` gets the tool's progress, in a thread of the host. Ctrl-C cancels the call."""
        return await self._ask(host_requests.call(tool, args), on_progress)

    async def command(self, line: str) -> CommandAnswer:
        """Runs a slash command of an extension, such as `"/todo add milk"`. `HostRefusedError` if it fails."""
        return await self._ask(host_requests.command(line))

    async def judge(
        self,
        event: str,
        *,
        tool_name: str | None = None,
        tool_args: Mapping[str, Any] | None = None,
        tool_id: str | None = None,
        text: str | None = None,
        step: int | None = None,
        is_error: bool | None = None,
        content: Sequence[Mapping[str, Any]] | None = None,
    ) -> Verdict:
        """Asks the guards about an event, and returns their common verdict: `tool_call`, `tool_result`, `turn_start`,
        `user_prompt` or `assistant_message`, with its fields."""
        given = {"tool_name": tool_name, "tool_args": tool_args, "tool_id": tool_id, "text": text, "step": step}
        return await self._ask(host_requests.judge({"event": event, **given, "is_error": is_error, "content": content}))

    async def tell(
        self,
        event: str,
        *,
        tool_name: str | None = None,
        tool_args: Mapping[str, Any] | None = None,
        tool_id: str | None = None,
        text: str | None = None,
        step: int | None = None,
        is_error: bool | None = None,
        content: Sequence[Mapping[str, Any]] | None = None,
        stop: str | None = None,
        error: str | None = None,
    ) -> None:
        """Sends an event to the extensions that observe it. There is no answer."""
        given = {"tool_name": tool_name, "tool_args": tool_args, "tool_id": tool_id, "text": text, "step": step}
        more = {"is_error": is_error, "content": content, "stop": stop, "error": error}
        self._client.tell(event=event, **given, **more)

    # --- state and figures ----------------------------------------------------------------------------------

    async def stats(self) -> Stats:
        """Returns the figures of the host and of each extension, at most a quarter of a second old."""
        return await self._ask(host_requests.stats())

    async def status(self, name: str) -> ExtensionStatus:
        """Returns the state of one extension, its use of its limits, its open requests, and its offers."""
        return await self._ask(host_requests.status(name))

    def watch(self, stats_s: float | None = None, *, notices: bool = True, shown: bool = False) -> AsyncWatch:
        """Returns an endless iterator over events from now on: `Stats` every `stats_s` seconds (at least 0.1; None:
        never), with `notices` an `ExtensionNotice` when something happens to an extension, and with `shown` the output
        of extensions: `ExtNotify`, `ClearNotes`, `PanelOpen`, `PanelRender`, `PanelClose`."""
        return AsyncWatch(self._client, *self._client.watch(stats_s, notices, shown))

    # --- changes --------------------------------------------------------------------------------------------

    async def reload(self, name: str | None = None) -> list[ReloadOutcome]:
        """Loads a new version of an extension, or of all, which takes over without a gap. Waits for the end."""
        return await self._ask(host_requests.reload(name))

    async def restart(self, name: str) -> None:
        """Ends an extension's processes and starts it again, even if it was given up. Does not wait for the start."""
        await self._ask(host_requests.restart(name))

    async def stop(self) -> None:
        """Stops the host, and waits until all of it has stopped."""
        await self._ask(host_requests.stop())
        try:
            await wait_answer(self._client.ended, None)
        except HostGoneError:
            return

    # --- the end --------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Closes the connection and cancels open requests; the host runs on."""
        if self._connected is not None:
            self._connected.begin_close()
            await run_in_thread(self._connected.close)

    async def _connect(self) -> Self:
        if self._connected is None:
            self._connected = await run_in_thread(open_host, *self._named)
        return self

    def __await__(self) -> Generator[Any, None, Self]:  # not blocking
        return self._connect().__await__()

    async def __aenter__(self) -> Self:
        return await self._connect()  # not blocking
        # blocking: return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        client = getattr(self, "_connected", None)
        return f"<{type(self).__name__} {client or 'not connected'}>"

    def __del__(self) -> None:
        if (client := getattr(self, "_connected", None)) is not None:
            client.begin_close()

    @property
    def _client(self) -> HostClient:
        if self._connected is None:
            raise ClosedError("not connected yet: use `async with AsyncHost()` or `await AsyncHost()`")
        return self._connected

    async def _ask(self, request: Request[T], on_progress: Callable[[str], None] | None = None) -> T:
        kind, members, timeout_s, read = request
        pending = self._client.send(kind, on_progress=on_progress, **members)
        try:
            data = await wait_answer(pending, timeout_s)
        except BaseException:
            self._client.cancel(pending)
            raise
        return read(data)


class AsyncWatch:
    """The events of a host, an async iterator."""

    def __init__(self, client: HostClient, stream: WatchStream, answer: PendingAnswer) -> None:
        self._client = client
        self._stream = stream
        self._answer: PendingAnswer | None = answer
        # blocking: self._wait_taken()

    @property
    def missed(self) -> int:
        """The number of items that were dropped because they were not taken: 10,000 may wait."""
        return self._stream.missed

    def __aiter__(self) -> AsyncIterator[Stats | AnyEvent]:
        return self

    async def __anext__(self) -> Stats | AnyEvent:
        self._client.check_reader()
        await self._wait_taken()
        item: Stats | AnyEvent | None = await next_item(self._stream)
        if item is None:
            raise StopAsyncIteration
        return item

    async def _wait_taken(self) -> None:
        """Waits until the host has accepted the watch. Raises `HostRefusedError` if it refuses."""
        if self._answer is not None:
            try:
                await wait_answer(self._answer, ANSWER_S)
            except ZotError:
                self._client.unwatch(self._stream)
                raise
            self._answer = None

    async def close(self) -> None:
        """Ends the watch."""
        self._client.unwatch(self._stream)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self) -> None:
        if (stream := getattr(self, "_stream", None)) is not None and not stream.is_over:
            self._client.unwatch(stream)
