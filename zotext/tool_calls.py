"""Calls of tools that the host carries out for this extension."""

from __future__ import annotations

from contextvars import ContextVar
from itertools import count

from .content import read_result
from .context import CallContext, ToolContext
from .errors import Cancelled
from .sessions import stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future
    from typing import Any

    from .content import Result
    from .host import HostInfo

GUARD = object()
"""Stands for a guard in `current`."""
current: ContextVar[object] = ContextVar("zotext_current", default=None)
"""The `CallContext` of the handler that runs here, or `GUARD`. The handler's coroutine has it, too."""


class ToolCalls:
    """The calls that the host has not answered yet. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._open: dict[str, Future[Result]] = {}
        self._numbers = count(1)
        self._ended = ""
        """Why the host answers no more; empty while it does."""

    def begin(
        self, send: Callable[[dict[str, Any]], None], host: HostInfo, name: str, args: Mapping[str, Any] | None
    ) -> Future[Result]:
        """Sends a `call_tool`. If the returned future is cancelled, the host learns of it. Raises `TypeError` for
        arguments that JSON cannot hold, and `RuntimeError` where no tool can be called."""
        from concurrent.futures import Future

        context = current.get()
        _check(name, args, context is GUARD, host)
        if not isinstance(context, CallContext) or context.answered:
            context = None
        call_id = str(next(self._numbers))
        frame = stamp({"type": "call_tool", "id": call_id, "name": name, "args": args or {}})
        if context is not None:
            context.raise_if_cancelled()
        if isinstance(context, ToolContext):
            frame["parent_id"] = context.id
        answer: Future[Result] = Future()
        self._open[call_id] = answer
        if self._ended:  # read after the call was added: one of the two threads sees the other's change
            self.end(self._ended)
            return answer
        try:
            send(frame)
        except (TypeError, ValueError) as error:
            self._open.pop(call_id, None)
            raise TypeError(f"call_tool({name!r}): {error}") from None

        def done(answer: Future[Result]) -> None:
            if answer.cancelled() and self._open.pop(call_id, None) is not None:
                send({"type": "call_tool_cancel", "id": call_id})

        answer.add_done_callback(done)
        if context is not None:
            context.on_cancel(lambda: self._cancel(call_id))
        return answer

    def take(self, frame: dict[str, Any]) -> None:
        """Takes an answer of the host. Ignores one that nobody waits for."""
        answer = self._open.pop(str(frame.get("id")), None)
        if answer is not None and answer.set_running_or_notify_cancel():
            answer.set_result(read_result(frame))

    def end(self, why: str) -> None:
        """Ends the open calls, and all later ones: the host answers no more."""
        self._ended = why
        for call_id in list(self._open):
            answer = self._open.pop(call_id, None)
            if answer is not None and answer.set_running_or_notify_cancel():
                answer.set_exception(Cancelled(why))

    def _cancel(self, call_id: str) -> None:
        if (answer := self._open.get(call_id)) is not None:
            answer.cancel()


def _check(name: object, args: object, in_guard: bool, host: HostInfo) -> None:
    """Raises `TypeError` for arguments of a wrong type, and `RuntimeError` where no tool can be called."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"call_tool() takes the name of a tool, not {name!r}")
    if args is not None and not isinstance(args, dict):
        raise TypeError(f"call_tool({name!r}): the arguments are a dict, not {type(args).__name__}")
    if in_guard:
        raise RuntimeError(f"call_tool({name!r}): a guard cannot call tools, as such a call waits for guards")
    if "call_tool" not in host.capabilities:
        raise RuntimeError(f"call_tool({name!r}): this host calls no tools for extensions")
