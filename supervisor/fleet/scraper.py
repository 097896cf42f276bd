"""Asks all hosts for their figures at the same time. A host that does not answer in time is told as such, and holds up
no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.fleet.known_hosts import KnownHosts
from supervisor.monitoring.metrics import UNKNOWN_KIND, AskedHost, Scrape
from wire import control

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from supervisor.fleet.known_hosts import KnownHost
    from supervisor.loop.loop import Loop, Timer
    from wire.stats import Stats

WITHIN_S = 1.0
"""Maximum wait for the answers of all hosts together, in seconds."""


class Scraper:
    """Keeps a connection to each host between scrapes. With `kinds` it tells only of hosts of these kinds, and of those
    whose kind is unknown because they have never answered."""

    def __init__(
        self, loop: Loop, folders: Iterable[Path], kinds: Collection[str] = (), within_s: float = WITHIN_S
    ) -> None:
        self._loop = loop
        self._kinds = kinds
        self._within_s = within_s
        self._known = KnownHosts(loop, folders, self)
        self._asked: dict[int, str] = {}
        """The id of the request that each host has not answered, by pid: never more than one."""
        self._answers: dict[int, Stats] = {}
        self._done: Callable[[Scrape], None] = lambda _scrape: None
        self._began = 0.0
        self._timer: Timer | None = None

    def begin(self, done: Callable[[Scrape], None]) -> None:
        """Calls `done` with the answers, perhaps at once. One scrape at a time."""
        assert self._timer is None, "a scrape is under way"
        self._done = done
        self._began = self._loop.clock()
        self._timer = self._loop.call_later(self._within_s, self._finish)
        self._known.refresh()
        free = [host for host in self._known.hosts.values() if host.client is not None and host.pid not in self._asked]
        self._asked |= {host.pid: host.client.next_id() for host in free if host.client is not None}
        for host in free:  # a host that is lost meanwhile does not end the scrape: the others have their ids already
            self._known.ask(host, control.GetStats(self._asked[host.pid]))
        self._finish_if_all()

    def joined(self, host: KnownHost) -> None:
        self._asked.pop(host.pid, None)

    def said(self, host: KnownHost, reply: control.Reply) -> None:
        if isinstance(reply, control.StatsReply | control.ErrorReply):
            self._asked.pop(host.pid, None)
        if isinstance(reply, control.StatsReply):
            host.kind = reply.stats.host.kind
            if self._timer is not None:
                self._answers[host.pid] = reply.stats
        self._finish_if_all()

    def lost(self, host: KnownHost) -> None:
        self._asked.pop(host.pid, None)
        self._finish_if_all()

    def _finish_if_all(self) -> None:
        if self._timer is not None and not self._asked:
            self._finish()

    def _finish(self) -> None:
        assert self._timer is not None
        self._timer.cancel()
        self._timer = None
        answers, self._answers = self._answers, {}
        asked = (
            AskedHost(pid, host.kind or UNKNOWN_KIND, answers.get(pid))
            for pid, host in sorted(self._known.hosts.items())
        )
        hosts = tuple(host for host in asked if not self._kinds or host.kind in (*self._kinds, UNKNOWN_KIND))
        self._done(Scrape(hosts, self._loop.clock() - self._began))

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._known.close()
