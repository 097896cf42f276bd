"""The attach socket of a host: runs of the same user take the extensions that may serve several.

It permits attaching alone: no line of it reads another run's session or controls the host.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from supervisor.control import unix_socket
from supervisor.control.listener import Listener
from supervisor.home.runtime_dir import ATTACH_SUFFIX
from supervisor.monitoring.sharing_figures import Sharing, SharingFigures
from supervisor.sharing.attached_run import AttachedRun
from supervisor.sharing.attachment import Attachment
from supervisor.sharing.leased_extension import LeasedExtension
from supervisor.sharing.offers import Offers
from supervisor.sharing.session_frames import SessionFrames
from supervisor.sharing.session_use import sum_of
from supervisor.sharing.shared_extension import SharedExtension
from wire.dialects import attach
from wire.dialects.attach import PROTOCOL
from wire.dialects.base import RunSession
from wire.stats import SessionStats
from wire.suggestions import no_such
from wire.text import valid_text

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Collection
    from pathlib import Path

    from supervisor.extension.connection.open_calls import HostCallAnswer
    from supervisor.extension.extension import Extension
    from supervisor.loop.loop import Loop
    from supervisor.sharing.served_extension import ServedExtension
    from supervisor.sharing.session_use import RunUse
    from supervisor.supervisor import Supervisor
    from wire.dialects.host_calls import HostCall

RUNS_LIMIT = 1000
"""Maximum number of runs that are attached at the same time."""
SESSIONS_LIMIT = 100
"""Maximum number of sessions of an extension that are told one by one: the busiest. The others are added up."""
SHARE = 0.02
"""Fraction of one core that sampling for runs that end may use: a run may be over before the next usual sample."""
LIFE = frozenset({"exited", "stopped", "restarted", "reloaded", "failed", "limit"})
"""The kinds of notices about an extension that its runs are told of. Warnings stay with the host: they may name a
request or a session of another run. Others are about what a run itself has done."""


class AttachServer(Sharing):
    """Serves `folder/<pid><suffix>` from `start` to `close`. `shared` has the names of extensions that the operator
    shares whatever their manifests say."""

    def __init__(
        self,
        loop: Loop,
        supervisor: Supervisor,
        *,
        version: str,
        cwd: str,
        folder: Path,
        shared: Collection[str],
        suffix: str = ATTACH_SUFFIX,
        peer_uid: Callable[[socket.socket], int | None] = unix_socket.peer_uid,
    ) -> None:
        self._loop = loop
        self._supervisor = supervisor
        self._version = version
        self._cwd = cwd
        self.shared = frozenset(shared)
        self._offers = Offers(shared, loop.clock)
        self._listener = Listener(loop, folder, suffix, RUNS_LIMIT, self._welcome, peer_uid)
        self.runs: dict[int, AttachedRun] = {}
        self.served: dict[str, ServedExtension] = {}
        """The extensions that any run has taken so far, by name."""
        self._sessions: dict[str, AttachedRun] = {}
        self._frames = SessionFrames()
        self._numbers = 0
        self._salt = os.urandom(16).hex()
        supervisor.on_change.append(self._changed)
        supervisor.calls_for_runs = self._called
        supervisor.sharing = self

    def start(self) -> str | None:
        """Begins to listen. Returns None, or a line for the user that says why the host cannot listen."""
        return self._listener.start()

    @property
    def path(self) -> Path | None:
        return self._listener.path

    def close(self) -> None:
        """Drops all runs and removes the socket."""
        for run in list(self.runs.values()):
            run.close("the host has stopped")
        self._listener.close()

    def modes(self) -> dict[str, tuple[str, str]]:
        """How runs may use each extension, by name: private, leased or shared; and why it is private."""
        return {each.name: self._offers.mode(each) for each in self._supervisor.extensions}

    # --- runs ---------------------------------------------------------------------------------------------------

    def _welcome(self, sock: socket.socket) -> None:
        self._numbers += 1
        self.runs[self._numbers] = AttachedRun(self._loop, sock, self, self._numbers)
        self._listener.clients = len(self.runs)

    def attach(self, run: AttachedRun, line: attach.Attach) -> None:
        """Answers the first line of a run."""
        if line.protocol != PROTOCOL:
            run.complain(f"this host speaks version {PROTOCOL} of the attach protocol, zot {self._version}")
            return
        if run.session.id or line.session_id in self._sessions:
            run.complain(f"the session {line.session_id[:80]} is attached already")
            return
        run.session, run.pid = RunSession(line.session_id, line.cwd), line.pid
        self._sessions[line.session_id] = run
        offers = [self._offers.offer(each, os.environ, self._salt) for each in self._supervisor.extensions]
        run.send(
            attach.encode(
                attach.Attached(PROTOCOL, self._version, os.getpid(), valid_text(self._cwd), self._salt, tuple(offers))
            )
        )

    def take(self, run: AttachedRun, name: str) -> None:
        """A run wants an extension."""
        by_name = {each.name: each for each in self._supervisor.extensions}
        if (extension := by_name.get(name)) is None:
            run.complain(no_such("extension", name[:80], by_name), name)
            return
        mode, why = self._offers.mode(extension)
        if mode == "private" or name in run.taken:
            run.complain(f"{name}: {why or 'this run has it already'}", name)
            return
        served = self.served.get(name)
        if served is None:
            kind = LeasedExtension if mode == "leased" else SharedExtension
            served = self.served[name] = kind(self._loop, extension)
            self._frames.adopt(extension, served)
        run.hold(served, Attachment(run, served))

    def switch(self, run: AttachedRun, session_id: str) -> None:
        """A run goes on with another session."""
        if self._sessions.get(session_id, run) is not run:
            run.complain(f"the session {session_id[:80]} is of another run")
            return
        self._sessions.pop(run.session.id, None)
        self._sessions[session_id] = run
        run.session = RunSession(session_id, run.session.cwd)

    def gone(self, run: AttachedRun) -> None:
        """A run has ended its connection."""
        self.runs.pop(run.number, None)
        self._listener.clients = len(self.runs)
        if self._sessions.get(run.session.id) is run:
            del self._sessions[run.session.id]

    # --- figures ------------------------------------------------------------------------------------------------

    @property
    def attached_runs(self) -> int:
        return len(self.runs)

    def figures(self, extension: Extension) -> SharingFigures:
        mode = self._offers.mode(extension)[0]
        if (served := self.served.get(extension.name)) is None:
            return SharingFigures(mode)  # type: ignore[arg-type]
        attached = list(served.runs.values())
        attached.sort(key=lambda each: (each.use.busy_s, each.use.calls), reverse=True)
        told, more = attached[:SESSIONS_LIMIT], attached[SESSIONS_LIMIT:]
        others = sum_of([served.uses.gone, *(each.use for each in more)])
        return SharingFigures(
            mode,  # type: ignore[arg-type]
            len(attached),
            tuple(_session(served, each) for each in told),
            _stats(served, others) if others.runs else None,
        )

    def use(self, run: AttachedRun, *, is_last: bool) -> None:
        """Tells a run its use of each extension so far; with `is_last` as of now, within what `SHARE` allows."""
        sampler = self._supervisor.sampler
        cost_s = sampler.cpu_s / max(1, sampler.samples)
        if is_last and self._loop.clock() - sampler.sampled_at > cost_s / SHARE:
            self._supervisor.sample()
        used = {
            name: replace(served.use_of(each.use), rss_peak_bytes=served.extension.account.rss_peak)
            for name, (served, each) in run.taken.items()
        }
        run.send(attach.encode(attach.Use(used)))

    # --- extensions ---------------------------------------------------------------------------------------------

    def _changed(self, extension: Extension) -> None:
        self._offers.note(extension)
        if (served := self.served.get(extension.name)) is not None:
            self._frames.adopt(extension, served)
            served.changed()
            if self._offers.mode(extension)[0] == "private":
                for attachment in list(served.runs.values()):
                    attachment.run.drop(attachment, self._offers.mode(extension)[1], is_private=True)

    def notice(self, name: str, kind: str, message: str) -> None:
        """Tells the runs of an extension of a notice about its life."""
        if kind in LIFE and (served := self.served.get(name)) is not None:
            served.told(kind, message)

    def _called(self, extension: Extension, call: HostCall, answer: HostCallAnswer) -> bool:
        """Passes a call of a shared extension on to the run that it is for. Returns False if it is for no run."""
        if (served := self.served.get(extension.name)) is None:
            return False
        worker = next((each for each in extension.all_workers if answer.is_of(each.channel.host_calls)), None)
        session_id, parent = getattr(call, "session_id", None), getattr(call, "parent", None)
        if worker is None:
            return False
        asked = worker.requests.pending.get(parent or "")
        for attachment in served.runs.values():
            found = None if asked is None else next((x for x in attachment.open.values() if x.pending is asked), None)
            if found is not None and session_id in (None, attachment.run.session.id):
                attachment.called(call, answer, found)
                return True
        if parent is None and (addressed := served.attachment_of(worker, session_id)) is not None:
            addressed.called(call, answer, None)
        elif session_id is not None:
            answer.refuse(f"it has no such request of the session {session_id[:80]!r}")
        else:
            return False
        return True


def _session(served: ServedExtension, attachment: Attachment) -> SessionStats:
    run = attachment.run
    told = _stats(served, attachment.use)
    return replace(
        told, session_id=valid_text(run.session.id), pid=run.pid, cwd=valid_text(run.session.cwd),
        since=attachment.use.since,
    )  # fmt: skip


def _stats(served: ServedExtension, use: RunUse) -> SessionStats:
    told = served.use_of(use)
    return SessionStats(
        told.calls, told.errors, told.timeouts, use.under_way, told.frames_in, told.frames_out, told.busy_s, told.cpu_s,
        count=use.runs,
    )  # fmt: skip
