"""Calls what the program has given."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


def tell(callback: Callable[[T], None], value: T) -> None:
    """Calls `callback`. What it raises is the program's own fault: it is shown as an uncaught exception is, and what
    has called it goes on."""
    try:
        callback(value)
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
