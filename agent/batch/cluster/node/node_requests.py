"""The requests of a node's runs to the model: kept here, and sent by a worker of the node when the driver grants it.

The lines of a reply go from the worker to the run at once, but for an `error`: the driver passes that on, or grants the
request again. To the driver go only lines that say how the request goes on, without the reply.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
from msgspec import Raw

from agent.batch.pool.leases import Lease, connection_of, request_line
from agent.batch.throttle import Throttle
from agent.model.access import Endpoint
from agent.model.provider import TERMINAL
from supervisor.process.child import SpawnError
from wire.batch import link, node_frames
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.pool.leases import MakeWorkers, Workers
    from agent.model.provider import Line

CREDENTIALS = ("api_key", "auth_token")
_UNUSED = Throttle(1)
"""The driver has the throttle."""


class _Kept:
    """The request of a run that is not answered yet."""

    def __init__(self, request: link.ModelRequest) -> None:
        self.request = request
        self.lease: Lease | None = None
        """Present while a worker serves it."""


class NodeRequests:
    """`send` gets frames for the driver, `to_run` lines for the link of a run, LF included. `most` returns the maximum
    of workers. `salt` is in each fingerprint, and the same at all nodes."""

    def __init__(
        self,
        make_workers: MakeWorkers,
        *,
        send: Callable[[node_frames.FromNode], None],
        to_run: Callable[[str, bytes], None],
        most: Callable[[], int],
        salt: str,
    ) -> None:
        self._send = send
        self._to_run = to_run
        self._most = most
        self._salt = salt
        self._kept: dict[str, _Kept] = {}
        """By run."""
        self._held: set[str] = set()
        """Runs that do not read."""
        self.workers: Workers = make_workers(on_line=self._on_line, on_failed=self._on_failed)

    def keep(self, run: str, request: link.ModelRequest) -> bytes:
        """Keeps the request of a run in place of an earlier one. Returns its line for the driver."""
        self.drop(run)
        self._kept[run] = _Kept(request)
        configure = without_credentials(bytes(request.configure), self._salt)
        return link.encode(msgspec.structs.replace(request, configure=Raw(configure)))

    def drop(self, run: str) -> None:
        """The run has no request any longer: its worker, if it has one, is killed."""
        kept = self._kept.pop(run, None)
        if kept is not None and kept.lease is not None:
            self.workers.kill(kept.lease)

    def grant(self, run: str, request: str) -> None:
        """Does nothing for a request that is no longer kept, or is being sent."""
        kept = self._kept.get(run)
        if kept is None or kept.request.id != request or kept.lease is not None:
            return
        asked = kept.request
        try:
            connection = connection_of(asked)
            lease = Lease(0, run, asked.id, asked.model, request_line(asked), 0, connection, _UNUSED, 0.0)
            worker = self.workers.lease(lease, self._most())
        except (*UNREADABLE, SpawnError) as error:
            why = (
                f"the model worker could not be started: {error}"
                if isinstance(error, SpawnError)
                else f"the request of the run is not valid: {error}"
            )
            self._break(run, asked.id, why, was_sent=False)
            return
        kept.lease, lease.worker = lease, worker
        if run in self._held:
            worker.hold()
        worker.send_once_ready(lease.line)

    def withdraw(self, run: str, request: str) -> None:
        """Does nothing for a request that is no longer kept."""
        kept = self._kept.get(run)
        if kept is not None and kept.request.id == request:
            self.drop(run)

    def hold(self, run: str, *, held: bool) -> None:
        """With `held` the run does not read: its worker is not read either."""
        (self._held.add if held else self._held.discard)(run)
        kept = self._kept.get(run)
        if kept is not None and kept.lease is not None and kept.lease.worker is not None:
            (kept.lease.worker.hold if held else kept.lease.worker.read_on)()

    # --- from the workers -----------------------------------------------------------------------------------

    def _on_line(self, lease: Lease, line: Line, raw: bytes | bytearray) -> None:
        kind = line["type"]
        if kind in TERMINAL:
            kept = self._kept[lease.run]
            kept.lease = None
            if kind != "error":
                del self._kept[lease.run]
            self.workers.free(lease)
        if kind != "error":
            self._to_run(lease.run, bytes(raw) + b"\n")
        if (told := _for_driver(line, raw)) is not None:
            self._send(node_frames.Replied(run=lease.run, request=lease.id, line=told))

    def _on_failed(self, lease: Lease, message: str) -> None:
        self._break(lease.run, lease.id, message, was_sent=lease.worker is not None and lease.worker.is_ready)

    def _break(self, run: str, request: str, message: str, *, was_sent: bool) -> None:
        self._kept.pop(run, None)
        self._send(node_frames.Broke(run=run, request=request, message=message, was_sent=was_sent))


def _for_driver(line: Line, raw: bytes | bytearray) -> bytes | None:
    """The line of a worker as the driver needs it; None if it does not."""
    kind = line["type"]
    if kind == "final":
        return orjson.dumps({**line, "content": []})
    return bytes(raw) if kind in ("message_start", "retry", "error") else None


# --- credentials --------------------------------------------------------------------------------------------


def without_credentials(configure: bytes, salt: str) -> bytes:
    """A `configure` line with fingerprints in place of credentials, also of those in its address. One that is no JSON
    object becomes an empty one."""
    try:
        line = msgspec.json.decode(configure, type=dict[str, Any])
    except UNREADABLE:
        return b"{}"
    for name in CREDENTIALS:
        if line.get(name):
            line[name] = fingerprint(line[name], salt)
    if url := line.get("base_url"):
        shown = Endpoint(str(url)).shown
        line["base_url"] = url if shown == str(url).rstrip("/") else f"{shown}#{fingerprint(url, salt)}"
    try:
        return orjson.dumps(line)
    except TypeError:  # nested too deep
        return b"{}"


def fingerprint(secret: object, salt: str) -> str:
    """Equal for equal secrets at all nodes of a batch. Without the salt nobody can try secrets."""
    return "sha256:" + sha256(f"{salt}{secret}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
