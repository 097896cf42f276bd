"""Starts the screen: on a terminal that can move its cursor, else as plain lines."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def start(options: Mapping[str, Any], *, first: str = "", plain: bool = False) -> int:
    """Shows the screen until the user leaves. `options` are the flags of a run by their names, `first` is the first
    prompt. Returns the exit status: 0, or that of an engine that did not start."""
    if plain or not can_draw():
        from .plain import serve
    else:
        from .terminal.screen import serve
    return serve(options, first=first)


def can_draw() -> bool:
    """Whether stdin and stdout are a terminal whose cursor can be moved."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")
