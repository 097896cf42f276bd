"""Incidents of all hosts: the past from their traces, then each one as it happens.

A host tells each event to its watchers, and writes most into its trace. The stream takes from the trace what was before
its watch, and the rest from the watch; what lies between is in both, and is told once.
"""

from __future__ import annotations

import time
from collections import deque
from math import inf
from typing import TYPE_CHECKING, cast

from supervisor.fleet.known_hosts import KnownHosts
from supervisor.fleet.past_incidents import TOLD, end_of, incident_text, incidents_of, run_of_batch
from supervisor.traces.trace_reader import pid_of
from wire import control, events
from wire.traces.incident import Incident, IncidentKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from supervisor.fleet.known_hosts import KnownHost
    from supervisor.fleet.past_incidents import BatchTail, Traces
    from supervisor.loop.loop import Loop
    from supervisor.traces.trace_reader import RunTrace
    from wire.stats import HostKind

BEGIN_S = 1.0
"""Maximum wait for the answers of all hosts at the start, in seconds."""
LOOK_S = 0.5
"""Seconds between two looks for new hosts."""
ENDED_S = 0.2
"""Seconds from the loss of a host until its end is told: meanwhile the kernel unlocks its trace."""
SAME_START_S = 60.0
"""Maximum difference between the start of a host by its trace and by its own word, in seconds."""
WATCHED_KEPT = 10_000
"""Maximum number of hosts of which the start of the watch is remembered, for what the traces of batches tell."""
WAITING_KEPT = 10_000
"""Maximum number of events of a host that wait until it is caught up: the last ones."""
GOOD = frozenset({"started", "late", "restarted", "reloaded"})


class _Followed:
    """A host that is watched, or is to be."""

    def __init__(self) -> None:
        self.kind: HostKind = "run"
        self.cwd = ""
        self.started = 0.0
        self.trace = ""
        """The id of its trace; empty without one."""
        self.watch = ""
        """The id of the request to watch; empty once it is answered."""
        self.asked_at = 0.0
        """When it was asked to be watched, in seconds since the epoch."""
        self.told_until = 0.0
        """The time up to which its trace was told."""
        self.is_caught_up = False
        self.waiting: deque[Incident] = deque(maxlen=WAITING_KEPT)
        """Its events since the watch, until it is caught up."""


