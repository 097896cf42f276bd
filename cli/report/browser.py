"""Opens a page in the user's browser, without waiting for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT_S = 10.0
"""Seconds that the start of a browser may take; one that still runs then is open."""
OPEN = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"


def open_in_browser(page: str) -> str:
    """Opens a file in the browser that the system or $BROWSER names. Returns why none could be started; empty if one
    was. The browser runs in a session of its own, and writes nothing here."""
    if not _has_screen(os.environ):
        return "there is no display here"
    # A child, since `webbrowser` waits for some browsers. -I: no file of the current folder is imported.
    command = [sys.executable, "-I", "-c", OPEN, Path(page).absolute().as_uri()]
    quiet = subprocess.DEVNULL
    try:
        with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True) as child:
            try:
                has_opened = child.wait(LIMIT_S) == 0
            except subprocess.TimeoutExpired:
                child.kill()  # it waits for the browser, which goes on
                has_opened = True
    except OSError as error:
        return f"no browser could be started: {error.strerror}"
    return "" if has_opened else "no browser could be started"


def _has_screen(environment: Mapping[str, str]) -> bool:
    """Whether a browser would have a window. Without one `webbrowser` would start a browser for terminals."""
    return sys.platform == "darwin" or any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
