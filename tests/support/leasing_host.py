"""A supervisor with an attach server, and runs that speak to it line by line."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.loop.future import Failure
from supervisor.sharing import leased_extension
from supervisor.sharing.attach_server import AttachServer
from tests.support.host import Host
from wire import frames
from wire.dialects import attach

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

VERSION = "1.0"


def received(record: Path, *kinds: str) -> list[dict[str, Any]]:
    """The frames that processes of `lease_holder.py` have got, of these types or about leases."""
    kinds = kinds or ("lease_begin", "lease_end")
    found = [json.loads(line) for line in record.read_text().splitlines() if line.endswith("}")]
    return [each for each in found if each["type"] in kinds]


def limit_to(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """A leased extension has at most so many processes."""
    step = leased_extension.next_step
    monkeypatch.setattr(leased_extension, "next_step", lambda waiting, places: step(waiting, places, limit))


class LeasingHost(Host):
    """A host to which runs attach. `shared` has the names of its `--share`."""

    def __init__(self, folder: Path, shared: tuple[str, ...] = ()) -> None:
        super().__init__(folder)
        self.server = AttachServer(
            self.loop, self.supervisor, version=VERSION, cwd=str(folder), folder=folder / "run", shared=shared
        )
        self.runs: list[RawRun] = []
        self.supervisor._on_notice = self._noticed

    def _noticed(self, extension: Any, kind: Any, message: str) -> None:
        self.notices.append((extension.name, kind, message))
        self.server.notice(extension.name, kind, message)

    def start(self) -> LeasingHost:
        assert self.server.start() is None
        super().start()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self.server.close()
        for run in self.runs:
            run.socket.close()

    def attach(self, session: str, cwd: str = "/p") -> RawRun:
        """A run with this session, which has taken nothing."""
        run = RawRun(self, session, cwd)
        self.runs.append(run)
        return run

    def run(self, session: str, cwd: str = "/p", name: str = "leased") -> RawRun:
        """A run that has taken an extension, which is ready for it."""
        run = self.attach(session, cwd)
        run.take(name)
        run.until(attach.Registered)
        return run

    def pids(self, name: str = "leased") -> list[int]:
        """The processes of an extension."""
        workers = self.extension(name).all_workers
        return [worker.pid for worker in workers if worker.is_running and worker.pid is not None]


class RawRun:
    """One run, as the host sees it. `lines` has all that the host has told."""

    def __init__(self, host: LeasingHost, session: str, cwd: str) -> None:
        self.host = host
        self.session = session
        self.lines: list[Any] = []
        self._seen = 0
        self._rest = b""
        self._ids = 0
        self.is_closed = False
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(host.server.path))
        self.socket.setblocking(False)
        self.send(attach.Attach(attach.PROTOCOL, VERSION, 1, session, cwd))
        self.attached = self.until(attach.Attached)

    # --- to the host ----------------------------------------------------------------------------------------

    def send(self, line: Any) -> None:
        self.socket.sendall(attach.encode(line))

    def take(self, name: str = "leased") -> None:
        self.name = name
        self.send(attach.Take(name))

    def frame(self, frame: Any) -> None:
        """Sends a frame for the extension."""
        self.socket.sendall(attach.ext_line(attach.ext_head(self.name), frames.encode(frame)))

    def begin(self, do: str, tool: str = "do", **args: Any) -> str:
        """Begins a call; returns its id."""
        self._ids += 1
        call = f"{self.session}-{self._ids}"
        self.frame(frames.ToolCall(call, tool, msgspec.Raw(json.dumps({"do": do, **args}).encode())))
        return call

    def end(self) -> None:
        self.socket.close()

    # --- from the host --------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            while data := self.socket.recv(1 << 20):
                *whole, self._rest = (self._rest + data).split(b"\n")
                for line in whole:
                    told = attach.decode_from_host(line)
                    is_frame = isinstance(told, attach.Ext)
                    self.lines.append(frames.decode_from_extension(bytes(told.frame)) if is_frame else told)  # type: ignore[union-attr]
            self.is_closed = True
        except (BlockingIOError, ConnectionError):
            pass

    def all(self, wanted: type, /, **fields: Any) -> list[Any]:
        """All that was told of this kind so far."""
        self._read()
        return [x for x in self.lines if isinstance(x, wanted) and all(getattr(x, k) == v for k, v in fields.items())]

    def until(self, wanted: type, count: int = 1, /, **fields: Any) -> Any:
        """Waits until so many of this kind were told; returns the last one."""
        self.host.until(lambda: len(self.all(wanted, **fields)) >= count)
        return self.all(wanted, **fields)[count - 1]

    def text(self, call: str) -> str:
        """Waits for the answer of a call."""
        answer = self.until(frames.ToolResult, id=call)
        return "".join(block.text or "" for block in answer.content)

    def call(self, do: str, tool: str = "do", **args: Any) -> str:
        return self.text(self.begin(do, tool, **args))

    def failure(self, call: str) -> attach.Failed:
        failed: attach.Failed = self.until(attach.Failed, id=call)
        assert failed.failure in [each.value for each in Failure]
        return failed

    def ends_of(self, call: str) -> list[Any]:
        """The answers and failures of a call so far."""
        return [*self.all(frames.ToolResult, id=call), *self.all(attach.Failed, id=call)]

    def call_again(self, do: str) -> str:
        """The text of a call that may fail; "" if it does."""
        call = self.begin(do)
        self.host.until(lambda: self.ends_of(call))
        (end,) = self.ends_of(call)
        return end.content[0].text or "" if isinstance(end, frames.ToolResult) else ""

    def states(self) -> list[str]:
        return [each.state for each in self.all(attach.State)]