class IncidentStream:
    """`tell` gets each event: those of the past when `begin` returns, in order of their times, later ones as they come.
    `since`: also events of hosts that have ended, none before this time, in seconds since the epoch. `only`: the pid of
    the only host. `say` gets lines for the user."""

    def __init__(
        self,
        loop: Loop,
        folders: Iterable[Path],
        traces: Traces,
        tell: Callable[[Incident], None],
        say: Callable[[str], None],
        *,
        since: float | None = None,
        only: int | None = None,
    ) -> None:
        self._loop = loop
        self._traces = traces
        self._tell = tell
        self._say = say
        self._since = since
        self._only = only
        self._known = KnownHosts(loop, folders, self, only)
        self._followed: dict[int, _Followed] = {}
        self._past: list[Incident] | None = []
        """The events until `begin` returns; then None."""
        self._looked: set[str] = set()
        """The ids of traces that need no further look."""
        self._unmet: set[str] = set()
        """The ids of traces of hosts that live and are not watched: yet, or since they are batches."""
        self._told_until: dict[str, float] = {}
        """Up to which time the traces of hosts were told that live and answer no watch."""
        self._batches: dict[str, BatchTail] = {}
        """Batches that go on, by the ids of their traces."""
        self._watched_since: dict[int, float] = {}
        """When the watch of each host began, in seconds since the epoch, also of hosts that have ended."""
        self._changed_at = 0
        self._complained: set[str] = set()
        self.has_ended = False
        """Whether the `only` host has ended."""
        self.running: set[str] = set()
        """The extensions that the hosts had when their watch began."""
        self.extensions: set[str] = set()
        """The extensions of these hosts, and of the traces that were looked at."""

    # --- the past -----------------------------------------------------------------------------------------

    def begin(self) -> bool:
        """Tells of the past. Returns whether there is any host, or a trace of one."""
        self._known.refresh()
        self._loop.run_until(self._is_settled, self._loop.clock() + BEGIN_S)
        for host in self._known.hosts.values():
            if not self._is_caught_up(host.pid):
                self._complain(host.trouble or f"host {host.pid} does not answer; its events come when it does")
        found = self._tell_other_traces() or bool(self._known.hosts)
        past, self._past = self._past or [], None
        for incident in sorted(past, key=lambda each: each.time):
            self._tell(incident)
        return found

    def _is_settled(self) -> bool:
        return all(host.client is None or self._is_caught_up(host.pid) for host in self._known.hosts.values())

    def _is_caught_up(self, pid: int) -> bool:
        followed = self._followed.get(pid)
        return followed is not None and followed.is_caught_up

    def _tell_other_traces(self) -> bool:
        """Tells of hosts that answer no watch, and with `since` of hosts that have ended."""
        self._changed_at = self._traces.changed_at()
        told = {followed.trace for followed in self._followed.values()}
        found = False
        for id_ in self._traces.ids():
            is_wanted = id_ not in told and self._only in (None, int(pid_of(id_)))
            is_open = is_wanted and self._traces.is_open(id_)
            if not is_open:
                self._looked.add(id_)
            has_ended = is_wanted and not is_open and self._since is not None
            if is_open or (has_ended and self._traces.has_news(id_, self._since or 0.0)):
                found = self._tell_trace(id_, is_open=is_open) or found
        return found

    def _tell_trace(self, id_: str, *, is_open: bool) -> bool:
        trace = self._traces.read(id_)
        if trace is None:
            return False
        if is_open and trace.header.kind == "batch":
            self._begin_batch(id_)
            self._unmet.add(id_)
            return True
        self.extensions.update(trace.extensions)
        now = time.time()
        told_until = self._told_until.pop(id_, 0.0)
        for incident in incidents_of(trace):
            if incident.time > told_until:
                self._pass_on(incident)
        if not is_open:
            self._pass_on(end_of(trace, now))
        elif (followed := self._followed.get(trace.header.pid)) is not None:
            followed.trace, followed.told_until = id_, now
        else:
            self._told_until[id_] = now
        return True

    def _pass_on(self, incident: Incident) -> None:
        if self._since is not None and incident.time < self._since:
            return
        run = run_of_batch(incident)
        if run is not None and incident.time >= self._watched_since.get(run, inf):
            return  # the run has told it
        if incident.extension:
            self.extensions.add(incident.extension)
        if self._past is not None:
            self._past.append(incident)
        else:
            self._tell(incident)

    # --- what comes ---------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Looks for new hosts from now on."""
        self._loop.call_later(LOOK_S, self._look)

    def _look(self) -> None:
        self._known.refresh()
        for id_ in self._batches:
            self._read_batch(id_)
        self._tell_short_ones()
        self.follow()

    def _tell_short_ones(self) -> None:
        """Tells of batches, which have no control socket, and of hosts that have come and gone between two looks."""
        changed_at = self._traces.changed_at()
        if changed_at == self._changed_at and not self._unmet:
            return
        self._changed_at = changed_at
        met = {followed.trace for followed in self._followed.values()}
        open_before, self._unmet = self._unmet, set()
        for id_ in self._traces.ids():
            if id_ in self._looked:
                continue
            pid = int(pid_of(id_))
            followed = self._followed.get(pid)
            if id_ in met or self._only not in (None, pid):
                self._looked.add(id_)
            elif followed is not None and not followed.trace and self._is_of(id_, followed):
                followed.trace = id_  # it was watched before its trace began
                self._looked.add(id_)
            elif self._traces.is_open(id_):
                self._unmet.add(id_)
                if id_ not in open_before and (trace := self._traces.read(id_)) and trace.header.kind == "batch":
                    self._begin_batch(id_)
            else:
                self._looked.add(id_)
                if id_ in self._batches:
                    self._end_batch(id_)
                else:
                    self._tell_trace(id_, is_open=False)

    def _begin_batch(self, id_: str) -> None:
        self._batches[id_] = self._traces.tail(id_)
        self._read_batch(id_)

    def _read_batch(self, id_: str) -> None:
        for incident in self._batches[id_].read():
            self._pass_on(incident)

    def _end_batch(self, id_: str) -> None:
        self._read_batch(id_)
        del self._batches[id_]
        if (trace := self._traces.read(id_)) is not None:
            self._pass_on(end_of(trace, time.time()))
        self.has_ended = self._only is not None

    def _is_of(self, id_: str, followed: _Followed) -> bool:
        """Whether this is the trace of this host: an older process may have had the same pid."""
        trace = self._traces.read(id_)
        return trace is not None and abs(trace.header.time - followed.started) < SAME_START_S

    def joined(self, host: KnownHost) -> None:
        client = host.client
        assert client is not None
        followed = self._followed.setdefault(host.pid, _Followed())
        followed.is_caught_up = False
        followed.asked_at = time.time()
        self._known.ask(host, control.Info(client.next_id()))
        followed.watch = client.next_id()
        self._known.ask(host, control.Watch(followed.watch, notices=True))

    def said(self, host: KnownHost, reply: control.Reply) -> None:
        followed = self._followed[host.pid]
        match reply:
            case control.HostInfoReply():
                followed.kind, followed.cwd, followed.started = reply.kind, reply.cwd, reply.started
                self.running.update(reply.extensions)
                self.extensions.update(reply.extensions)
            case control.Ok() if reply.id == followed.watch:
                followed.watch, at = "", time.time()
                self._watched_since.setdefault(host.pid, at)
                if len(self._watched_since) > WATCHED_KEPT:
                    del self._watched_since[next(iter(self._watched_since))]
                self._loop.call_later(0, lambda: self._catch_up(host, at))
            case control.ErrorReply():
                self._complain(f"host {host.pid}: {reply.message}")
            case events.Extension() if reply.event in TOLD:
                event = cast("IncidentKind", reply.event)
                text = incident_text(event, reply.message)
                incident = _incident(host.pid, followed, event, text, reply.extension, time.time())
                if followed.is_caught_up:
                    followed.told_until = incident.time
                    self._pass_on(incident)
                else:
                    followed.waiting.append(incident)

    def _catch_up(self, host: KnownHost, watched_at: float) -> None:
        """Tells of a host what was before the watch, then what has come since."""
        followed = self._followed[host.pid]
        trace = self._trace_of(host.pid, followed)
        self._known.read(host)
        if trace is not None:
            for incident in incidents_of(trace):
                if followed.told_until < incident.time <= watched_at and not self._is_waiting(followed, incident):
                    self._pass_on(incident)
        elif not followed.told_until:
            self._pass_on(_incident(host.pid, followed, "host_started", "", "", followed.started))
        followed.told_until = time.time()
        waiting = list(followed.waiting)
        followed.waiting.clear()
        followed.is_caught_up = True
        for incident in waiting:
            self._pass_on(incident)

    def _is_waiting(self, followed: _Followed, incident: Incident) -> bool:
        """Whether an event of the trace is among those that the watch has told. Both may name a fall differently."""
        return incident.time >= followed.asked_at and any(
            each.extension == incident.extension and (each.event in GOOD) == (incident.event in GOOD)
            for each in followed.waiting
        )

    def _trace_of(self, pid: int, followed: _Followed) -> RunTrace | None:
        """The trace of this host; None without one, or before it is there."""
        if not followed.trace and (id_ := self._traces.id_of(pid)) and self._is_of(id_, followed):
            followed.trace = id_
        return self._traces.read(followed.trace) if followed.trace else None

    def lost(self, host: KnownHost) -> None:
        if host.trouble:
            self._complain(host.trouble)
            return
        self._loop.call_later(ENDED_S, lambda: self._tell_end(host))

    def _tell_end(self, host: KnownHost) -> None:
        """Tells of the end, unless the host lives and has only closed the connection."""
        self._known.refresh()
        if host.pid in self._known.hosts or (followed := self._followed.pop(host.pid, None)) is None:
            return
        now = time.time()
        trace = self._trace_of(host.pid, followed)
        self._looked.add(followed.trace)
        if trace is None:
            self._pass_on(_incident(host.pid, followed, "host_ended", "", "", now))
        else:
            for incident in incidents_of(trace):
                if incident.time > followed.told_until:
                    self._pass_on(incident)
            self._pass_on(end_of(trace, now))
        self.has_ended = self._only is not None

    def _complain(self, trouble: str) -> None:
        if trouble not in self._complained:
            self._complained.add(trouble)
            self._say(trouble)

    def close(self) -> None:
        self._known.close()


def _incident(
    pid: int, followed: _Followed, event: IncidentKind, text: str, extension: str, at: float
) -> Incident:  # fmt: skip
    return Incident(
        time=at, pid=pid, host=followed.kind, cwd=followed.cwd, extension=extension, event=event, text=text
    )  # fmt: skip
