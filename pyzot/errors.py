"""The errors of this package."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .events import Result


class ZotError(Exception):
    """Base of all errors of this package."""


class ClosedError(ZotError):
    """The runtime is closed, or belongs to another process (this one was forked from it)."""


class BusyError(ZotError):
    """Another prompt runs, or the call was made where it can never be answered: in a callback of this runtime."""


class RefusedError(ZotError):
    """The engine has refused a request; the text says why. `code` is a word for programs: `no_prompt` if no prompt
    runs, `busy` if another run writes to the session; empty for other reasons."""

    def __init__(self, text: str = "", code: str = "") -> None:
        self.code = code
        super().__init__(text)


class SessionBusyError(RefusedError):
    """Another run writes to the session."""


class ProtocolError(ZotError):
    """The child does not answer, or not like an engine: it is another program, or another version."""


class UnreadError(ZotError):
    """Too many events of a prompt were left unread; the prompt is aborted."""


class RuntimeDied(ZotError):  # noqa: N818  (the word of the documents)
    """The engine's process has ended. `exit_status` is its exit status, negative for a signal, and `stderr` its last
    lines on standard error."""

    def __init__(self, exit_status: int, stderr: Sequence[str]) -> None:
        self.exit_status = exit_status
        self.stderr = tuple(stderr)
        how = f"was killed by signal {-exit_status}" if exit_status < 0 else f"ended with exit status {exit_status}"
        said = "".join(f"\n  {line}" for line in self.stderr)
        super().__init__(f"zot {how}{':' if said else ''}{said}")


class BatchError(ZotError):
    """A batch has not begun, or has not ended in good order. `exit_status` is that of `zot batch`, negative for a
    signal: 2 says that a task or an option is wrong. `stderr` has its last lines with the reason."""

    def __init__(self, exit_status: int, stderr: Sequence[str]) -> None:
        self.exit_status = exit_status
        self.stderr = tuple(stderr)
        how = f"was killed by signal {-exit_status}" if exit_status < 0 else f"ended with exit status {exit_status}"
        super().__init__("\n  ".join([f"zot batch {how}:", *self.stderr] if self.stderr else [f"zot batch {how}"]))


class PromptFailed(ZotError):  # noqa: N818
    """A prompt did not end with status `ok`; `result` has its end."""

    def __init__(self, result: Result) -> None:
        self.result = result
        super().__init__(f"{result.status}: {result.reason}")


class HostError(ZotError):
    """A host cannot be reached, or does not answer."""


class NoHostError(HostError):
    """No host runs, or no host with this pid."""


class SeveralHostsError(HostError):
    """Several hosts run: name one by its pid. `pids` has their pids."""

    def __init__(self, message: str, pids: Sequence[int]) -> None:
        self.pids = tuple(pids)
        super().__init__(message)


class HostGoneError(HostError):
    """The host has ended, or has closed the connection."""


class HostRefusedError(HostError, RefusedError):
    """The host has refused a request; the text says why."""
