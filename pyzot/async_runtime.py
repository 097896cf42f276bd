"""`AsyncRuntime`: an agent in a child process.

asyncio: for programs with asyncio. `python -m wire.rpc.blocking_half` writes `Runtime` from it, for all others.
"""

from __future__ import annotations

import warnings

from .client import Client
from .connection import requests
from .connection.async_waits import next_item, running_loop, wait_answer, wait_gone, wait_over
from .connection.images import all_data
from .connection.pending_answer import ANSWER_S
from .connection.prompt_stream import Summary
from .errors import PromptFailed, ProtocolError, RefusedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping, Sequence
    from os import PathLike
    from typing import Any, Self, TypeVar, Unpack

    from .answers import (
        CommandInfo,
        CommandOutcome,
        ExtensionStats,
        Forked,
        ModelInfo,
        Reloaded,
        Resumed,
        SessionInfo,
        SkillInfo,
        State,
        ToolInfo,
        ToolOutcome,
    )
    from .connection.command_line import Options
    from .connection.images import Image
    from .connection.pending_answer import PendingAnswer
    from .connection.prompt_stream import PromptStream
    from .connection.requests import ExportFormat, Message, Request
    from .events import AnyEvent, Result
    from .in_program.extensions import Given
    from .in_program.permissions import Permission
    from .parts import Totals

    T = TypeVar("T")


