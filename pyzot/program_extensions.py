"""Extensions that live in the program which embeds the agent: zotext's serve them, and their frames go with the other
lines of the connection. Imported only by a runtime that has such extensions."""

from __future__ import annotations

import os
import sys
import threading
from contextvars import ContextVar

from .connection.pending_answer import PendingAnswer
from .errors import RefusedError, ZotError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any, Literal, Protocol, TypeAlias

    from zotext import Extension

    from .connection.engine_process import EngineProcess

    Given: TypeAlias = "str | Path | Extension | ProgramExtension"
    """A folder, or an extension of this program."""

    class Connection(Protocol):
        """What a `Client` is here."""

        on_frame: dict[str, Callable[[dict[str, Any]], None]]
        process: EngineProcess

        def send(self, kind: str, **members: Any) -> PendingAnswer: ...
        def frame(self, extension: str, **members: Any) -> None: ...


CLOSE_S = 1.2
"""Seconds that handlers have to end once they are cancelled; those of `on_shutdown` have half a second more."""
NAME_LIMIT = 128
"""Characters of a tool's name."""
FUNCTIONS = "functions"
"""Name of the extension whose tools are the functions of a runtime."""
_serving: ContextVar[object] = ContextVar("zot client of this handler", default=None)
"""In a handler, a thread or a coroutine: the client of its runtime."""


class ProgramExtension:
    """A zotext extension with the settings that the manifest of an extension in a process would have:

        Runtime(extensions=[ProgramExtension(guard, on_failure="deny", timeouts={"intercept": 30})])

    - `on_failure`: what happens to a guarded event without a verdict: "allow" (the default) or "deny";
    - `timeouts`: seconds that are waited for it, by `tool_call` (60), `intercept` (5), `command` (30) and `ready` (3);
    - `priority`: guards are asked by priority, the highest first (0);
    - `independent`: its verdicts do not depend on those of other guards, and may be asked for at the same time;
    - `watchdog_s`: seconds between two pings; one that is not answered ends the extension. Default: it is not asked;
    - `stall_after`: so many requests in a row without an answer in time end it. Default: they never do;
    - `description`: one line about it.

    A setting that the engine does not take is a `RefusedError` when the runtime starts.
    """

    def __init__(
        self,
        extension: Extension,
        *,
        on_failure: Literal["allow", "deny"] | None = None,
        timeouts: Mapping[str, float] | None = None,
        priority: int | None = None,
        independent: bool | None = None,
        watchdog_s: float | None = None,
        stall_after: int | None = None,
        description: str | None = None,
    ) -> None:
        if not callable(getattr(extension, "attach", None)):
            raise TypeError(f"not an Extension of zotext, or of an older version of it: {extension!r}")
        self.extension = extension
        given = {
            "on_failure": on_failure,
            "timeouts": None if timeouts is None else dict(timeouts),
            "priority": priority,
            "independent": independent,
            "watchdog_s": watchdog_s,
            "stall_after": stall_after,
            "description": description,
        }
        self.manifest = {name: value for name, value in given.items() if value is not None}


class ProgramExtensions:
    """The extensions of one runtime that live in this program. `options` are those of the runtime, with the folders
    among its extensions as `ext`.

    Raises `TypeError` for what is no extension, for a function that cannot be a tool, and for two of one name.
    """

    def __init__(
        self,
        extensions: Given | Iterable[Given],
        functions: Iterable[Callable[..., object]],
        options: Mapping[str, Any],
    ) -> None:
        folders: list[str] = []
        found: list[ProgramExtension] = []
        for each in _listed(extensions):
            if isinstance(each, (str, os.PathLike)):
                folders.append(os.fspath(each))
            else:
                found.append(each if isinstance(each, ProgramExtension) else ProgramExtension(each))
        tools = _functions(functions)
        self._names = {tool.__name__ for tool in tools}
        """Of the functions."""
        if tools:
            found.append(ProgramExtension(_extension_of(tools)))
        names = [each.extension.name for each in found]
        if twice := {name for name in names if names.count(name) > 1}:
            raise TypeError(f"two extensions of this program are named {twice.pop()!r}")
        ext = [*_listed(options.get("ext") or ()), *folders]
        self.options = {**options, "ext": ext} if ext else dict(options)
        self._given = found
        self._served: list[_Served] = []
        self._client: Connection | None = None
        """From `begin` on."""

    def begin(self, client: Connection, loop: asyncio.AbstractEventLoop | None = None) -> PendingAnswer:
        """Says hello, the registrations and ready of all. Returns what `check` needs, which comes when the engine has
        taken or refused them. Coroutines run on `loop`, which runs in a thread of this program; by default on a
        loop that zotext has. A second call begins nothing. Raises `RuntimeError` for an extension that serves another
        runtime."""
        self._client = client
        given, self._given = self._given, []
        for each in given:
            served = _Served(client, each, loop)
            self._served.append(served)
            served.begin()
        return client.send("list_tools")

    def check(self, offered: Mapping[str, Any]) -> None:
        """Raises `RefusedError` if the engine has refused an extension, or has a tool of its own that hides one of the
        functions. `offered` is the answer to what `begin` has asked."""
        for served in self._served:
            if served.refusal is not None:
                raise served.refusal
        hidden = [tool["name"] for tool in offered["tools"] if tool["name"] in self._names and not tool["extension"]]
        if hidden:
            raise RefusedError(
                f"functions: there is a built-in tool {hidden[0]!r}; give the function another name, or leave that "
                "tool out, by tools=[...] or no_tools=True"
            )

    @property
    def is_handler(self) -> bool:
        """Whether the caller runs in a handler of this runtime."""
        return self._client is not None and _serving.get() is self._client

    def begin_close(self) -> list[PendingAnswer]:
        """Cancels the handlers that run, gives all of them together up to 2 s, and ends the extensions. Returns what is
        to be waited for: the end of each, and in a handler nothing."""
        closing = [served.begin_close() for served in self._served]
        return [] if self.is_handler else closing


