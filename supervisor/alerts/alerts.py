"""Makes events of what happens in a host, for the rules of `on_event`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec.structs import replace

from supervisor.alerts.courier import Courier
from supervisor.alerts.inbox import LONGEST, InboxWriter
from supervisor.extension.restart import EndCause
from supervisor.loop.rate_limit import TokenBucket
from wire.text import one_line, valid_text
from wire.traces.alert import AlertEvent, AlertWord, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.accounting.fall import Fall
    from supervisor.extension.extension import Extension
    from supervisor.extension.worker import Worker
    from supervisor.home.config import Config
    from supervisor.loop.loop import Loop
    from wire.stats import HostKind

FALLS: dict[str, AlertWord] = {
    "given_up": "given_up", "refused": "given_up", "limit": "limit", "no_verdict": "no_verdict", "leak": "leak",
}  # fmt: skip
"""The event of each kind of fall that is one."""
RESTARTED = EndCause.REFUSED.value
"""The cause of a `refused` extension that is started again. With another cause it is not."""
BURST, PER_SECOND = 100, 20.0
"""Maximum number of events that are handed over: at once, and in each second after that. Others are counted."""
TEXT = 500
"""Maximum number of characters of a cause or a folder."""


class EventOrigin(NamedTuple):
    """The facts that all events of a host share."""

    host: HostKind
    cwd: str
    run: str = ""
    """The id of its trace; empty without one."""


class Carrier(Protocol):
    """Takes lines with events, without a wait."""

    def send(self, line: bytes) -> None: ...
    def close(self) -> None: ...


class Alerts:
    """The events of one host, a run, or a batch."""

    def __init__(self, loop: Loop, config: Config, origin: EventOrigin, carrier: Carrier) -> None:
        self._loop = loop
        self._wanted = {word for rule in config.on_event for word in rule.events}
        self._origin = origin._replace(cwd=_short(origin.cwd))
        self._carrier = carrier
        self._bucket = TokenBucket(loop.clock(), BURST, PER_SECOND)
        self._left_out = 0

    def fell(self, extension: Extension, _worker: Worker, fall: Fall) -> None:
        """Takes each fall of an extension. One whose process is another host's is that host's to tell, but for the
        verdict that it did not give to this one."""
        word = FALLS.get(fall.kind)
        link = extension.found.link
        if word is None or word not in self._wanted or (fall.kind == "refused" and fall.cause == RESTARTED):
            return
        if link is not None and link.is_hosted and word != "no_verdict":
            return
        origin = self._origin
        self.tell(
            AlertEvent(
                event=word, time=time.time(), host=origin.host, run=origin.run, cwd=origin.cwd,
                extension=_short(extension.name), kind=fall.kind, cause=_short(fall.cause), pid=fall.pid,
            )
        )  # fmt: skip

    def batch_ended(
        self, folder: str, reason: str, statuses: dict[str, int], exit_code: int, cost_usd: float | None
    ) -> None:
        """The last event of a batch."""
        if "batch_end" in self._wanted:
            origin = self._origin
            self.tell(
                AlertEvent(
                    event="batch_end", time=time.time(), host=origin.host, run=origin.run, cwd=origin.cwd,
                    cause=reason, folder=_short(folder), statuses=statuses, exit_code=exit_code, cost_usd=cost_usd,
                )
            )  # fmt: skip

    def tell(self, event: AlertEvent) -> None:
        """Hands over an event, or counts it if too many come."""
        if not self._bucket.admits(self._loop.clock()):
            self._left_out += 1
            return
        line = _line(event, self._left_out)
        if len(line) > LONGEST:
            line = _line(replace(event, cwd="", cause="", folder=""), self._left_out)
        self._left_out = 0
        self._carrier.send(line)

    def close(self) -> None:
        """After the teardown of the host. Waiting events are still delivered."""
        self._carrier.close()


def tell_falls(
    followers: list[Callable[[Extension, Worker, Fall], None]], loop: Loop, config: Config, origin: EventOrigin,
    say: Callable[[str], None], inbox: str = "",
) -> Callable[[], None]:  # fmt: skip
    """From now on the rules of `config` are told of the falls that these followers get. `inbox` is that of the batch to
    which the host belongs. `say` gets lines for the user. Call the returned function after the teardown of the host."""
    alerts = Alerts(loop, config, origin, InboxWriter(inbox) if inbox else Courier(loop, config, say))
    followers.append(alerts.fell)
    return alerts.close


def _line(event: AlertEvent, left_out: int) -> bytes:
    return b'{"event":%s,"left_out":%d}\n' % (encode(event), left_out)


def _short(text: str) -> str:
    return one_line(valid_text(text), TEXT)
