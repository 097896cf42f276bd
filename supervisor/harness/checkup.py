"""Starts extensions, shakes hands, asks nothing of them, ends them, and notes what happened. Several at a time."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from supervisor.harness.handshake import Handshake, Phase
from supervisor.process.child import SpawnError
from supervisor.process.stop_policy import Patience
from supervisor.registry.registry import Registry
from wire import frames
from wire.dialects.zot import ZotDialect
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.discovery.discover import Found
    from supervisor.harness.harness import Harness
    from supervisor.harness.recorded_process import RecordedProcess
    from supervisor.process.child import ExitStatus
    from supervisor.process.teardown import Teardown
    from wire.dialects.base import Message

AT_ONCE = 4
QUIET_S = 0.1
"""How long it is listened to after the handshake, for what comes late."""
SHOWN = 160
"""Characters of what it said."""


class Force(Enum):
    """What it took to end it."""

    ASKING = "asking"
    CLOSED_STDIN = "closing its stdin"
    SIGTERM = "SIGTERM"
    SIGKILL = "SIGKILL"
    NOTHING = "nothing"
    """It had ended by then."""


@dataclass
class CheckupResult:
    """What a checkup has seen."""

    found: Found
    spawn_error: str = ""
    phase: Phase = Phase.WAITING
    failure: str = ""
    """Why there was no handshake."""
    ready_s: float | None = None
    hello_name: str | None = None
    version: str | None = None
    capabilities: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    intercepts: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    """Registrations that a host would leave out or change, and why."""
    remarks: list[str] = field(default_factory=list)
    junk: int = 0
    """Lines on stdout that are no frames."""
    first_junk: str = ""
    bad_frames: list[str] = field(default_factory=list)
    unknown_frames: list[str] = field(default_factory=list)
    lines: int = 0
    """All that it said, counted up to a limit."""
    is_mute: bool = False
    """It had closed its stdout before it was asked to end."""
    stderr: tuple[str, ...] = ()
    exit: ExitStatus | None = None
    stop_s: float | None = None
    """From the shutdown until it had ended."""
    has_acked: bool = False
    force: Force = Force.ASKING
    left: int = 0
    """Processes of its own that were still there after its end."""
    missing_env: tuple[str, ...] = ()
    """What its manifest asks for and this environment does not have."""


def examine(
    room: Harness,
    found: Sequence[Found],
    *,
    at_once: int = AT_ONCE,
    on_done: Callable[[CheckupResult], None] | None = None,
) -> list[CheckupResult]:
    """All of them, in their order; `on_done` is called as each is done. One that hangs costs its deadlines, which the
    others do not wait for. Raises `InterruptedRehearsalError`."""
    waiting = deque(_Checkup(room, one) for one in found)
    all_of_them = list(waiting)
    running: list[_Checkup] = []

    def go_on() -> bool:
        while True:
            for checkup in list(running):
                checkup.look()
                if checkup.is_over:
                    running.remove(checkup)
                    if on_done is not None:
                        on_done(checkup.facts)
            if not waiting or len(running) >= at_once:
                return not running
            checkup = waiting.popleft()
            checkup.start()
            running.append(checkup)

    room.wait(go_on, _limit(found))
    return [checkup.facts for checkup in all_of_them]


def _limit(found: Sequence[Found]) -> float:
    """More than all of them together can take, one after the other."""
    return 10.0 + sum(
        (one.manifest.timeouts.hello or one.default_hello_s) + one.manifest.timeouts.ready + 10.0 for one in found
    )


class _Stage(Enum):
    GREETING = "greeting"
    LISTENING = "listening"
    ENDING = "ending"
    OVER = "over"


class _Checkup:
    def __init__(self, room: Harness, found: Found) -> None:
        environ = os.environ
        missing = tuple(name for name in found.manifest.env if name not in environ)
        self.facts = CheckupResult(found, missing_env=missing)
        self._room = room
        self._stage = _Stage.GREETING
        self._actor: RecordedProcess | None = None
        self._handshake: Handshake | None = None
        self._teardown: Teardown | None = None

    @property
    def is_over(self) -> bool:
        return self._stage is _Stage.OVER

    def start(self) -> None:
        try:
            self._actor = self._room.start(self.facts.found, on_exit=self._on_exit)
        except SpawnError as error:
            self.facts.spawn_error = str(error)
            self._stage = _Stage.OVER
            return
        places = self._room.prepare(self.facts.found)
        self._handshake = Handshake(self._room.loop, self._actor, places)

    def look(self) -> None:
        """Goes on where something has happened."""
        if self._stage is _Stage.GREETING:
            assert self._handshake is not None
            if self._handshake.look():
                self._stage = _Stage.LISTENING
                patience = 0.0 if self._handshake.phase is Phase.FAILED else QUIET_S
                self._room.loop.call_later(patience, self._stop)
        elif self._stage is _Stage.ENDING and self._teardown is not None:
            self._teardown.hurry()

    def _on_exit(self, _status: ExitStatus) -> None:
        actor = self._actor
        assert actor is not None
        self.facts.left = len(self._room.left_by(actor))

    def _stop(self) -> None:
        assert self._actor is not None
        self._stage = _Stage.ENDING
        self.facts.is_mute = self._actor.is_mute
        if not self._actor.is_running:
            self.facts.force = Force.NOTHING
        self._teardown = self._room.teardown(self._actor, self._over)

    def _over(self) -> None:
        actor, handshake, facts = self._actor, self._handshake, self.facts
        assert actor is not None
        assert handshake is not None
        self._stage = _Stage.OVER
        self._room.actors.remove(actor)
        facts.phase = handshake.phase
        facts.failure = handshake.failure
        if handshake.ready_at is not None:
            facts.ready_s = handshake.ready_at - actor.started_at
        facts.exit = actor.exit
        facts.has_acked = actor.has_acked
        facts.stderr = tuple(actor.stderr_lines())
        if actor.asked_at is not None and actor.ended_at is not None:
            facts.stop_s = actor.ended_at - actor.asked_at
        if facts.force is not Force.NOTHING:
            facts.force = _force_of(actor)
        _take_in(actor, facts)


def _force_of(actor: RecordedProcess, patience: Patience | None = None) -> Force:
    """By when it ended: a program may end in order on SIGTERM."""
    patience = patience or Patience()
    assert actor.asked_at is not None
    lasted = float("inf") if actor.ended_at is None else actor.ended_at - actor.asked_at
    if lasted >= patience.ask + patience.term:
        return Force.SIGKILL
    if lasted >= patience.ask:
        return Force.SIGTERM
    return Force.ASKING if actor.has_acked or actor.stdin_closed_at is None else Force.CLOSED_STDIN


def _take_in(actor: RecordedProcess, facts: CheckupResult) -> None:
    """Judges all that it said as a host does."""
    warned: dict[str, str] = {}

    def warn(key: str, text: str) -> None:
        warned.setdefault(key, text)

    registry = Registry(actor.loop, ZotDialect(), warn, facts.remarks.append)
    for said in actor.heard:
        if said.message is not None:
            _judge(said.message, said.text, registry, facts)
    facts.lines = len(actor.heard)
    facts.warnings += warned.values()
    facts.tools = tuple(registry.tools)
    facts.commands = tuple(registry.commands)
    facts.events = tuple(sorted(registry.observes))
    facts.intercepts = tuple(sorted(registry.guards))


def _judge(message: Message, text: str, registry: Registry, facts: CheckupResult) -> None:
    if isinstance(message, frames.Hello):
        facts.hello_name = facts.hello_name or message.name
        facts.version = facts.version or message.version
        facts.capabilities = facts.capabilities or tuple(message.capabilities or ())
    elif isinstance(message, frames.RegisterTool):
        registry.add_tool(message)
    elif isinstance(message, frames.RegisterCommand):
        registry.add_command(message)
    elif isinstance(message, frames.Subscribe):
        registry.subscribe(message)
    elif isinstance(message, frames.UnknownFrame):
        facts.unknown_frames.append(one_line(message.type, SHOWN))
    elif isinstance(message, frames.Malformed) and message.type is None:
        facts.junk += 1
        facts.first_junk = facts.first_junk or one_line(text, SHOWN) or message.reason
    elif isinstance(message, frames.Malformed):
        facts.bad_frames.append(one_line(message.reason, SHOWN))