class AsyncRuntime:
    """An agent with its extensions, for one conversation. The options are the flags of `zot`, by their names.

        async with AsyncRuntime(model="claude-sonnet-5-5") as zot:
            async for event in zot.prompt("what does this project do?"):
                match event:
                    case TextDelta(delta):
                        print(delta, end="")

    All methods may be called from any thread. One prompt runs at a time: a second one is a `BusyError`, unless the
    first one was cancelled. After the end of the engine each call raises `RuntimeDied`; after `close`, `ClosedError`.
    In a forked process the copy is closed.

    asyncio: or `zot = await AsyncRuntime(...)`, and `await zot.close()` at the end. Each call waits in its caller's
    loop. When a task that waits for a prompt is cancelled, the prompt is aborted, and the runtime goes on.
    """

    def __init__(
        self,
        *,
        extensions: Given | Iterable[Given] = (),
        functions: Iterable[Callable[..., object]] = (),
        permission: Permission | None = None,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] | None = None,
        on_event: Callable[[AnyEvent], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Starts the engine and waits for its greeting.

        - `extensions`: folders, as in `ext`, and extensions that live in this program: extensions of zotext, alone or
          inside a `ProgramExtension` with their settings;
        - `functions`: tools for the model, with schemas by their type hints and docstrings; together they are the
          extension `functions`. A `ToolError` in one is an error that the model reads, without a traceback;
        - `permission`: gets the `PermissionAsked` where a guard leaves the decision to a person; returns True to allow,
          False or a reason to deny. Without it such events are refused;
        - `env`: added to the environment of the engine;
        - `program`: the command line to run instead of this Python's zot, without the flags;
        - `on_event`: gets the events that belong to no prompt of this program, in a thread of the runtime;
        - `on_stderr`: gets the engine's lines for a person, in the same thread.

        Handlers, functions and `permission` run in threads, coroutines on a loop of zotext. There every method works
        but `prompt`, `run` and `compact`, which are a `BusyError`; in `on_event` and `on_stderr` only `cancel` and
        `close`. A `permission` that fails denies.

        Raises `TypeError` for a wrong option, an object that is no extension and a function that cannot be a tool,
        `RuntimeError` for an extension that serves another runtime, `RefusedError` for one that the engine refuses,
        `OSError` if the program cannot be started, `RuntimeDied` if it ends, `ProtocolError` if it is no engine.

        asyncio: `async with` or `await` waits for the greeting, and raises all but `TypeError` and `OSError`; then
        `extensions` and `functions` are available. Handlers and a `permission` that are coroutines run on that loop,
        and are cancelled with their call or question."""
        self._is_closed = True
        self._client = Client(
            options, extensions=extensions, functions=functions, permission=permission, env=env, program=program,
            on_event=on_event, on_stderr=on_stderr,
        )  # fmt: skip
        self._is_closed = False
        # blocking: self._wait_greeting()

    # --- prompts --------------------------------------------------------------------------------------------

    def prompt(self, text: str, images: Sequence[Image] = ()) -> AsyncEventStream:
        """Sends a prompt. Returns an iterator over its events; `Done` is the last. Closing it, or dropping it before
        the end, aborts the prompt. An image is its bytes, the path of a file, or `mime_type` and `data` in base64.
        Raises `BusyError`, and `RefusedError` for a prompt that the engine refuses.

        asyncio: the wait for the first event raises the latter."""
        return AsyncEventStream(self._client, *self._client.begin("prompt", message=text, images=all_data(images)))

    async def run(self, text: str, images: Sequence[Image] = (), *, check: bool = False) -> Result:
        """Sends a prompt and waits for its end. Returns its result: `text`, `status`, `usage`, `cost_usd`, `steps`, and
        in `extensions` the cost of each extension. With `check`, raises `PromptFailed` if the status is not ok."""
        events = self.prompt(text, images)
        async for _ in events:
            pass
        if events.result is None:
            raise ProtocolError("the prompt has ended without a result")
        if check and events.result.status != "ok":
            raise PromptFailed(events.result)
        return events.result

    def cancel(self) -> None:
        """Aborts the running prompt, whose events end soon, and each `call_tool` and `command`. Does nothing if nothing
        runs. May be called from anywhere, even from a signal handler or a callback of the runtime."""
        self._client.cancel()

    async def steer(self, text: str, images: Sequence[Image] = ()) -> bool:
        """Adds a message to the running prompt, before its next turn. Returns False if no prompt runs, or if it is
        about to end. Raises `RefusedError` if the message itself is refused."""
        try:
            await self._ask(requests.steer(text, images))
        except RefusedError as refusal:
            if refusal.code != "no_prompt":
                raise
            return False
        return True

    async def compact(self, instructions: str | None = None) -> str:
        """Replaces the older messages by a summary, which it returns. Raises `BusyError` while an uncancelled prompt
        runs, and `RefusedError` if there is nothing to compact, if the model fails, and if it is cancelled."""
        summary = Summary()
        async for event in AsyncEventStream(self._client, *self._client.begin("compact", instructions=instructions)):
            summary.add(event)
        return summary.text()

    # --- the conversation -----------------------------------------------------------------------------------

    async def clear(self) -> None:
        """Removes all messages. Raises `RefusedError` while a prompt runs; waits for the end of a cancelled prompt."""
        await self._ask(requests.clear())

    async def messages(self) -> list[Message]:
        """Returns all messages of the conversation as plain JSON, for storage, and for `set_messages` of another
        runtime. Waits for the end of a cancelled prompt; during a prompt, returns the messages so far."""
        return await self._ask(requests.messages())

    async def set_messages(self, messages: Sequence[Message]) -> None:
        """Replaces all messages. Raises `RefusedError` while a prompt runs, and if the model would refuse them; waits
        for the end of a cancelled prompt."""
        await self._ask(requests.set_messages(messages))

    async def set_model(self, model: str) -> None:
        """Selects the model from the next turn on, also for the running prompt."""
        await self._ask(requests.set_model(model))

    async def set_reasoning(self, level: str) -> str:
        """Lets the model think so much from the next prompt on: off, minimum, low, medium, high, xhigh or max. Returns
        the level that its requests have then: the same, or the nearest one that the model has. Raises `RefusedError`
        for another word."""
        return await self._ask(requests.set_reasoning(level))

    async def list_models(self) -> list[ModelInfo]:
        """Returns the known models of the provider."""
        return await self._ask(requests.list_models())

    async def state(self) -> State:
        """Returns the provider (`none` without a key), the model, the folder, the number of messages, whether a prompt
        runs, and the use so far."""
        return await self._ask(requests.state())

    # blocking: @property
    async def cost(self) -> Totals:
        """Tokens and dollars of all prompts together.

        asyncio: a method, as it waits."""
        return (await self.state()).usage

    # --- sessions -------------------------------------------------------------------------------------------

    # blocking: @property
    async def session(self) -> str | None:
        """The id of the session that stores the conversation; None if it is not stored. It is stored with the option
        `save_session` or an option that continues a session, and after `resume` and `fork`.

        asyncio: a method, as it waits."""
        file = (await self.state()).session
        return None if file is None else file.id

    async def sessions(self, *, all: bool = False) -> list[SessionInfo]:  # noqa: A002  (the word of zot session list)
        """Returns the sessions of the agent's folder, or of all folders, the most recently written first."""
        return await self._ask(requests.sessions(of_all=all))

    async def resume(self, session: str | PathLike[str]) -> Resumed:
        """Continues a session, given by its id, 4 characters of it or more, or the path of its file: its messages
        replace the current ones. Raises `SessionBusyError` while another run writes to it, and `RefusedError` while a
        prompt runs and for a file that is not a session; waits for the end of a cancelled prompt."""
        return await self._ask(requests.resume(session))

    async def fork(self, at: int | None = None) -> Forked:
        """Copies the conversation, or its first `at` messages, to a new session, and continues there. Errors as in
        `resume`."""
        return await self._ask(requests.fork(at))

    async def export(
        self,
        format: ExportFormat = "markdown",  # noqa: A002  (the word of the flag)
        path: str | PathLike[str] | None = None,
    ) -> str:
        """Returns the conversation as a text; with `path`, writes it to that file and returns the path. A `zotsession`
        is for `import_session`, on any machine."""
        return await self._ask(requests.export(format, path))

    async def import_session(self, path: str | PathLike[str]) -> str:
        """Imports a file as a new session of the agent's folder. Returns its id, for `resume`."""
        return await self._ask(requests.import_session(path))

    # --- extensions -----------------------------------------------------------------------------------------

    async def command(self, line: str) -> CommandOutcome:
        """Runs a slash command of an extension, such as `"/todo add milk"`. `RefusedError` if it fails."""
        return await self._ask(requests.command(line))

    async def call_tool(self, name: str, args: Mapping[str, Any]) -> ToolOutcome:
        """Calls a tool of the model, also during a prompt, unseen by the model. Guards judge it; `cancel` ends it, and
        a cancelled wait does not. `RefusedError` for an unknown tool."""
        return await self._ask(requests.call_tool(name, args))

    async def reload(self, name: str | None = None) -> Reloaded:
        """Loads one extension again from its folder, or all and new ones; prompts go on. `RefusedError` if unknown."""
        return await self._ask(requests.reload(name))

    async def panel_key(self, extension: str, panel_id: str, key: str, text: str | None = None) -> None:
        """Sends a key to an open panel: `up`, `enter`, or `rune` with its `text`. `RefusedError` if it is not open."""
        await self._ask(requests.panel_key(extension, panel_id, key, text))

    async def panel_resize(self, extension: str, panel_id: str, width: int, height: int) -> None:
        """Tells an open panel its size in characters."""
        await self._ask(requests.panel_resize(extension, panel_id, width, height))

    async def panel_close(self, extension: str, panel_id: str) -> None:
        """Closes an open panel, as its user does."""
        await self._ask(requests.panel_close(extension, panel_id))

    async def commands(self) -> list[CommandInfo]:
        """Returns the slash commands of the extensions."""
        return await self._ask(requests.commands())

    async def tools(self) -> list[ToolInfo]:
        """Returns the tools that the model is offered in the next turn."""
        return await self._ask(requests.tools())

    async def skills(self) -> list[SkillInfo]:
        """Returns the skills that the model may load."""
        return await self._ask(requests.skills())

    async def stats(self) -> dict[str, ExtensionStats]:
        """Returns the figures of each extension by its name."""
        return await self._ask(requests.stats())

    # --- the end --------------------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """The pid of the engine's process."""
        return self._client.process.pid

    async def close(self) -> None:
        """Aborts the running prompt, ends the engine and its extensions, and waits for their end. A second call waits
        for the same end.

        asyncio: if the task is cancelled meanwhile, they end all the same."""
        if self._client.process.is_foreign:
            return
        self._is_closed = True
        try:
            if self._client.own_extensions is not None:
                self._client.cancel()
                for closing in self._client.own_extensions.begin_close():
                    await wait_answer(closing, None)
        finally:
            self._client.begin_close()
        await wait_gone(self._client.process)

    async def _wait_greeting(self) -> Self:
        try:
            await wait_answer(self._client.greeting, ANSWER_S)
            if self._client.permissions is not None:
                self._client.permissions.begin(running_loop())
            if self._client.own_extensions is not None:
                begun = self._client.own_extensions.begin(self._client, running_loop())
                self._client.own_extensions.check(await wait_answer(begun, ANSWER_S))
        except BaseException:
            await self.close()
            raise
        return self

    def __await__(self) -> Generator[Any, None, Self]:  # not blocking
        return self._wait_greeting().__await__()

    async def __aenter__(self) -> Self:
        return await self._wait_greeting()  # not blocking
        # blocking: return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {getattr(self, '_client', 'not started')}>"

    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True) and not self._client.process.is_foreign:
            self._client.process.end()
            warnings.warn("an AsyncRuntime was not closed", ResourceWarning, stacklevel=2)

    async def _ask(self, request: Request[T]) -> T:
        _, _, timeout_s, read = request
        for stream in self._client.ending(request):
            await wait_over(stream)
        return read(await wait_answer(self._client.request(request), timeout_s))


