"""The conversation with a host on its control socket. Shared by `Host` and `AsyncHost`."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from itertools import count

from ..errors import BusyError, ClosedError, HostError, HostGoneError, HostRefusedError, NoHostError, SeveralHostsError
from ..host_answers import HostInfo, Stats
from .channel import Channel, Lines, tell
from .decoder import event, members_of
from .host_places import connect, sockets
from .inbox import Inbox
from .pending_answer import PendingAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from ..errors import ProtocolError, ZotError
    from ..events import AnyEvent

    T = TypeVar("T")

LINE = 256 * 1024 * 1024
"""Maximum length of a line in bytes: the registrations of a host with hundreds of extensions."""
ANSWER_S = 10.0
"""Seconds to wait for an answer that a host gives at once."""
SURVEY_S = 2.0
"""Seconds to wait for the answers of all hosts."""
CLOSE_S = 5.0
"""Seconds that a host may take to read the last lines."""
UNREAD_LIMIT = 10_000
"""Maximum number of watched items that wait for the program; the oldest of more are dropped."""
HOSTS_NAMED = 10
NONE_RUNS = "no host is running; start one with zot host"


class WatchStream(Inbox):
    """Watched items, until the program takes them. `missed` counts dropped ones."""

    def __init__(self, stats_s: float | None, notices: bool, shown: bool) -> None:
        super().__init__()
        self._waiting = deque(maxlen=UNREAD_LIMIT)
        self.stats_s = stats_s
        self.notices = notices
        self.shown = shown
        self.missed = 0

    def wants(self, item: Stats | AnyEvent) -> bool:
        if isinstance(item, Stats):
            return self.stats_s is not None
        return self.notices if item.type == "extension" else self.shown

    def put(self, item: Stats | AnyEvent) -> None:
        with self._changed:
            self.missed += len(self._waiting) == UNREAD_LIMIT
            self._waiting.append(item)
            callbacks = self._notify()
        for callback in callbacks:
            callback()


class HostClient:
    """A connection to the host at `path`. Raises `NoHostError` and `HostError`. `info` comes with its first answer."""

    def __init__(self, path: str, timeout_s: float = ANSWER_S) -> None:
        self.path = path
        self.ended = PendingAnswer("the end of the connection")
        self._owner = os.getpid()
        self._numbers = count(1)
        self._pending: dict[str, PendingAnswer] = {}
        self._progress: dict[str, Callable[[str], None]] = {}
        self._watches: list[WatchStream] = []
        self._watch_lock = threading.RLock()
        self._wants_progress = False
        self._end: ZotError | None = None
        self._close_by: float | None = None
        """The monotonic time at which the connection is closed even with unsent lines; None while it is open."""
        self._refusal = ""
        connection = connect(path, timeout_s)
        with connection:
            read, write = os.dup(connection.fileno()), os.dup(connection.fileno())
        self._channel = Channel(
            f"zot-host-{os.path.basename(path)}",
            [(open(read, "rb", buffering=0), Lines(self._on_line, LINE))],  # noqa: SIM115
            open(write, "wb", buffering=0),  # noqa: SIM115
            on_end=self._on_end,
            on_pass=self._press,
        )
        self._pending["info"] = self.info = PendingAnswer("info")  # before the thread runs, which uses it
        self._channel.start()
        self._write(type="info", id="info")

    def __repr__(self) -> str:
        """The middle of the `repr` of a host."""
        how = "open" if self._end is None else "closed" if isinstance(self._end, ClosedError) else "ended"
        info = HostInfo.read(self.info.read())
        return f"pid={info.pid} kind={info.kind!r} cwd={info.cwd!r} {how}"

    def check_owner(self) -> None:
        """Raises `ClosedError` in a fork of the process that connected."""
        if os.getpid() != self._owner:
            raise ClosedError("this host was connected to by the process that this one was forked from")

    def check_reader(self) -> None:
        """Raises `ClosedError` in a fork, and `BusyError` in the thread that brings the watched items."""
        self.check_owner()
        if self._channel.is_own_thread:
            raise BusyError("nothing would ever come in a callback of the host: read it in another thread")

    # --- requests -------------------------------------------------------------------------------------------

    def send(self, kind: str, *, on_progress: Callable[[str], None] | None = None, **members: Any) -> PendingAnswer:
        """Sends a request; members that are None are left out. Raises the error of the connection's end, and
        `BusyError` in the reading thread."""
        if self._channel.is_own_thread:
            raise BusyError(f"{kind} would wait for ever in a callback of the host: call it from another thread")
        self.check_owner()
        if on_progress is not None and not self._wants_progress:
            self._wants_progress = True
            self._watch()
        id_ = str(next(self._numbers))
        self._pending[id_] = pending = PendingAnswer(kind)
        pending.id = id_
        if on_progress is not None:
            self._progress[id_] = on_progress
        if self._end is not None:  # after the line above: `_finish` sets it before it ends the waits
            self._pending.pop(id_, None)
            raise self._end.with_traceback(None)
        self._write(type=kind, id=id_, **members)
        return pending

    def tell(self, **members: Any) -> None:
        """Sends a message without an answer."""
        if self._end is not None:
            raise self._end.with_traceback(None)
        self._write(type="event", **members)

    def cancel(self, pending: PendingAnswer) -> None:
        """Cancels the request of an answer that is no longer needed. Takes no lock."""
        self._progress.pop(pending.id, None)
        is_open = self._pending.pop(pending.id, None) is not None
        if is_open and pending.kind in ("tool_call", "command_invoked") and os.getpid() == self._owner:
            self._write(type="cancel", id=pending.id)

    def watch(self, stats_s: float | None, notices: bool, shown: bool) -> tuple[WatchStream, PendingAnswer]:
        """Requests items from now on, until `unwatch`."""
        stream = WatchStream(stats_s, notices, shown)
        with self._watch_lock:
            self._watches = [*self._watches, stream]
        try:
            return stream, self._watch()
        except BaseException:
            self._forget(stream)
            raise

    def unwatch(self, stream: WatchStream) -> None:
        """Ends a watch; waiting items can still be taken."""
        self._forget(stream)
        stream.finish()
        if self._end is None and os.getpid() == self._owner and not self._channel.is_own_thread:
            self._watch()

    def _forget(self, stream: WatchStream) -> None:
        with self._watch_lock:
            self._watches = [one for one in self._watches if one is not stream]

    def _watch(self) -> PendingAnswer:
        """Requests the items of all watches together: the host has one watch for each client."""
        with self._watch_lock:
            watches = self._watches
            return self.send(
                "watch",
                stats_s=min((one.stats_s for one in watches if one.stats_s is not None), default=None),
                notices=any(one.notices for one in watches),
                shown=self._wants_progress or any(one.shown for one in watches),
            )

    def _write(self, **members: Any) -> None:
        given = {name: value for name, value in members.items() if value is not None}
        text = json.dumps(given, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        self._channel.write(text.encode("utf-8", "replace") + b"\n")

    # --- in the reading thread --------------------------------------------------------------------------------

    def _on_line(self, line: bytes) -> None:
        members = members_of(line)
        id_, kind = members.get("id"), members["type"]
        if kind == "tool_progress":
            if (on_progress := self._progress.get(str(id_))) is not None:
                tell(on_progress, str(members.get("text", "")))
        elif id_ is None:
            if kind == "error":
                self._refusal = str(members.get("message", ""))
            else:
                self._on_watched(Stats.read(members) if kind == "stats" else event(members, line))
        elif (pending := self._pending.pop(id_, None)) is not None:
            self._progress.pop(id_, None)
            pending.give(members, HostRefusedError(members.get("message", "")) if kind == "error" else None)

    def _on_watched(self, item: Stats | AnyEvent) -> None:
        for stream in self._watches:
            if stream.wants(item):
                stream.put(item)

    def _on_end(self, fault: ProtocolError | None) -> None:
        if not self.info.is_come and self._refusal:
            self._finish(HostRefusedError(self._refusal))
        self._finish(fault or HostGoneError(f"the host at {self.path} has ended, or has closed the connection"))
        self.ended.give()

    def _press(self) -> float | None:
        """Closes the connection when it is due. Returns the seconds until then."""
        if self._close_by is None:
            return None
        if not self._channel.has_unsent or time.monotonic() >= self._close_by:
            self._channel.stop()
        return max(0.0, self._close_by - time.monotonic())

    def _finish(self, error: ZotError) -> None:
        self._end = self._end or error
        try:
            while True:
                self._pending.popitem()[1].give(error=self._end)
        except KeyError:
            pass
        for stream in self._watches:
            stream.fail(self._end)

    # --- the end ----------------------------------------------------------------------------------------------

    def begin_close(self) -> None:
        """Closes the connection; the host cancels open requests. Does not wait."""
        if os.getpid() == self._owner:
            self._finish(ClosedError("the connection to the host is closed"))
            self._close_by = time.monotonic() + CLOSE_S
            self._channel.wake()

    def close(self) -> None:
        """Closes the connection, and waits for the end of the thread."""
        if os.getpid() == self._owner:
            self.begin_close()
            self._channel.join()


# --- which host ------------------------------------------------------------------------------------------------


def survey() -> list[tuple[HostClient, HostInfo]]:
    """Returns all running hosts with their connections, which the caller closes. Hosts without an answer in time are
    left out."""
    clients = []
    for path in sockets().values():
        try:
            clients.append(HostClient(path, SURVEY_S))
        except (HostError, OSError):
            continue
    found = []
    for client in clients:  # asked at the same time, so all together take no longer than one
        try:
            found.append((client, HostInfo.read(client.info.wait(SURVEY_S))))
        except Exception:
            client.close()
    return found


def open_host(pid: int | None, path: str | os.PathLike[str] | None, timeout_s: float = ANSWER_S) -> HostClient:
    """Returns a connection to the host with this pid or this socket; without them, to the only `zot host`, or without
    one to the only run of an agent. Raises `NoHostError`, `SeveralHostsError` and `HostError`."""
    if pid is not None and path is not None:
        raise TypeError("give either the pid of a host or the path of its socket")
    if path is not None:
        return _wait_greeting(HostClient(os.fspath(path), timeout_s), timeout_s)
    if pid is not None:
        if (found := sockets().get(pid)) is None:
            raise NoHostError(f"there is no host {pid}")
        return _wait_greeting(HostClient(found, timeout_s), timeout_s)
    hosts = survey()
    candidates = [host for host in hosts if host[1].kind == "host"] or hosts
    chosen = candidates[0][0] if len(candidates) == 1 else None
    for client, _ in hosts:
        if client is not chosen:
            client.close()
    if chosen is not None:
        return chosen
    if not candidates:
        raise NoHostError(NONE_RUNS)
    shown = [f"{info.pid} ({info.kind} in {info.cwd})" for _, info in candidates[:HOSTS_NAMED]]
    more = " …" if len(candidates) > HOSTS_NAMED else ""
    raise SeveralHostsError(
        f"{len(candidates)} hosts are running; name one by its pid: {', '.join(shown)}{more}",
        [info.pid for _, info in candidates],
    )


def _wait_greeting(client: HostClient, timeout_s: float) -> HostClient:
    try:
        client.info.wait(timeout_s)
    except BaseException:
        client.close()
        raise
    return client
