"""`zot` on a terminal: opens the screen, after a look at what the project wants trusted.

The screen is in `pyzot.screen`, which this package does not import: the entry module says how to open it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cli.terminal import is_screen, is_terminal, say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

opener: Callable[..., int] | None = None
"""Opens the screen with the flags of a run, the first prompt, and whether as plain lines. Returns the exit status."""


def is_wanted(parameters: Mapping[str, Any]) -> bool:
    """Whether a command line without an output flag opens the screen, or plain lines: if stdin is a terminal, and
    anywhere with `--plain`."""
    return bool(parameters.get("plain")) or is_terminal(0)


def open_screen(parameters: Mapping[str, Any], words: Sequence[str]) -> int:
    """Asks about untrusted extensions of the project, and opens the screen. Returns the exit status."""
    assert opener is not None
    options = {name: value for name, value in parameters.items() if value not in (None, False, ())}
    if options.get("no_session") and {"continue_", "resume", "session"} & options.keys():
        say("zot: --no-session has no effect with -c, -r and --session, which write to their session")
        return 2
    if is_terminal(0) and not (options.get("no_ext") or options.get("trust_project")):
        cwd = os.path.abspath(options.get("cwd") or os.curdir)
        if may_have_extensions(cwd):
            from cli.run.trust_prompt import ask
            from supervisor.home.zot_home import zot_home

            ask(options.get("ext", ()), cwd, zot_home(), options.get("mcp_config", ()))
    is_plain = bool(options.pop("plain", False)) or not (is_screen(0) and is_screen(1))
    return opener(options, first=" ".join(words), plain=is_plain)


def may_have_extensions(project: str) -> bool:
    """Whether the project may have extensions or MCP servers of its own. A cheap look, which is never wrongly no."""
    places = [os.path.join(project, ".zot", "extensions"), os.path.join(project, ".mcp.json")]
    folder = os.path.realpath(project)
    while True:
        places.append(os.path.join(folder, ".github", "extensions"))
        if (above := os.path.dirname(folder)) == folder:
            break
        folder = above
    return any(map(os.path.exists, places))
