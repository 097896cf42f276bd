"""Takes a secret word out of this process's own command line, which every user of the machine can read."""

from __future__ import annotations

import ctypes
import os


def blot_out(word: str) -> None:
    """Overwrites the word by asterisks where the kernel shows it. Linux only; elsewhere, and where that fails, nothing
    happens. `sys.argv` stays."""
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end
        at = ctypes.string_at(start, end - start).find(os.fsencode(word) + b"\0") if 0 < start < end else -1
        if at >= 0:
            ctypes.memset(start + at, ord("*"), len(os.fsencode(word)))
    except (OSError, ValueError, IndexError):
        pass
