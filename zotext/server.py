"""Gives each frame of the host to its handlers, and sends exactly one answer to each request.

Five queues let a slow handler delay only its own kind: tools, commands, guards, events, panels. The last three have one
thread each: their handlers run one at a time and in order. A sixth one, for leases, waits for all others.
"""

from __future__ import annotations

import time

from .context import CommandContext, ToolContext
from .coroutines import finish
from .errors import BadArgument, Cancelled, ToolError, describe, print_line, print_traceback
from .events import Event, Lease, PanelClosed, PanelKey, PanelSize
from .guards import change_system_prompt, judge
from .host import HostInfo
from .job_queues import JobQueue
from .sessions import in_session
from .tool_calls import GUARD, current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .context import CallContext
    from .registry import Registry

POINT_FEATURES = {"user_prompt": "user_prompt_intercept", "tool_result": "tool_result_intercept"}
"""Points at which only hosts with this feature ask."""
ENDLESS_S = 1e6
"""Seconds to wait for the handlers of a lease that has ended: with one of them still running, the next cannot begin."""


class Server:
    """`on_greeted` is called with the host's `hello_ack`, and `on_thread` at the start of each thread for handlers.
    `send` may be called from any thread."""

    def __init__(
        self,
        registry: Registry,
        send: Callable[[dict[str, Any]], None],
        on_greeted: Callable[[HostInfo], None],
        threads: int,
        on_thread: Callable[[], None] | None = None,
    ) -> None:
        self._registry = registry
        self._send = send
        self._on_greeted = on_greeted
        self._on_thread = on_thread
        self._tools = JobQueue("tool", threads, on_thread)
        self._commands = JobQueue("command", 4, on_thread)
        self._guards = JobQueue("guard", 1, on_thread)
        self._can_ask = False
        """Whether the host knows questions for a person."""
        self._events = JobQueue("event", 1, on_thread)
        self._panels = JobQueue("panel", 1, on_thread)
        self._leases = JobQueue("lease", 1, on_thread)
        self._served = (self._events, self._guards, self._tools, self._commands, self._panels)
        self._queues = (*self._served, self._leases)
        self._calls: dict[str, CallContext] = {}

    def handle(self, frame: dict[str, Any]) -> None:
        """Takes a frame. Never waits for a handler. Ignores frames of unknown types."""
        handlers = {
            "hello_ack": self._hello_ack,
            "tool_call": self._tool_call,
            "command_invoked": self._command,
            "cancel": self._cancel,
            "tool_cancel": self._cancel,
            "tool_result": self._registry.tool_calls.take,
            "event": self._event,
            "event_intercept": self._intercept,
            "panel_key": self._panel,
            "panel_resize": self._panel,
            "panel_close": self._panel,
            "lease_begin": self._lease_begin,
            "lease_end": self._lease_end,
            "ping": self._ping,
        }
        if (handler := handlers.get(frame["type"])) is not None:
            self._registry.sessions.complete(frame)
            handler(frame)

    def wait_idle(self, deadline: float) -> bool:
        """Waits until no handler runs. Returns False if one still runs at `deadline` (`time.monotonic`)."""
        return all(queue.wait_idle(deadline) for queue in self._queues)

    def wait_told(self, deadline: float) -> bool:
        """Waits until all events, panel frames and ends of leases are handled. Returns False if they are not at
        `deadline`."""
        return all(queue.wait_idle(deadline) for queue in (self._events, self._panels, self._leases))

    def close(self) -> None:
        """Takes no more work. Running handlers go on."""
        for queue in self._queues:
            queue.close()

    def end_tool_calls(self, why: str) -> None:
        """Ends the calls of tools that the host has not answered."""
        self._registry.tool_calls.end(why)

    def cancel_all(self, reason: str) -> None:
        self.end_tool_calls(reason)
        for context in list(self._calls.values()):
            context.cancel(reason)

    def run_shutdown_handlers(self, deadline: float) -> bool:
        """Runs them one after another. Returns False if they are not done at `deadline`."""
        queue = JobQueue("on_shutdown", 1, self._on_thread)
        for handler in self._registry.shutdown_handlers:
            queue.submit(lambda handler=handler: _call_handler("on_shutdown", handler))  # type: ignore[misc]
        done = queue.wait_idle(max(deadline, time.monotonic() + 0.2))
        queue.close()
        return done

    # --- requests -----------------------------------------------------------------------------------------

    def _tool_call(self, frame: dict[str, Any]) -> None:
        _id(frame)
        context = ToolContext(frame, self._send)
        name = context.name

        def work() -> dict[str, Any]:
            try:
                context.raise_if_cancelled()
                if (tool := self._registry.tools.get(name)) is None:
                    return _failed_result(f"{self._registry.name} has no tool {name!r}")
                current.set(context)
                return tool.call({} if frame.get("args") is None else frame["args"], context).as_json()
            except BaseException as error:
                return _failed_result(_failure_text(f"tool {name!r}", error))

        self._answer(self._tools, "tool_result", context, work)

    def _command(self, frame: dict[str, Any]) -> None:
        _id(frame)
        context, args = CommandContext(frame, self._send), frame.get("args")
        name = context.name

        def work() -> dict[str, Any]:
            try:
                context.raise_if_cancelled()
                if (command := self._registry.commands.get(name)) is None:
                    return {"error": f"{self._registry.name} has no command {name!r}"}
                current.set(context)
                return command.call(args if isinstance(args, str) else "", context).as_json()
            except BaseException as error:
                return {"error": _failure_text(f"command {name!r}", error)}

        self._answer(self._commands, "command_response", context, work)

    def _intercept(self, frame: dict[str, Any]) -> None:
        call_id = _id(frame)
        guards = list(self._registry.guards.get(str(frame.get("event")), ()))

        def work() -> None:
            current.set(GUARD)
            if frame.get("event") == "before_agent_start":
                answer = change_system_prompt(guards, frame)
            else:
                answer = judge(guards, frame, can_ask=self._can_ask)
            self._send({"type": "event_intercept_response", "id": call_id, **answer})

        if why := self._refusal(self._guards, in_session(frame["session_id"], work)):
            self._send({"type": "event_intercept_response", "id": call_id, "block": True, "reason": why})

    def _answer(self, queue: JobQueue, kind: str, context: CallContext, work: Callable[[], dict[str, Any]]) -> None:
        """Does `work` on the queue and sends its answer. A call that is cancelled while it waits never begins."""
        self._calls[context.id] = context

        def job() -> None:
            answer = work()
            context.answered = True
            self._calls.pop(context.id, None)
            try:
                self._send({"type": kind, "id": context.id, **answer})
            except Exception as error:  # the answer holds something that JSON cannot
                text = _failure_text(f"the answer of {context.name!r}", error)
                failure = _failed_result(text) if kind == "tool_result" else {"error": text}
                self._send({"type": kind, "id": context.id, **failure})

        if why := self._refusal(queue, in_session(context.session_id, job)):
            context.cancel(why)
            job()

    def _refusal(self, queue: JobQueue, job: Callable[[], None]) -> str:
        """Submits the job. Returns why the queue refuses it; "" if it accepts it."""
        try:
            return "" if queue.submit(job) else f"{self._registry.name} is shutting down"
        except RuntimeError as error:
            return f"{self._registry.name}: {error}"

    # --- events and others --------------------------------------------------------------------------------

    def _hello_ack(self, frame: dict[str, Any]) -> None:
        host = HostInfo(frame)
        self._can_ask = "ask" in host.features
        self._on_greeted(host)
        for point, feature in POINT_FEATURES.items():
            if self._registry.guards.get(point) and feature not in host.features:
                print_line(f"this host does not ask guards about {point}: intercept_{point} has no effect here")

    def _cancel(self, frame: dict[str, Any]) -> None:
        if (context := self._calls.get(_id(frame))) is not None:
            context.cancel(str(frame.get("reason") or ""))

    def _ping(self, frame: dict[str, Any]) -> None:
        self._send({"type": "pong", "id": _id(frame)})

    def _event(self, frame: dict[str, Any]) -> None:
        name, session_id = str(frame.get("event")), frame["session_id"]
        for handler in list(self._registry.handlers.get(name, ())):
            job = lambda handler=handler: _call_handler(f"on({name!r})", handler, Event(frame))  # noqa: E731
            self._events.submit(in_session(session_id, job))
        if name == "session_end":
            self._events.submit(lambda: self._registry.sessions.forget(session_id))

    def _panel(self, frame: dict[str, Any]) -> None:
        kind, panel_id = frame["type"], str(frame.get("panel_id"))
        subject = {"panel_key": PanelKey, "panel_resize": PanelSize, "panel_close": PanelClosed}[kind](frame)
        for handler in list(self._registry.panel_handlers.get((kind, panel_id), ())):
            job = lambda handler=handler: _call_handler(f"{kind} of {panel_id!r}", handler, subject)  # noqa: E731
            self._panels.submit(in_session(frame["session_id"], job))

    # --- leases -------------------------------------------------------------------------------------------

    def _lease_begin(self, frame: dict[str, Any]) -> None:
        lease_id, lease = _id(frame), Lease(frame)

        def begin() -> None:
            for handler in self._registry.lease_handlers["begin"]:
                finish(handler(lease))
            self._send({"type": "lease_ready", "id": lease_id})

        self._leases.submit(in_session(lease.session_id, begin))

    def _lease_end(self, frame: dict[str, Any]) -> None:
        lease = Lease(frame)
        for context in list(self._calls.values()):
            context.cancel("the lease has ended")

        def end() -> None:
            for queue in self._served:
                queue.wait_idle(time.monotonic() + ENDLESS_S)
            for handler in self._registry.lease_handlers["end"]:
                _call_handler("on_lease_end", handler, lease)
            self._registry.sessions.forget(lease.session_id)

        self._leases.submit(in_session(lease.session_id, end))


def _call_handler(what: str, handler: Callable[..., object], *subject: object) -> None:
    """Calls a handler that has no answer: an error is only logged."""
    try:
        finish(handler(*subject))
    except Cancelled:
        return
    except BaseException as error:
        print_traceback(what, error)


def _failure_text(what: str, error: BaseException) -> str:
    """Returns the text of a failure for the host. The traceback of an unexpected one goes to stderr, for the author."""
    if isinstance(error, Cancelled):
        return f"cancelled: {error}" if str(error) else "cancelled"
    if isinstance(error, BadArgument):
        return f"bad arguments: {error}"
    if isinstance(error, ToolError):
        return str(error) or "failed"
    print_traceback(what, error)
    return describe(error)


def _failed_result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "is_error": True}


def _id(frame: dict[str, Any]) -> str:
    """Returns the id of a frame. Raises `ValueError` if it is missing: the answer needs it."""
    found = frame.get("id")
    if not isinstance(found, str):
        raise ValueError(f"a {frame['type']} frame without an id")
    return found
