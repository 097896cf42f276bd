"""The trial that a run is: what it changes in the run's request, its extensions and its recording."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import force_setattr, replace

from agent.trial.deadlines import SHARES, shorten
from agent.trial.plan import VARIABLE, FoundNames, TrialPlan
from agent.trial.player import TrialPlayer
from agent.trial.report import TrialReport
from agent.trial.tool_results import RecordedTools

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.discovery.discover import Discovery


class TrialError(Exception):
    """The plan cannot be read."""


class Trial:
    """A trial with this plan."""

    def __init__(self, plan: TrialPlan) -> None:
        self.report = TrialReport(plan.report)
        self.tools = RecordedTools(plan, self.report)
        self._plan = plan

    @classmethod
    def take(cls) -> Trial:
        """The trial that the environment names. Removes the variable. Raises `TrialError`."""
        path = os.environ.pop(VARIABLE)
        try:
            return cls(msgspec.json.decode(Path(path).read_bytes(), type=TrialPlan))
        except (OSError, msgspec.MsgspecError) as error:
            raise TrialError(f"{VARIABLE}: {path} cannot be used: {error}; unset it") from None

    def extension_wait(self, given: float | None) -> float | None:
        """Seconds that the first request waits for extensions; `given` is the time of the user's flag."""
        return self._plan.longest_s * SHARES["hello"] if given is None and self._plan.waits else given

    def cut(self, discovery: Discovery) -> Discovery:
        """The discovery without the extensions that are left out; the others keep their order, and have shorter
        deadlines."""
        self.report.add(FoundNames(tuple(each.manifest.name for each in discovery.found)))
        kept = tuple(each for each in discovery.found if each.manifest.name not in self._plan.without)
        for each in kept:
            # In place: trust is bound to this very manifest, and its text and its unknown fields stay with it.
            shortened = shorten(each.manifest.timeouts, each.default_hello_s, self._plan.longest_s)
            force_setattr(each.manifest, "timeouts", shortened)
        return replace(discovery, found=kept)

    def player(self, path: str, cwd: str, places: Mapping[str, str]) -> TrialPlayer:
        """The player of the recording. Raises `CassetteError`."""
        player = TrialPlayer.load(path, cwd=cwd, places=places)
        player.tools = self.tools
        return player
