"""Profiles an extension for `zot top`, in a child: the screen goes on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cli.hosts.profile_order import profile_order, reason_against
from supervisor.process.child import SpawnError
from supervisor.profile.errors import ProfileError
from supervisor.profile.profile_child import END_S, ProfileChild
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop
    from supervisor.profile.outcome import Outcome
    from wire.stats import Stats

SECONDS = 10
LATEST_S = 60.0
"""Maximum number of seconds until a profile is there."""


class TopProfiling:
    """The one profile that is being made, if any. `say` gets a message about it."""

    def __init__(self, loop: Loop, say: Callable[[str], None]) -> None:
        self._loop = loop
        self._say = say
        self._running: ProfileChild | None = None

    @property
    def is_running(self) -> bool:
        return self._running is not None and self._running.child.is_running

    def begin(self, name: str, stats: Stats) -> None:
        """Profiles an extension for `SECONDS`; says why if that cannot be done."""
        shown = one_line(name, 200)
        if self.is_running:
            self._say("a profile is being made; one at a time")
            return
        extension = stats.extensions.get(name)
        if extension is None or (why := reason_against(extension, name)):
            self._say(f"{shown} {why if extension is not None else 'has gone'}")
            return

        def ended(outcome: Outcome) -> None:
            made = outcome.profile
            self._say(f"{shown}: {outcome.error if made is None else f'{made.headline}; {_short(made.file)}'}")

        try:
            order = profile_order(extension, name, stats.host.started, stats.host.pid, SECONDS)
            self._running = ProfileChild(self._loop, order, {}, within_s=LATEST_S, on_outcome=ended)
        except (ProfileError, SpawnError) as error:
            self._say(f"{shown}: {error}")
        else:
            self._say(f"{shown} is being profiled for {SECONDS} s")

    def stop(self) -> None:
        """Ends the child, and waits until it has closed what it had opened."""
        if (running := self._running) is not None and running.child.is_running:
            running.stop("zot top ends")
            self._loop.run_until(lambda: not running.child.is_running, self._loop.clock() + END_S + 1)


def _short(path: str) -> str:
    home = os.path.expanduser("~") + "/"
    return "~/" + path.removeprefix(home) if path.startswith(home) else path
