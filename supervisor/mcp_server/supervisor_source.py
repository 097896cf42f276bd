"""The extensions of the server's own host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor import queries
from supervisor.loop.future import Failure
from supervisor.loop.loop import Timestamp
from supervisor.mcp_server.source import StartingSource
from wire import frames
from wire.dialects.table import find_dialect
from wire.mcp_server.answers import error_result
from wire.mcp_server.offer import Offer
from wire.suggestions import UnknownNameError
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.calls.command_call import CommandAnswer
    from supervisor.calls.guard_chain import Judgement
    from supervisor.calls.tool_call import ToolAnswer
    from supervisor.mcp_server.source import Cancellable
    from supervisor.supervisor import Supervisor


class SupervisorSource(StartingSource):
    """`start` must be called when the host has started its extensions."""

    def __init__(self, supervisor: Supervisor) -> None:
        super().__init__(supervisor.loop)
        self._supervisor = supervisor

    def start(self) -> None:
        """Begins to wait for the extensions."""
        self._supervisor.registrations.on_change.append(self._changed)
        self._supervisor.guards.on_start_over.append(self._changed)
        self._begin_to_wait()
        self._changed()

    @property
    def _has_started(self) -> bool:
        needed = [extension for extension in self._supervisor.extensions if extension.manifest.required]
        return (self._is_over or self._supervisor.is_settled) and all(extension.was_ready for extension in needed)

    # --- what there is ------------------------------------------------------------------------------------------

    @property
    def extensions(self) -> Sequence[str]:
        return queries.names(self._supervisor)

    @property
    def instructions(self) -> str:
        return self._supervisor.registrations.instructions()

    @property
    def is_described(self) -> bool:
        return all(
            extension.is_settled or find_dialect(extension.manifest.dialect).settle_s == 0
            for extension in self._supervisor.extensions
        )

    def offer(self) -> Offer:
        return Offer(queries.tools(self._supervisor), queries.commands(self._supervisor))

    def unknown_tool(self, name: str) -> str:
        try:
            self._supervisor.registrations.tool(name)
        except UnknownNameError as error:
            return str(error)
        return ""

    # --- requests -----------------------------------------------------------------------------------------------

    def tell(self, event: frames.Event) -> None:
        self._supervisor.tell(event)

    def judge(self, event: frames.Event, done: Callable[[Judgement], None]) -> Cancellable:
        return self._supervisor.begin_intercept(event, done)

    def call(
        self,
        name: str,
        args: bytes,
        done: Callable[[frames.ToolResult], None],
        on_progress: Callable[[str], None],
    ) -> Cancellable:
        try:
            owned = self._supervisor.registrations.tool(name)
        except UnknownNameError as error:  # the tool was unregistered while the guards judged
            gone = error_result(str(error))
            return self._soon(lambda: done(gone))
        began = Timestamp.now()
        extension = valid_text(owned.owner.name)

        def called(answer: ToolAnswer) -> None:
            if (stats_file := self._supervisor.stats_file) is not None:
                stats_file.mark("tool_call", name, owned.owner.name, began, detail=answer.reason)
            done(answer.frame if answer.frame is not None else error_result(_failure_text(extension, name, answer)))

        return self._supervisor.begin_call(owned, args, called, on_progress)

    def invoke(self, name: str, args: str, done: Callable[[frames.CommandResponse], None]) -> Cancellable:
        owned = self._supervisor.registrations.find_command(name)
        if owned is None:
            gone = frames.CommandResponse("", error="no running extension has this command now")
            return self._soon(lambda: done(gone))
        extension = owned.owner.name

        def ran(answer: CommandAnswer) -> None:
            if answer.frame is None:
                failed = valid_text(f"extension {extension} failed: {answer.reason}")
                done(frames.CommandResponse("", error=failed))
                return
            if answer.frame.action == "open_panel" and answer.frame.open_panel is not None:
                self._close_panel(extension, answer.frame.open_panel.id)
            done(answer.frame)

        return self._supervisor.begin_command(owned, args, ran)

    def _close_panel(self, extension: str, panel_id: str) -> None:
        """Closes the panel: it cannot be used here, and its text is in the answer."""
        try:
            self._supervisor.panels.close(extension, panel_id)
        except UnknownNameError:
            pass

    def _soon(self, callback: Callable[[], None]) -> Cancellable:
        self._loop.call_later(0, callback)
        return _Ended()


class _Ended:
    def cancel(self, reason: str) -> None:
        """Does nothing: the request has ended."""


def _failure_text(extension: str, tool: str, answer: ToolAnswer) -> str:
    if answer.failure is Failure.INVALID_ARGS:
        return answer.reason
    if answer.failure is Failure.TIMEOUT:
        return f"extension {extension} failed: timeout waiting for {tool} ({answer.reason})"
    return f"extension {extension} failed: {answer.reason}"
