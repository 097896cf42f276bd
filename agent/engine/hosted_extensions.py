"""The extensions that a run takes from a host: attaches, divides them from the run's own, and replaces lost ones."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from supervisor.loop.host_link import HostConnection
from supervisor.monitoring.sharing_figures import UNSHARED, Sharing, SharingFigures
from supervisor.sharing.assignment import Terms, assign
from supervisor.sharing.find_host import NoHostError, attach_to
from wire.dialects import attach
from wire.events import HostedShare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.options import Options
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.extension import Extension
    from supervisor.loop.loop import Loop
    from supervisor.sharing.assignment import Hosted
    from supervisor.supervisor import Supervisor

USE_S = 0.25
"""Seconds that a run waits for its host's figures before its result, at most."""
NOT_FOUND_HERE = "this run has not found it itself, and goes on without it"


class HostedExtensions(Sharing):
    """The connection of one run to its host. `say` gets lines for the user."""

    def __init__(
        self, loop: Loop, options: Options, supervisor: Supervisor, version: str, say: Callable[[str], None]
    ) -> None:
        self._loop = loop
        self._options = options
        self._supervisor = supervisor
        self._version = version
        self._say = say
        self.connection: HostConnection | None = None
        """None without a host."""
        self._hosted: dict[str, Hosted] = {}
        supervisor.sharing = self

    def divide(self, found: Sequence[FoundExtension]) -> tuple[tuple[FoundExtension, ...], str]:
        """Attaches to the host. Returns the extensions to start, those of the host with their links; and why the run
        must not start, "" if it may."""
        options = self._options
        is_asked_for = options.host is not None and not options.is_host_of_batch
        session_id, host = self._supervisor.observers.session_id, options.host or "."
        try:
            sock, attached = attach_to(
                host, options.home, cwd=options.cwd, session_id=session_id, version=self._version
            )
        except NoHostError as error:
            if is_asked_for:
                return (), str(error)
            self._say(f"{error}; this run starts its own extensions".removeprefix("--host .: "))
            return tuple(found), ""
        terms = Terms(
            options.cwd, options.consent.copy, options.discover and not options.is_host_of_batch, options.host_version,
            is_asked_for=is_asked_for,
        )  # fmt: skip
        made = assign(found, attached, terms, os.environ)
        for line in made.lines:
            self._say(line)
        if made.refusal:
            sock.close()
            return (), made.refusal
        self.connection = connection = HostConnection(self._loop, sock, attached.pid)
        connection.on_line = self._on_line
        self._supervisor.observers.on_switch.append(self._switched)
        self._supervisor.on_sample.append(self._ask)
        taken = [self._with_link(each, connection) for each in made.hosted]
        connection.take_all()
        return tuple(sorted((*made.private, *taken), key=lambda each: each.order)), ""

    def _with_link(self, hosted: Hosted, connection: HostConnection) -> FoundExtension:
        self._hosted[hosted.name] = hosted
        link = connection.link(hosted.name)
        link.on_private = partial(self._start_own, hosted)
        return replace(hosted.found, link=link)

    def _start_own(self, hosted: Hosted, reason: str) -> None:
        """Starts a process of this run in place of the host's. The callback comes from within the loop."""
        extension = self._supervisor.find(hosted.name)
        if hosted.own is None:
            extension.notices.tell("failed", f"{reason}; {NOT_FOUND_HERE}")
            return
        extension.notices.tell("warning", f"taken from its host: {reason}")
        self._loop.call_later(0, partial(self._begin_own, extension, hosted.own))

    def _begin_own(self, extension: Extension, own: FoundExtension) -> None:
        supervisor = self._supervisor
        if not supervisor.closed:  # nothing would end a process that starts while the run stops
            env = supervisor.environment_of(own)
            extension.handover.reload(own, env, supervisor.data_folder, lambda _outcome: None)

    def _on_line(self, line: attach.FromHost) -> None:
        if isinstance(line, attach.Refused):
            self._say(f"its host: {line.message}")

    def _switched(self, session_id: str) -> None:
        if self.connection is not None:
            self.connection.send(attach.encode(attach.SessionSwitched(session_id)))

    # --- figures --------------------------------------------------------------------------------------------------

    @property
    def attached_to(self) -> int | None:
        return None if self.connection is None else self.connection.pid

    def figures(self, extension: Extension) -> SharingFigures:
        link, hosted = extension.found.link, self._hosted.get(extension.name)
        connection = self.connection
        if connection is None or hosted is None or link is None or not link.is_hosted:
            return UNSHARED
        known = None if connection.use is None else connection.use.extensions.get(extension.name)
        if known is None:
            return SharingFigures(hosted=HostedShare(connection.pid, hosted.mode, None, None, None))
        busy_ms, cpu_share_ms = round(known.busy_s * 1000, 3), round(known.cpu_s * 1000, 3)
        return SharingFigures(
            hosted=HostedShare(connection.pid, hosted.mode, busy_ms, cpu_share_ms, known.rss_peak_bytes)
        )

    def _ask(self) -> None:
        """Asks the host for the use by this run; the answer may come at any time."""
        if self.connection is not None and self.connection.is_open:
            self.connection.ask_use()

    def learn_use(self) -> None:
        """Asks the host for the use by this run, and waits for its answer, `USE_S` seconds at most. Without an answer
        the figures are those of the last sample. Does nothing without a host."""
        connection = self.connection
        if connection is None or not connection.is_open:
            return
        known = connection.use
        connection.ask_use(is_last=True)
        self._loop.run_until(lambda: connection.use is not known or not connection.is_open, self._loop.clock() + USE_S)

    def close(self) -> None:
        """Leaves the host."""
        if self.connection is not None:
            self.connection.close()
