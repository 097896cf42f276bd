"""Plays two sessions at the same time, or two leases, to an extension that says that it serves several runs.

Each session has a folder with files of the same names and other contents; tools that only read get a relative path.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from supervisor.harness.session_plan import made_up_arguments, path_arguments
from wire import frames
from wire.dialects.base import RunSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from supervisor.harness.harness import Harness
    from supervisor.harness.recorded_process import RecordedProcess

TRY_S = 2.0
"""Seconds for the answers to two calls, and for a `lease_ready`."""
TOOLS_TRIED = 5
LONGEST_S = (TOOLS_TRIED + 1) * TRY_S


class PlayedSession(NamedTuple):
    """One of the two sessions. Its secret is in the files of its folder alone."""

    name: str
    about: RunSession
    secret: str


class TriedCall(NamedTuple):
    """A call for one of the sessions. `result` is None without an answer."""

    tool: str
    session: PlayedSession
    result: frames.ToolResult | None

    @property
    def text(self) -> str:
        return "" if self.result is None else "\n".join(block.text or "" for block in self.result.content or ())


@dataclass
class SessionTrial:
    """The record of one trial."""

    sessions: tuple[PlayedSession, ...] = ()
    probe: str = ""
    """The name of the folder in the folders of both sessions."""
    calls: list[TriedCall] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)
    """Tools with a path among their arguments that may write, and those beyond `TOOLS_TRIED`."""
    is_announced: bool = False
    """Whether the hello has the feature `leases`."""
    ready_s: list[float | None] = field(default_factory=list)
    """Seconds until the `lease_ready` of each lease; None without one."""


class SessionPlayer:
    """Plays a trial step by step; never waits."""

    def __init__(self, harness: Harness, process: RecordedProcess) -> None:
        self.trial = SessionTrial(probe=f"zot-doctor-{os.urandom(4).hex()}")
        self._harness = harness
        self._clock = harness.loop.clock
        self._process = process
        is_leased = process.found.manifest.sessions == "leased"
        self._steps = self._play_leases() if is_leased else self._play_sessions()
        self._is_done: Callable[[], bool] = lambda: True
        self._deadline = 0.0

    def advance(self) -> bool:
        """Takes the steps that are due. Returns True at the end."""
        while not self._process.is_running or self._is_done() or self._clock() >= self._deadline:
            if (is_done := next(self._steps, None)) is None:
                return True
            self._is_done, self._deadline = is_done, self._clock() + TRY_S
            self._harness.loop.call_later(TRY_S, lambda: None)  # the loop then looks again
        return False

    def _lay(self, name: str) -> PlayedSession:
        cwd, secret, probe = self._harness.prepare(self._process.found).cwd, os.urandom(8).hex(), self.trial.probe
        folder = Path(cwd, probe)
        folder.mkdir()
        for file in (Path(cwd, f"{probe}.txt"), folder / f"{probe}.txt", folder / secret):
            file.write_text(f"{secret}\n")
        return PlayedSession(name, RunSession(f"{name}-{os.urandom(4).hex()}", cwd), secret)

    def _play_sessions(self) -> Iterator[Callable[[], bool]]:
        process, trial = self._process, self.trial
        trial.sessions = (self._lay("first"), self._lay("second"))
        with_paths = [tool for tool in process.registry.tools.values() if path_arguments(tool)]
        tried = [tool for tool in with_paths if (tool.read_only or tool.retry) and not tool.is_interactive]
        trial.untried += [tool.name for tool in with_paths if tool not in tried[:TOOLS_TRIED]]
        self._tell("session_start")
        for tool in tried[:TOOLS_TRIED]:
            args = msgspec.json.encode(made_up_arguments(tool, trial.probe, f"{trial.probe}.txt"))
            asked = [process.requests.call(tool.name, args, TRY_S, run=each.about) for each in trial.sessions]
            yield lambda asked=asked: all(pending.done for pending in asked)  # type: ignore[misc]
            for session, pending in zip(trial.sessions, asked, strict=True):
                process.requests.cancel(pending, "no answer in time")
                trial.calls.append(TriedCall(tool.name, session, pending.value))
        self._tell("session_end", reason="shutdown")

    def _tell(self, event: str, reason: str | None = None) -> None:
        for each in self.trial.sessions if event in self._process.registry.observes else ():
            said = frames.Event(event, reason=reason, session_id=each.about.id, cwd=each.about.cwd)
            self._process.requests.tell(said)

    def _play_leases(self) -> Iterator[Callable[[], bool]]:
        process, hello, trial = self._process, self._process.hello, self.trial
        trial.is_announced = hello is not None and "leases" in (hello.features or ())
        for session in (self._lay("first"), self._lay("second")) if trial.is_announced else ():
            lease, about, began = f"lease {session.name}", session.about, self._clock()
            process.say({"type": "lease_begin", "id": lease, "session_id": about.id, "cwd": about.cwd})
            yield lambda lease=lease: self._ready_at(lease) is not None  # type: ignore[misc]
            at = self._ready_at(lease)
            trial.ready_s.append(None if at is None else at - began)
            process.say({"type": "lease_end", "id": lease, "session_id": about.id})

    def _ready_at(self, lease: str) -> float | None:
        return next((said.at for said in self._process.heard if said.message == frames.LeaseReady(lease)), None)
