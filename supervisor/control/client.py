"""The client of the control socket, for commands that ask a running host. Blocking; every wait has a timeout."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from supervisor.control import unix_socket
from supervisor.home import runtime_dir
from wire import control
from wire.framing import LineSplitter, Oversize

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import Self

    from wire.batch import control as batch_control

    AnyRequest = control.Request | batch_control.Request

PATIENCE_S = 5.0
"""Default timeout of each wait, in seconds."""
READ = 256 * 1024
FRAME_LIMIT = 256 * 1024 * 1024
"""Maximum of one line in bytes. The registrations of a host with hundreds of extensions make the longest line."""


class ControlError(Exception):
    """A host cannot be reached or refuses; the text says which host and why."""


class GoneError(ControlError):
    """The host has closed the connection."""


class Endpoint(NamedTuple):
    """The pid of a host and the path of its socket."""

    pid: int
    path: Path


Expected = TypeVar("Expected")


def endpoints(folders: Iterable[Path]) -> list[Endpoint]:
    """All sockets in these folders, sorted by pid. Some may be left from hosts that have ended."""
    found = {pid: Endpoint(pid, path) for folder in folders for pid, path in runtime_dir.sockets_in(folder)}
    return [found[pid] for pid in sorted(found)]


def hosts(
    folders: Iterable[Path], timeout_s: float = PATIENCE_S
) -> list[tuple[Endpoint, ControlClient | ControlError]]:
    """All running hosts in these folders, each with a connection, or with the reason why it has no connection. Sockets
    of hosts that have ended are removed."""
    found: list[tuple[Endpoint, ControlClient | ControlError]] = []
    for endpoint in endpoints(folders):
        try:
            found.append((endpoint, ControlClient(endpoint, timeout_s)))
        except GoneError:
            continue
        except ControlError as error:
            found.append((endpoint, error))
    return found


class ControlClient:
    """A connection to one host, or to another process with such a socket: `name` is its name, and `decode` reads its
    replies. `timeout_s` is the default timeout of each wait, in seconds. Raises `GoneError` if the host has ended,
    `ControlError` if it takes no connection."""

    def __init__(
        self,
        endpoint: Endpoint,
        timeout_s: float = PATIENCE_S,
        *,
        name: str = "",
        decode: Callable[[bytes], Any] = control.decode_reply,
    ) -> None:
        self.pid = endpoint.pid
        self._name = name or f"host {endpoint.pid}"
        self._decode = decode
        self._timeout_s = timeout_s
        self._number = 0
        self._splitter = LineSplitter(FRAME_LIMIT)
        self._replies: deque[control.Reply] = deque()
        self._unread: deque[control.Reply] = deque()
        try:
            self._socket = unix_socket.connect(endpoint.path, timeout_s)
        except (ConnectionRefusedError, FileNotFoundError):
            raise GoneError(f"{self._name} no longer runs") from None
        except OSError as error:
            raise ControlError(f"{self._name} cannot be reached: {error.strerror or error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    def next_id(self) -> str:
        self._number += 1
        return str(self._number)

    # --- requests -----------------------------------------------------------------------------------------

    def send(self, request: AnyRequest) -> None:
        """Sends a request. Raises `ControlError` if it is not read in time, `GoneError` if the host is gone."""
        try:
            self._socket.settimeout(self._timeout_s)
            self._socket.sendall(msgspec.json.encode(request) + b"\n")
        except TimeoutError:
            raise ControlError(f"{self._name} has read nothing for {self._timeout_s:g} s") from None
        except OSError:
            if not self._replies:
                self._read_refusal()
            if not self._replies:
                raise GoneError(f"{self._name} has closed the connection") from None

    def ask(self, request: AnyRequest, expected: type[Expected], timeout_s: float | None = None) -> Expected:
        """Sends a request with an id and waits for the answer, by default the client's timeout. Raises `ControlError`
        if the answer is an error (with the host's text) or does not come in time. Other replies are kept for `next`."""
        self.send(request)
        return self.answer_to(request.id, expected, timeout_s)  # type: ignore[union-attr]

    def answer_to(self, id_: str, expected: type[Expected], timeout_s: float | None = None) -> Expected:
        """Waits for the answer to the request with this id. Raises `ControlError` if the answer is an error (with the
        host's text) or does not come in time. Other replies are kept for `next`."""
        deadline = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        while (reply := self._receive(deadline)) is not None:
            if isinstance(reply, control.ErrorReply) and reply.id in (id_, None):
                raise ControlError(f"{self._name}: {reply.message}")
            if getattr(reply, "id", None) != id_:
                self._unread.append(reply)
            elif isinstance(reply, expected):
                return reply
            else:
                raise ControlError(f"{self._name} answered with {reply.__struct_config__.tag}")
        raise ControlError(f"{self._name} does not answer")

    def next(self, timeout_s: float | None = None) -> control.Reply | None:
        """The next reply, in order; None if it does not come within `timeout_s` seconds. Waits without limit if that is
        None. Raises `GoneError` if the host has closed the connection."""
        if self._unread:
            return self._unread.popleft()
        return self._receive(None if timeout_s is None else time.monotonic() + timeout_s)

    def stream(self) -> Iterator[control.Reply]:
        """All replies, until the host closes the connection."""
        try:
            while (reply := self.next()) is not None:
                yield reply
        except GoneError:
            return

    def take(self) -> list[control.Reply]:
        """All replies that have come and were not taken yet, without waiting. Raises `GoneError` if the host has closed
        the connection."""
        self._read(0.0)
        replies = [*self._unread, *self._replies]
        self._unread.clear()
        self._replies.clear()
        return replies

    # --- receiving ----------------------------------------------------------------------------------------

    def _receive(self, deadline: float | None) -> control.Reply | None:
        while not self._replies:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return None
            if not self._read(left):
                return None
        return self._replies.popleft()

    def _read(self, timeout_s: float | None) -> bool:
        """Reads once. Returns False if nothing came within `timeout_s` seconds."""
        try:
            self._socket.settimeout(timeout_s)
            data = self._socket.recv(READ)
        except (TimeoutError, BlockingIOError):
            return False
        except OSError:
            data = b""
        if not data:
            raise GoneError(f"{self._name} has closed the connection")
        for line in self._splitter.feed(data):
            if isinstance(line, Oversize):
                raise ControlError(f"{self._name} sent a line of {line.size} bytes")
            try:
                self._replies.append(self._decode(bytes(line)))
            except control.ControlError as error:
                raise ControlError(f"{self._name} speaks another version of the protocol: {error}") from None
        return True

    def _read_refusal(self) -> None:
        """Reads the replies that the host sent before it closed: a host that refuses a client says why."""
        try:
            while self._read(0.2):
                pass
        except ControlError:
            return

    def is_gone(self, timeout_s: float) -> bool:
        """Waits until the host has closed the connection. Returns False if it has not within `timeout_s` seconds."""
        deadline = time.monotonic() + timeout_s
        try:
            while (left := deadline - time.monotonic()) > 0:
                self._read(left)
        except GoneError:
            return True
        return False

    def release(self) -> socket.socket:
        """Gives its connection away, once all answers are here: it sends and receives nothing more."""
        return self._socket

    def close(self) -> None:
        self._socket.close()