class AsyncEventStream:
    """The events of a prompt, an async iterator. `result` is set at the end."""

    def __init__(self, client: Client, stream: PromptStream, answer: PendingAnswer) -> None:
        self._client = client
        self._stream = stream
        self._answer: PendingAnswer | None = answer
        # blocking: self._wait_taken()

    def __aiter__(self) -> AsyncIterator[AnyEvent]:
        return self

    async def __anext__(self) -> AnyEvent:
        self._client.check_reader("events")
        await self._wait_taken()
        try:
            event: AnyEvent | None = await next_item(self._stream)
        except BaseException:
            self._client.abort(self._stream)  # Ctrl-C, or a cancelled task: the prompt ends, the runtime goes on
            raise
        if event is None:
            raise StopAsyncIteration
        return event

    async def _wait_taken(self) -> None:
        """Waits until the engine has accepted the prompt. Raises `RefusedError` if it refuses."""
        if self._answer is not None:
            try:
                await wait_answer(self._answer, ANSWER_S)
            except BaseException:
                self._client.abort(self._stream)
                raise
            self._answer = None

    @property
    def result(self) -> Result | None:
        """The result of the prompt; None until it has ended."""
        return self._stream.result

    async def close(self) -> None:
        """Aborts the prompt if it has not ended, and waits for its end."""
        if not self._stream.is_over:
            self._client.leave(self._stream)
            if not (self._client.process.is_own_thread or self._client.process.is_foreign):
                self._stream.drop()
                await wait_over(self._stream)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self) -> None:
        stream = getattr(self, "_stream", None)
        if stream is not None and not stream.is_over:
            self._client.leave(stream)
