"""A program: `zot` under watch. Writes to a file each import that happens after serving has begun, with its stack.

Usage: late_imports.py FILE ARGUMENT... Serving begins when the loop waits for the first time. From then on an import
may fail: no descriptor is left, or the package has been moved.
"""

from __future__ import annotations

import sys
import traceback
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROGRAM = Path(__file__)
SEPARATOR = "=" * 20 + "\n"


class Watcher:
    """Is asked first for each module that is not loaded yet. Finds none, but notes who asks."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._has_begun = False

    def begins(self, wait: Callable[..., Any]) -> Callable[..., Any]:
        """The same wait, with which serving begins."""

        @wraps(wait)
        def waits(*args: Any, **kwargs: Any) -> Any:
            self._has_begun = True
            return wait(*args, **kwargs)

        return waits

    def ends(self, close: Callable[..., Any]) -> Callable[..., Any]:
        """The same close, with which serving ends."""

        @wraps(close)
        def closes(*args: Any, **kwargs: Any) -> Any:
            self._has_begun = False
            return close(*args, **kwargs)

        return closes

    def find_spec(self, name: str, _path: Sequence[str] | None = None, _target: object = None) -> None:
        if self._has_begun:
            stack = "".join(line for line in traceback.format_stack(limit=12) if "importlib._bootstrap" not in line)
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(f"{name}\n{stack}{SEPARATOR}")


def late_imports(path: Path) -> dict[str, str]:
    """The modules that were imported late, and the stack of each."""
    text = path.read_text() if path.exists() else ""
    return {entry.partition("\n")[0]: entry for entry in text.split(SEPARATOR) if entry}


def main() -> None:
    path, *rest = sys.argv[1:]
    sys.argv = ["zot", *rest]
    from supervisor.loop.loop import Loop

    watcher = Watcher(path)
    Loop.run_until = watcher.begins(Loop.run_until)  # type: ignore[method-assign]
    Loop.wait = watcher.begins(Loop.wait)  # type: ignore[method-assign]
    Loop.close = watcher.ends(Loop.close)  # type: ignore[method-assign]
    sys.meta_path.insert(0, watcher)  # type: ignore[arg-type]
    from pyzot.__main__ import main as zot

    zot()


if __name__ == "__main__":
    main()
