"""The standard streams of a process that was forked instead of started."""

from __future__ import annotations

import io
import sys
from typing import Any


def reopen() -> None:
    """Opens new standard streams with the encodings that the interpreter chose."""
    for fd, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        old = getattr(sys, name)
        at_once = old.write_through  # PYTHONUNBUFFERED
        binary: Any = open(fd, f"{mode}b", 0 if at_once else -1, closefd=False)  # noqa: SIM115
        getattr(binary, "raw", binary).name = f"<{name}>"
        by_line = name == "stderr" or binary.isatty()
        new: Any = io.TextIOWrapper(binary, old.encoding, old.errors, "\n", by_line, at_once)
        new.mode = mode
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
