"""The output to the client: responses, and the records of prompts. Bounded: a client that does not read is given up.

Bounds of the output that waits for a slow client, smallest first: above `record_queue.JOIN_ABOVE` pieces of the same
text are joined, above `WAITS_ABOVE` the prompt waits for the client, above `WAITING_LIMIT` the client is given up; so
is a client that takes nothing for `STALLED_S`. Requests are always answered.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from agent.output.fd_writer import FdWriter
from agent.rpc.record_queue import RecordQueue
from wire import events
from wire.rpc import responses

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop, Timer

WAITS_ABOVE = 32 * 1024 * 1024
"""Bytes. While more wait, the prompt waits, and notes and panels of extensions are thinned out: so a slow client that
keeps reading gets every record of its prompts. Only responses are written beyond this bound."""
WAITING_LIMIT = 64 * 1024 * 1024
"""Bytes. If more wait, the client is given up at the next line."""
STALLED_S = 60.0
"""Seconds without a byte taken after which the client is given up."""
READER_S = 0.2
HELD_LIMIT = 1000
"""Maximum of records kept before the first response; the oldest are dropped first."""
OF_NO_PROMPT = (
    events.Session,
    events.Extension,
    events.PermissionAsked,
    events.PermissionAnswered,
    events.ExtNotify,
    events.ClearNotes,
    events.ExtDisplay,
    events.ExtInsert,
    events.PanelOpen,
    events.PanelRender,
    events.PanelClose,
)
"""Records of extensions, also of `run_command`, and of the whole session: they come at any time and name no prompt."""


class ClientOutput:
    """Writes lines to the descriptor `fd`. Records that come before the first response are kept until then.

    `on_gone` is called once when the descriptor takes no more data, with "" if the reader has gone. `on_unread` is
    called once with a reason when the client does not read; the rest is dropped then.
    """

    def __init__(
        self,
        loop: Loop,
        fd: int,
        *,
        on_gone: Callable[[str], None],
        on_unread: Callable[[str], None],
        stalled_s: float = STALLED_S,
    ) -> None:
        self._loop = loop
        self._on_unread = on_unread
        self._stalled_s = stalled_s
        self._watchdog: Timer | None = None
        self._is_open = False
        self._first: tuple[events.Session, ...] = ()
        self._held: deque[events.Record] = deque(maxlen=HELD_LIMIT)
        self.prompt = ""
        """The prompt whose records are written; "" if there is none."""
        self.is_sent = False
        """Whether an extension has sent that prompt."""
        self.shows_sent = False
        """Whether the client wants the records of prompts that extensions send."""
        self._clients_calls: set[str] = set()
        """The ids of the open calls of tools that the client makes."""
        self._waiting = RecordQueue()
        self.writer = FdWriter(loop, fd, on_gone, outbox=self._waiting, high_water=WAITS_ABOVE)

    @property
    def is_open(self) -> bool:
        """Whether records are written: the client has sent a line, and the token if one is needed."""
        return self._is_open

    def respond(self, response: responses.Response[Any], *, opens: bool = True) -> None:
        """Writes a response. With `opens`, records are written from now on."""
        if self._takes_more():
            self._waiting.append(responses.encode(response))
            self._push()
        if opens and not self._is_open:
            self._is_open = True
            for record in (*self._first, *self._held):
                self.record(record)
            self._held.clear()

    def record(self, record: events.Record) -> None:
        """Writes a record with the id of its prompt, if the client is to see that prompt."""
        belongs_to = "" if isinstance(record, OF_NO_PROMPT) or self._is_of_client(record) else self.prompt
        if belongs_to and self.is_sent and not self.shows_sent:
            return
        if not self._is_open:
            if isinstance(record, events.Session):
                self._first = (record,)
            else:
                self._held.append(record)
        elif self._takes_more():
            self._waiting.append_record(record, belongs_to)
            self._push()

    def _is_of_client(self, record: events.Record) -> bool:
        """Whether the record is of a call of a tool that the client makes."""
        match record:
            case events.ToolCall(id=call_id, origin="client"):
                self._clients_calls.add(call_id)
            case events.ToolResult(id=call_id, origin="client"):
                self._clients_calls.discard(call_id)
            case events.ToolProgress(id=call_id):
                return call_id in self._clients_calls
            case _:
                return False
        return True

    def line(self, line: bytes) -> None:
        """Writes a line that answers a line of the client, also before the first response."""
        if self._takes_more():
            self._waiting.append(line)
            self._push()

    def look_for_reader(self) -> None:
        """From now on looks every `READER_S` whether the reader has gone. For the end of the input: a socket that is
        both does not show the loop when its peer, which has said that it sends no more, leaves."""
        self.writer.look()
        if not self.writer.broken:
            self._loop.call_later(READER_S, self.look_for_reader)

    def close(self) -> None:
        """Stops writing; later lines are dropped."""
        self.writer.close()
        if self._watchdog is not None:
            self._watchdog.cancel()

    def _takes_more(self) -> bool:
        """Whether a line may be written. Gives the client up if too much waits."""
        if self._waiting.queued > WAITING_LIMIT:
            self._give_up(f"it has left more than {WAITING_LIMIT >> 20} MiB unread")
        return not self.writer.broken

    def _push(self) -> None:
        self.writer.drain()
        if self._watchdog is None and self.writer.stuck_since is not None:
            self._watchdog = self._loop.call_later(self._stalled_s, self._look)

    def _look(self) -> None:
        """Gives the client up if it has taken nothing for `stalled_s`; else sets the timer again."""
        self._watchdog = None
        since = self.writer.stuck_since
        if since is None:
            return
        if self._loop.clock() >= since + self._stalled_s:
            self._give_up(f"it has read nothing for {self._stalled_s:g} s")
        else:
            self._watchdog = self._loop.call_at(since + self._stalled_s, self._look)

    def _give_up(self, reason: str) -> None:
        self.close()
        self._on_unread(reason)