class _Served:
    """One extension, from its hello to its end."""

    def __init__(self, client: Connection, given: ProgramExtension, loop: asyncio.AbstractEventLoop | None) -> None:
        self.refusal: ZotError | None = None
        self._client = client
        self._name = given.extension.name
        self._manifest = given.manifest
        self._lock = threading.RLock()
        self._is_closing = False
        self._closed = PendingAnswer(f"the end of {self._name}")
        self._attachment = given.extension.attach(self._send, loop=loop, on_thread=self._begin_thread)

    def _begin_thread(self) -> None:
        _serving.set(self._client)

    def begin(self) -> None:
        self._client.on_frame[self._name] = self._take
        self._attachment.begin()

    def _send(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "hello":
            answer = self._client.send("ext", extension=self._name, frame=frame, manifest=self._manifest or None)
            answer.on_come(lambda: self._on_answer(answer))
        elif self._client.process.is_foreign:
            _print(f"a fork of this program cannot speak to the engine: dropped a {frame['type']} of {self._name}")
        else:
            self._client.frame(self._name, frame=frame)

    def _on_answer(self, answer: PendingAnswer) -> None:
        """A hello that is taken has no answer: either it is refused, or the engine has ended."""
        try:
            answer.read()
        except RefusedError as refusal:
            self.refusal = refusal
        except ZotError:
            pass
        self.begin_close()

    # --- in the reading thread --------------------------------------------------------------------------------

    def _take(self, members: dict[str, Any]) -> None:
        frame = members.get("frame")
        if "closed" in members:
            if not self._is_closing:
                _print(f"the engine has ended the extension {self._name} of this program: {members['closed']}")
            self.begin_close()
        elif isinstance(frame, dict) and frame.get("type") == "shutdown":
            self.begin_close()
        elif isinstance(frame, dict) and isinstance(frame.get("type"), str):
            self._attachment.handle(frame)

    # --- the end ----------------------------------------------------------------------------------------------

    def begin_close(self) -> PendingAnswer:
        """Ends it in a thread. Returns what comes when it has ended, at once if this program ends and has no more
        threads."""
        with self._lock:
            if not self._is_closing:
                self._is_closing = True  # from here on the engine may answer that it is closed
                try:
                    threading.Thread(target=self._close, name=f"zot end of {self._name}", daemon=True).start()
                except RuntimeError:
                    self._closed.give()
            return self._closed

    def _close(self) -> None:
        try:
            if not self._attachment.close(CLOSE_S):
                _print(f"a handler of {self._name} still runs {CLOSE_S} s after it was cancelled; nobody waits for it")
            self._client.frame(self._name, closed=True)
            self._client.on_frame.pop(self._name, None)
        finally:
            self._closed.give()


def _listed(extensions: Any) -> list[Any]:
    """Those that are given, of which one may be given alone."""
    if isinstance(extensions, (str, os.PathLike, ProgramExtension)) or hasattr(extensions, "attach"):
        return [extensions]
    try:
        return list(extensions)
    except TypeError:
        raise TypeError(f"extensions are folders and Extensions of zotext, not {extensions!r}") from None


def _functions(functions: Any) -> list[Callable[..., object]]:
    """The functions. Raises `TypeError` for what has no name of its own by which the model could call it."""
    if callable(functions) or isinstance(functions, str):
        raise TypeError(f"functions is a list of functions, not {functions!r}")
    found = list(functions)
    names = set()
    for function in found:
        name = getattr(function, "__name__", "")
        if not callable(function):
            raise TypeError(f"functions: {function!r} is no function")
        if name in ("", "<lambda>"):
            raise TypeError(f"functions: {function!r} has no name that the model could call it by: write it with def")
        if not name.isascii() or len(name) > NAME_LIMIT:
            raise TypeError(f"functions: {name!r}: models take ASCII letters, digits and _, at most {NAME_LIMIT}")
        if name in names:
            raise TypeError(f"functions: two are named {name!r}")
        names.add(name)
    return found


def _extension_of(functions: Sequence[Callable[..., object]]) -> Extension:
    from zotext import Extension

    found = Extension(FUNCTIONS)
    for function in functions:
        found.tool(function)
    return found


def _print(text: str) -> None:
    try:
        sys.stderr.write(f"zot: {text}\n")
    except (AttributeError, OSError, ValueError):  # no stderr, or a closed one
        pass
