"""Extensions that live in the program which embeds the agent: zotext serves them, and their frames share the
connection. Imported only by a runtime with such extensions."""

from __future__ import annotations

import os
import sys
import threading
from contextvars import ContextVar

from ..connection.pending_answer import PendingAnswer
from ..errors import RefusedError, ZotError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any, Literal, Protocol, TypeAlias

    from zotext import Extension

    from ..connection.engine_process import EngineProcess

    Given: TypeAlias = "str | Path | Extension | ProgramExtension"
    """A folder, or an extension of this program."""

    class Connection(Protocol):
        """The part of `Client` that this module uses."""

        on_frame: dict[str, Callable[[dict[str, Any]], None]]
        process: EngineProcess

        def send(self, kind: str, **members: Any) -> PendingAnswer: ...
        def frame(self, extension: str, **members: Any) -> None: ...


CLOSE_S = 1.2
"""Seconds that cancelled handlers have to end; those of `on_shutdown` have half a second more."""
NAME_LIMIT = 128
"""Maximum length of a tool's name in characters."""
FUNCTIONS = "functions"
"""Name of the extension whose tools are the functions of a runtime."""
_serving: ContextVar[object] = ContextVar("zot client of this handler", default=None)
"""In the thread or coroutine of a handler: the client of its runtime."""


class ProgramExtension:
    """A zotext extension with the settings that the manifest of an extension in a process would have:

        Runtime(extensions=[ProgramExtension(guard, on_failure="deny", timeouts={"intercept": 30})])

    - `on_failure`: the decision on a guarded event without a verdict: "allow" (the default) or "deny";
    - `timeouts`: seconds to wait for it, by `tool_call` (60), `intercept` (5), `command` (30) and `ready` (3);
    - `priority`: guards are asked by priority, the highest first (0);
    - `independent`: its verdicts do not depend on those of other guards, which may be asked at the same time;
    - `watchdog_s`: seconds between two pings; an unanswered ping ends the extension. Default: no pings;
    - `stall_after`: number of requests in a row without an answer in time that end it. Default: no number does;
    - `description`: one line about it.

    A setting that the engine refuses raises `RefusedError` at the start of the runtime.
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
    """The extensions of one runtime that run in this program. `options` are the runtime's options; their `ext` also
    holds the folders that are given in `extensions`.

    Raises `TypeError` for an object that is not an extension, for a function that cannot be a tool, and for two
    extensions or functions of one name.
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
        """Names of the functions."""
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
        """The client, from `begin` on."""

    def begin(self, client: Connection, loop: asyncio.AbstractEventLoop | None = None) -> PendingAnswer:
        """Sends the hello, the registrations and `ready` of all. Returns the answer for `check`, which comes when the
        engine has accepted or refused them. Coroutines run on `loop`, which runs in a thread of this program; by
        default on zotext's loop. A second call does nothing but ask again. Raises `RuntimeError` for an extension that
        serves another runtime."""
        self._client = client
        given, self._given = self._given, []
        for each in given:
            served = _Served(client, each, loop)
            self._served.append(served)
            served.begin()
        return client.send("list_tools")

    def check(self, offered: Mapping[str, Any]) -> None:
        """Raises `RefusedError` if the engine has refused an extension, or has its own tool that hides one of the
        functions. `offered` is the answer that `begin` returned."""
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
        """Cancels the running handlers, gives all of them together up to 2 s, and ends the extensions. Returns the ends
        to wait for; none in a handler."""
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
        """Handles the answer to a hello, which means that it was refused or that the engine has ended."""
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
        """Ends it in a thread, or at once if this program ends and has no more threads. Returns its end."""
        with self._lock:
            if not self._is_closing:
                self._is_closing = True  # from now on the engine may answer that it is closed
                try:
                    threading.Thread(target=self._close, name=f"zot end of {self._name}", daemon=True).start()
                except RuntimeError:
                    self._closed.give()
            return self._closed

    def _close(self) -> None:
        try:
            if not self._attachment.close(CLOSE_S):
                _print(f"a handler of {self._name} still runs {CLOSE_S} s after it was cancelled; it is left alone")
            self._client.frame(self._name, closed=True)
            self._client.on_frame.pop(self._name, None)
        finally:
            self._closed.give()


def _listed(extensions: Any) -> list[Any]:
    """Returns the given extensions as a list; a single one may be given alone."""
    if isinstance(extensions, (str, os.PathLike, ProgramExtension)) or hasattr(extensions, "attach"):
        return [extensions]
    try:
        return list(extensions)
    except TypeError:
        raise TypeError(f"extensions are folders and Extensions of zotext, not {extensions!r}") from None


def _functions(functions: Any) -> list[Callable[..., object]]:
    """Returns the functions. Raises `TypeError` for a function without a name by which the model could call it."""
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
