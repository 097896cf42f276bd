"""The extensions of the server's own host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor import queries
from supervisor.calls.merged_registrations import not_offered
from supervisor.calls.request_in_flight import ENDED
from supervisor.calls.tool_source import ExtensionToolSource
from supervisor.mcp_server.source import StartingSource
from wire import frames
from wire.dialects.table import find_dialect
from wire.mcp_server.offer import Offer, offer_of
from wire.suggestions import UnknownNameError
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.calls.command_call import CommandAnswer
    from supervisor.calls.request_in_flight import Cancellable
    from supervisor.supervisor import Supervisor


class SupervisorSource(StartingSource, ExtensionToolSource):
    """`start` must be called when the host has started its extensions."""

    def __init__(self, supervisor: Supervisor) -> None:
        super().__init__(supervisor.loop)
        ExtensionToolSource.__init__(self, supervisor)
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
        return offer_of(queries.tools(self._supervisor), queries.commands(self._supervisor))

    def unknown_tool(self, name: str) -> str:
        try:
            owned = self._supervisor.registrations.tool(name)
        except UnknownNameError as error:
            return str(error)
        return "" if owned.is_offered else not_offered(name, valid_text(owned.owner.name))

    # --- requests -----------------------------------------------------------------------------------------------

    def invoke(self, name: str, args: str, done: Callable[[frames.CommandResponse], None]) -> Cancellable:
        owned = self._supervisor.registrations.find_command(name)
        if owned is None:
            gone = frames.CommandResponse("", error="no running extension has this command now")
            self._loop.call_later(0, lambda: done(gone))
            return ENDED
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
