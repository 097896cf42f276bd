"""The host's end of its courier, the process that delivers events. It is started by the first event."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.cleanup.reaper import KEPT_VARIABLES
from supervisor.discovery.environment import minimal_environment
from supervisor.loop.rate_limit import TokenBucket
from supervisor.process.child import Child, ExitStatus, SpawnError
from wire.framing import LineSplitter, Oversize
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.home.config import Config, EventRule
    from supervisor.loop.loop import Loop

PROGRAM = Path(__file__).with_name("courier_main.py")
POST = Path(__file__).with_name("post_main.py")
PROXIES = ("*_proxy", "*_PROXY")
"""Further variables of a POST. A program gets none of them: the address of a proxy may have a password."""
STARTS, AGAIN_S = 2, 60.0
"""Maximum number of starts at once, and seconds until there may be another one."""
LINE_LIMIT = 64 * 1024
SHOWN = 300
"""Maximum number of characters of a failure."""


class Failure(msgspec.Struct, frozen=True):
    """A line of the courier: the first failure of a rule."""

    rule: int
    failure: str


_failure = msgspec.json.Decoder(Failure)


class Courier:
    """Starts the process, and tells it of events without a wait. `say` gets a line for the user, once for each rule
    that fails."""

    def __init__(self, loop: Loop, config: Config, say: Callable[[str], None]) -> None:
        self._loop = loop
        self._say = say
        self._names = [_name(rule) for rule in config.on_event]
        order = {"rules": [_order(rule, config) for rule in config.on_event], "cwd": _folder()}
        self._order = json.dumps(order).encode()  # keeps what is not UTF-8 in the environment, which msgspec refuses
        self._child: Child | None = None
        self._is_closed = False
        self._starts = TokenBucket(loop.clock(), STARTS, 1 / AGAIN_S)
        self._splitter = LineSplitter(LINE_LIMIT)

    def send(self, line: bytes) -> None:
        """Hands over a line with an event, LF included. A line that the courier does not take is lost."""
        if self._child is None and not self._is_closed and self._starts.admits(self._loop.clock()):
            self._start()
        if self._child is not None:
            self._child.send(line)

    def _start(self) -> None:
        self._splitter = LineSplitter(LINE_LIMIT)
        env = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        try:
            self._child = Child(
                self._loop, [sys.executable, "-I", "-S", str(PROGRAM)], cwd="/", env=env,
                on_stdout=self._on_stdout, on_stderr=_ignore, on_exit=self._on_exit,
            )  # fmt: skip
        except SpawnError as error:
            self._say(f"on_event: {error}")
            return
        self._loop.outliving.add(self._child.pid)
        self._child.send(self._order + b"\n")

    def _on_stdout(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            if isinstance(line, Oversize):
                continue
            failed = _failure.decode(line)
            name = self._names[failed.rule]
            self._say(f"on_event[{failed.rule}] ({name}): {one_line(failed.failure, SHOWN)}; told once")

    def _on_exit(self, status: ExitStatus) -> None:
        if self._child is not None:
            self._loop.outliving.discard(self._child.pid)
            self._child = None
            self._say(f"on_event: the process that tells of events has ended ({status}); some may be lost")

    def close(self) -> None:
        """Lets the process go. It delivers what waits, and ends. To be called after the teardown of the host."""
        child, self._child = self._child, None
        self._is_closed = True
        if child is not None:
            child.let_go()


def _name(rule: EventRule) -> str:
    """For messages. An address may hold a secret anywhere but in the name of its server."""
    if rule.post is None:
        return one_line(os.path.basename((rule.run or ("",))[0]), 60)
    from urllib.parse import urlsplit

    try:
        return f"post {urlsplit(rule.post).hostname or ''}"
    except ValueError:
        return "post"


def _order(rule: EventRule, config: Config) -> dict[str, Any]:
    """The rule as the courier reads it."""
    if rule.post is None:
        env = minimal_environment(config, os.environ)
        return {"events": rule.events, "argv": rule.run, "head": "", "env": env}
    env = minimal_environment(config, os.environ, *PROXIES, *KEPT_VARIABLES)
    argv = (sys.executable, "-I", "-S", str(POST))
    return {"events": rule.events, "argv": argv, "head": f"{rule.post}\n", "env": env}


def _folder() -> str:
    home = os.environ.get("HOME", "")
    return home if os.path.isabs(home) and os.path.isdir(home) else "/"


def _ignore(_data: bytes) -> None:
    """The courier writes there only if it has a defect; then it ends, which is told."""
