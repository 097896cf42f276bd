"""Extensions and a model worker without processes: what they write is handed to the host as its pipe would do it.

The host's own objects are real, from the loop up; only `Child` is replaced. Time stands still, and goes on when told.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock
from zlib import crc32

from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.loop.loop import Loop
from supervisor.loop.wait_habit import WaitHabit
from supervisor.process.child import ExitStatus
from supervisor.process.table import Identity, ProcessTable
from supervisor.supervisor import Supervisor
from wire.dialects.base import HostInfo
from wire.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOBODY = 2**22 + 7
"""A pid that no process has."""


class _Stdin:
    stuck_since = None
    queued = 0
    is_open = True

    def __init__(self, sent: list[bytes]) -> None:
        self._sent = sent

    def send(self, data: bytes) -> bool:
        self._sent.append(bytes(data))
        return True

    def end(self) -> None:
        pass

    close = end


class _Stdout:
    is_open = True

    def __init__(self) -> None:
        self.habit = WaitHabit()

    def expect_large(self) -> None:
        pass

    def has_input(self) -> bool:
        return False

    def take(self) -> None:
        pass

    def sleep(self, timeout_s: float) -> bool:
        return False


class PretendedChild:
    """Stands in for `supervisor.process.child.Child`. `sent` is what the host wrote to it."""

    def __init__(
        self,
        loop: Loop,
        argv: object,
        *,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        **_options: Any,
    ) -> None:
        self.pid = NOBODY
        self.identity = Identity(NOBODY, 0)
        self.sent: list[bytes] = []
        self.stdin = _Stdin(self.sent)
        self.stdout = _Stdout()
        self.exit: ExitStatus | None = None
        self.write = on_stdout
        """Has the host read these bytes."""
        self._on_exit = on_exit

    @property
    def is_running(self) -> bool:
        return self.exit is None

    def send(self, data: bytes) -> bool:
        return self.is_running and self.stdin.send(data)

    def kill_group(self, _number: int) -> None:
        self.end()

    def end(self, code: int = 0) -> None:
        """The process ends."""
        if self.exit is None:
            self.exit = ExitStatus(code, 0.0, 0)
            self._on_exit(self.exit)


class Stage:
    """A host with one extension, `fuzz`, for one input."""

    def __init__(self, folder: Path) -> None:
        self.now = 1000.0
        self.loop = Loop(lambda: self.now)
        self.shown: list[Any] = []
        self.supervisor = Supervisor(
            self.loop,
            host=HostInfo("1", "fuzz", "none", str(folder)),
            logs=folder / "logs",
            on_show=self.shown.append,
            on_notice=lambda *notice: self.shown.append(notice),
            on_note=lambda extension, level, text: self.supervisor.panels.note(extension.name, level, text),
        )
        self.supervisor.sampler.start = lambda: None  # type: ignore[method-assign]
        self.extension = self.supervisor.add(FoundExtension(folder, Manifest("fuzz", "./none"), Scope.EXPLICIT))
        self.child: Any = self.extension.lead.child
        assert isinstance(self.child, PretendedChild)

    def run_for(self, seconds: float = 0.0) -> None:
        """Time goes on; what is due happens."""
        self.now += seconds
        for _ in range(2):  # a callback of one pass may begin something for the next
            self.loop.run_until(lambda: False, self.now)

    def close(self) -> None:
        self.extension.log.close()
        self.loop.close()


def _no_processes() -> ProcessTable:
    return ProcessTable(())  # a Mock would remember each call


@contextmanager
def pretended_children() -> Iterator[None]:
    """In this block, extensions, the model's worker and the checkers of arguments are no processes, and the process
    table is empty."""
    with (
        mock.patch("supervisor.extension.process_worker.Child", PretendedChild),
        mock.patch("agent.model.worker_process.Child", PretendedChild),
        mock.patch("supervisor.registry.checkers.Child", PretendedChild),
        mock.patch("supervisor.process.table.ProcessTable.read", _no_processes),
    ):
        yield


def pieces(data: bytes) -> Iterator[bytes]:
    """The bytes in pieces, as pipes may give them; of which sizes depends on the bytes."""
    chosen = crc32(data)
    size = (len(data) or 1, 1 + chosen % 7, 1 + chosen % 100, 4096)[chosen >> 8 & 3]
    if len(data) // size > 2000:
        size = 65536
    return (data[start : start + size] for start in range(0, len(data), size))
