"""The extensions of the server's own host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.loop.future import Failure
from supervisor.loop.timestamp import Timestamp
from supervisor.mcp_server.content import error_result
from supervisor.mcp_server.offer import Offer
from wire import frames
from wire.control import CommandInfo, ToolInfo
from wire.dialects.table import dialect_named
from wire.suggest import no_such
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.calls.command_call import CommandAnswer
    from supervisor.calls.guard_chain import Judgement
    from supervisor.calls.tool_call import ToolAnswer
    from supervisor.mcp_server.source import Cancellable
    from supervisor.supervisor import Supervisor

PATIENCE_S = 5.0
"""Seconds for which the first list of tools waits for extensions that are not required. Clients give a server 10 s and
more to start."""


class OwnSource:
    """`start` must be called when the host has started its extensions."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._is_over = False
        self.on_change: Callable[[], None] = _nothing
        self.on_log: Callable[[str, str, str], None] = _ignore
        self.is_ready = False

    def start(self) -> None:
        """Begins to wait for the extensions."""
        self._supervisor.registrations.on_change.append(self._changed)
        self._supervisor.guards.on_start_over.append(self._changed)
        self._supervisor.loop.call_later(PATIENCE_S, self._patience_over)
        self._changed()

    def _patience_over(self) -> None:
        self._is_over = True
        self._changed()

    def _changed(self) -> None:
        self.is_ready = self.is_ready or self._has_started
        self.on_change()

    @property
    def _has_started(self) -> bool:
        needed = [extension for extension in self._supervisor.extensions if extension.manifest.required]
        return (self._is_over or self._supervisor.is_settled) and all(extension.was_ready for extension in needed)

    # --- what there is ------------------------------------------------------------------------------------------

    @property
    def extensions(self) -> Sequence[str]:
        return [valid_text(extension.name) for extension in self._supervisor.extensions]

    @property
    def instructions(self) -> str:
        return self._supervisor.registrations.instructions()

    @property
    def is_described(self) -> bool:
        return all(
            extension.is_settled or dialect_named(extension.manifest.dialect).settle_s == 0
            for extension in self._supervisor.extensions
        )

    def offer(self) -> Offer:
        registrations = self._supervisor.registrations
        return Offer(
            tuple(
                ToolInfo(
                    name,
                    owned.tool.description,
                    owned.tool.schema,
                    valid_text(owned.owner.name),
                    read_only=owned.tool.read_only,
                    idempotent=owned.tool.retry,
                )
                for name, owned in registrations.tools().items()
            ),
            tuple(
                CommandInfo(name, owned.command.description, valid_text(owned.owner.name))
                for name, owned in registrations.commands().items()
            ),
        )

    def unknown_tool(self, name: str) -> str:
        try:
            self._supervisor.registrations.tool(name)
        except KeyError:
            return no_such("tool", name, self._supervisor.registrations.tools())
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
        except KeyError:  # it was taken back while the guards judged
            return self._soon(lambda: done(error_result(self.unknown_tool(name))))
        began = Timestamp.now()
        extension = valid_text(owned.owner.name)

        def called(answer: ToolAnswer) -> None:
            if (stats_file := self._supervisor.stats_file) is not None:
                stats_file.mark("tool_call", name, owned.owner.name, began, detail=answer.reason)
            done(answer.frame if answer.frame is not None else error_result(_failed(extension, name, answer)))

        return self._supervisor.begin_call(owned, args, called, on_progress)

    def invoke(self, name: str, args: str, done: Callable[[frames.CommandResponse], None]) -> Cancellable:
        owned = self._supervisor.registrations.commands().get(name)
        if owned is None:
            gone = frames.CommandResponse("", error="no extension that runs has this command any more")
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
        """Nobody can use a panel here: its text is in the answer."""
        try:
            self._supervisor.panels.close(extension, panel_id)
        except KeyError:
            pass

    def _soon(self, callback: Callable[[], None]) -> Cancellable:
        self._supervisor.loop.call_later(0, callback)
        return _Ended()


class _Ended:
    def cancel(self, reason: str) -> None:
        """There is nothing to cancel."""


def _failed(extension: str, tool: str, answer: ToolAnswer) -> str:
    if answer.failure is Failure.INVALID_ARGS:
        return answer.reason
    if answer.failure is Failure.TIMEOUT:
        return f"extension {extension} failed: timeout waiting for {tool} ({answer.reason})"
    return f"extension {extension} failed: {answer.reason}"


def _nothing() -> None:
    """Nobody listens yet."""


def _ignore(_level: str, _extension: str, _text: str) -> None:
    """Nobody listens yet."""
