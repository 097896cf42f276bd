"""The calls of tools that a client of rpc makes for its user: guards judge them as they judge those of the model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agent.engine.host_calls.own_tools import AgentTools
from supervisor.calls.call_driver import CallDriver
from supervisor.calls.guarded_call import GuardedCall
from supervisor.calls.merged_registrations import not_offered
from supervisor.registry.plain_schema import unfit_reason
from wire.suggestions import no_such

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.output.event_writer import EventWriter
    from agent.tools.toolbox import Toolbox
    from supervisor.calls.guard_chain import Judgement
    from supervisor.calls.request_in_flight import Cancellable
    from supervisor.loop.loop import Loop
    from supervisor.supervisor import Supervisor
    from wire import events, frames

    Done = Callable[[events.ToolResult], None]

QUOTED = 40
"""Maximum number of characters of a name in a refusal."""


class ClientCalls:
    """The open calls, and the `CallSource` of their drivers: each tool is called as for the model. The calls are in the
    event stream, not in the conversation. Only the tool itself has a time limit."""

    def __init__(self, loop: Loop, supervisor: Supervisor, toolbox: Toolbox, event_writer: EventWriter) -> None:
        self.tools = AgentTools(loop, toolbox, event_writer)
        self._supervisor = supervisor
        self._toolbox = toolbox
        self._open: dict[CallDriver, Done] = {}
        self._count = 0

    def refusal(self, name: str, args: bytes) -> str:
        """Why the call is not even put to the guards; "" if it is."""
        if not self._toolbox.knows(name):
            return no_such("tool", name[:QUOTED], [tool.name for tool in self._toolbox.offered()])
        if self._toolbox.is_hidden(name):
            return not_offered(name, self._toolbox.extension_of(name))
        return unfit_reason(args) or ""

    def begin(self, name: str, args: bytes, done: Done) -> None:
        """Begins a call without a `refusal`. `done` gets the record of its result, once."""
        self._count += 1
        call = GuardedCall(f"client:{self._count}", name, args)
        driver = CallDriver(self, call, lambda result: self._end(driver, result), partial(self.tools.progressed, call))
        self._open[driver] = done
        self.tools.began(call)
        driver.begin(self.tools.refusal)

    def cancel_all(self, reason: str) -> None:
        """Ends all open calls."""
        for driver in list(self._open):
            if (result := driver.cancel(reason)) is not None:
                self._end(driver, result)

    def close(self) -> None:
        """Ends all open calls: the server is stopping."""
        self.cancel_all("the server is stopping")

    def _end(self, driver: CallDriver, result: frames.ToolResult) -> None:
        self._open.pop(driver)(self.tools.show(driver.call, result))

    # --- the source of the drivers --------------------------------------------------------------------------

    def tell(self, event: frames.Event) -> None:
        self._supervisor.tell(event)

    def judge(self, event: frames.Event, done: Callable[[Judgement], None]) -> Cancellable:
        return self._supervisor.begin_intercept(event, done)

    def call(
        self, call: GuardedCall, done: Callable[[frames.ToolResult], None], on_progress: Callable[[str], None]
    ) -> Cancellable:
        return self.tools.call(call, done, on_progress)
