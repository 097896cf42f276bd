"""Opens files beneath a folder in which a stranger may change names at any time. The kernel's own walk is the check
(`openat2` with `RESOLVE_BENEATH`, Linux 5.6): a check before the walk would be too early, and one after it too late."""

from __future__ import annotations

import ctypes
import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NUMBER = 437
"""Of the system call, on all processors that Python runs on but Alpha."""
NO_MAGIC_LINKS, NO_LINKS, BENEATH = 0x02, 0x04, 0x08
RACES = 100
"""Attempts. A walk through `..` fails with EAGAIN if anything on the machine was renamed meanwhile."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_root(root: str) -> int:
    """A descriptor of the folder. Raises `OSError`."""
    return os.open(root, _PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def open_beneath(root: int, path: str, flags: int, *, follows: bool = True) -> int:
    """A descriptor of what `path`, relative to the open folder `root`, leads to. Links on the way must stay beneath it;
    without `follows` there may be none. Raises `OSError`: EXDEV for a path that leads out, ELOOP for a forbidden
    link."""
    how = _How(flags | os.O_CLOEXEC, 0, BENEATH | NO_MAGIC_LINKS | (0 if follows else NO_LINKS))
    call = _syscall()
    for _ in range(RACES):
        fd = call(NUMBER, root, os.fsencode(path) or b".", ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number), path)


def is_supported() -> bool:
    """Whether this system can open files in this way."""
    try:
        root = open_root("/")
    except OSError:
        return False
    try:
        os.close(open_beneath(root, ".", _PATH))
    except (OSError, AttributeError, ValueError):
        return False
    finally:
        os.close(root)
    return True


_PATH: int = getattr(os, "O_PATH", 0)


def _syscall() -> Callable[..., int]:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_How), ctypes.c_size_t)
    return call
