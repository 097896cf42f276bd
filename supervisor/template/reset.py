"""The state that a fork resets, so that it equals a program that was started: signals, session, descriptors, folder,
environment, time zone, standard streams.

CPython itself seeds the global state of `random` anew in every fork. `random.Random` objects of the template, and the
generators of other libraries, continue from the same state in all forks: seed them in the fork. All forks have the
same seed of `hash`, encodings, warning filters and locale.
"""

from __future__ import annotations

import fcntl
import gc
import io
import os
import signal
import stat
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from supervisor.template.protocol import environment_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.template.protocol import Fork

OF_PYTHON: dict[int, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGPIPE: signal.SIG_IGN,
    signal.SIGXFSZ: signal.SIG_IGN,
}
"""The signal actions of a new interpreter; for all other signals the kernel's default holds."""
ALWAYS_BLOCKED = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


class Inherited(NamedTuple):
    """The state of the template when it begins to serve, which a fork inherits."""

    mask: frozenset[int]
    """Blocked signals."""
    handlers: dict[int, Any]
    """The action of a new interpreter for each signal whose action differs from it. Ignored signals stay ignored, as
    in a program that is started."""
    blocked: frozenset[int]
    """The signals to block during a fork: each could run a handler of the template in it."""
    env: dict[bytes, bytes]
    streams: tuple[tuple[int, int] | None, ...]
    """The kinds of the descriptors 0, 1 and 2."""

    @classmethod
    def now(cls) -> Inherited:
        handlers: dict[int, Any] = {}
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            fresh = OF_PYTHON.get(number, signal.SIG_DFL)
            if signal.getsignal(number) not in (fresh, signal.SIG_IGN, None):
                handlers[number] = fresh
        mask = frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        return cls(mask, handlers, ALWAYS_BLOCKED | handlers.keys(), dict(os.environb), tuple(map(_kind, range(3))))

    def block_signals(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, self.blocked)

    def unblock_signals(self) -> None:
        """Restores the mask. Signals that came meanwhile take effect here."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)

    def reset_signals(self) -> None:
        """Sets the handlers and the wake-up descriptor of a new interpreter. The signals stay blocked."""
        signal.set_wakeup_fd(-1)
        for number, handler in self.handlers.items():
            signal.signal(number, handler)

    def enter(self, request: Fork) -> None:
        """Sets folder, umask, environment and time zone of the request. Raises OSError with the folder."""
        os.chdir(request.cwd)
        if request.umask is not None:
            os.umask(request.umask)
        if request.env is not None:
            self._replace_environment(environment_of(request.env))
        gc.enable()

    def _replace_environment(self, env: dict[bytes, bytes]) -> None:
        current = os.environb
        for name in self.env.keys() - env.keys():
            del current[name]
        for name, value in env.items():
            if self.env.get(name) != value:
                current[name] = value
        if env.get(b"TZ") != self.env.get(b"TZ"):
            time.tzset()


def place_descriptors(fds: Sequence[int], kept: int) -> int:
    """Makes `fds` the descriptors 0, 1, 2, 3…; programs inherit only 0, 1 and 2. Returns the new number of `kept`. All
    other descriptors stay open."""
    count = len(fds)
    sources = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, count) if fd < count else fd for fd in fds]
    if kept < count:
        kept = fcntl.fcntl(kept, fcntl.F_DUPFD_CLOEXEC, count)
    for number, fd in enumerate(sources):
        os.dup2(fd, number, inheritable=number < 3)
    return kept


def _kind(fd: int) -> tuple[int, int] | None:
    """The device and type of a descriptor, which decide about its stream; None for a file, which also has a position,
    and for a closed descriptor."""
    try:
        found = os.fstat(fd)
    except OSError:
        return None
    return None if stat.S_ISREG(found.st_mode) else (stat.S_IFMT(found.st_mode), found.st_rdev)


def reopen_streams(kinds: Sequence[tuple[int, int] | None]) -> None:
    """Opens new standard streams on 0, 1 and 2, with the encodings that the interpreter has chosen at its start. Keeps
    the template's stream, which is empty, if the descriptor is of the same kind: a new one takes 0.14 ms."""
    for fd, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if kinds[fd] is not None and kinds[fd] == _kind(fd):
            continue
        old: Any = getattr(sys, name)
        at_once = bool(getattr(old, "write_through", False))  # PYTHONUNBUFFERED
        binary: Any = open(fd, f"{mode}b", 0 if at_once and mode == "w" else -1, closefd=False)  # noqa: SIM115
        getattr(binary, "raw", binary).name = f"<{name}>"
        by_line = name == "stderr" or binary.isatty()
        encoding, errors = getattr(old, "encoding", "utf-8"), getattr(old, "errors", "backslashreplace")
        new: Any = io.TextIOWrapper(binary, encoding, errors, "\n", by_line, at_once)
        new.mode = mode
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def run(entry: Callable[[bytes], int | None], argument: bytes, begin: Callable[[], None]) -> int:
    """Calls `begin`, then the function, and returns the exit status that an interpreter would have. A traceback goes to
    standard error."""
    status = 1
    try:
        begin()
        status = _status(entry(argument))
    except SystemExit as end:
        status = _status(end.code)
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        _flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    return status if _flush() or status else 120


def _status(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, int):
        return value & 0xFF
    print(value, file=sys.stderr)  # noqa: T201
    return 1


def _flush() -> bool:
    """Flushes the output of the function. Returns False if that fails."""
    is_flushed = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except Exception:
            is_flushed = False
    return is_flushed
