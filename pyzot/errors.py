"""What a runtime raises."""

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
    """A prompt runs already, or the call comes from where it could never be answered: a callback of this runtime."""


class RefusedError(ZotError):
    """The engine has refused a request; the text says why. `code` says it to programs, where the engine has one for
    it: `no_prompt` if no prompt runs, `busy` if another run writes to the session; otherwise it is empty."""

    def __init__(self, text: str = "", code: str = "") -> None:
        self.code = code
        super().__init__(text)


class SessionBusyError(RefusedError):
    """Another run writes to the session."""


class ProtocolError(ZotError):
    """The child says something that no engine says, or does not answer: it is another program, or another version."""


class UnreadError(ZotError):
    """Too much of a prompt was left unread; the prompt is aborted."""


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
    signal: 2 says that a task or an option is wrong. `stderr` has its last lines, which say why."""

    def __init__(self, exit_status: int, stderr: Sequence[str]) -> None:
        self.exit_status = exit_status
        self.stderr = tuple(stderr)
        how = f"was killed by signal {-exit_status}" if exit_status < 0 else f"ended with exit status {exit_status}"
        super().__init__("\n  ".join([f"zot batch {how}:", *self.stderr] if self.stderr else [f"zot batch {how}"]))


class PromptFailed(ZotError):  # noqa: N818
    """A prompt has not ended with status `ok`; `result` says how."""

    def __init__(self, result: Result) -> None:
        self.result = result
        super().__init__(f"{result.status}: {result.reason}")


class HostError(ZotError):
    """A host cannot be reached, or does not answer."""


class NoHostError(HostError):
    """No host runs, or none with this pid."""


class SeveralHostsError(HostError):
    """Several hosts run: one is to be named by its pid. `pids` has them."""

    def __init__(self, message: str, pids: Sequence[int]) -> None:
        self.pids = tuple(pids)
        super().__init__(message)


class HostGoneError(HostError):
    """The host has ended, or has closed the connection."""


class HostRefusedError(HostError, RefusedError):
    """The host has refused a request; the text says why."""
