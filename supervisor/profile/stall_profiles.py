"""Profiles of workers that hang, in a child, before they are ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.profile.place import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.loop.loop import Loop
    from supervisor.process.table import Identity
    from supervisor.process.teardown import Stoppable
    from supervisor.profile.outcome import Outcome
    from supervisor.profile.profile_child import ProfileChild

SECONDS = 2
LATEST_S = 10.0
"""Maximum number of seconds for which such a profile delays the end of a worker."""


class StallProfiles:
    """One per host. `marks` returns the variables by which the processes of an extension are found if the host is
    killed: a profiler has them, too."""

    def __init__(self, loop: Loop, marks: Callable[[str], Mapping[str, str]]) -> None:
        self.always = False
        """Whether each hanging extension is profiled, also without `profile_on_stall` in its manifest."""
        self.trace = ""
        """The path of the run's trace without its ending: the files lie beside it. While it is empty, none is made."""
        self.on_made: Callable[[str, str], None] = lambda _extension, _file: None
        """Called with the extension and the file of each profile."""
        self._loop = loop
        self._marks = marks
        self._children: list[ProfileChild] = []

    def begin(self, extension: str, worker: Identity, on_outcome: Callable[[Outcome], None]) -> None:
        """Profiles a worker's processes. `on_outcome` is called at most `LATEST_S` seconds later, perhaps at once."""
        from supervisor.process.child import SpawnError
        from supervisor.profile.outcome import Outcome, ProfileOrder
        from supervisor.profile.profile_child import ProfileChild

        def ended(outcome: Outcome) -> None:
            if outcome.profile is not None:
                self.on_made(extension, outcome.profile.file)
            on_outcome(outcome)

        place = Place(start=f"{self.trace}.{extension}.")
        order = ProfileOrder(((worker.pid, worker.started),), SECONDS, place)
        self._children = [each for each in self._children if each.child.is_running]
        try:
            marks = self._marks(extension)
            self._children.append(ProfileChild(self._loop, order, marks, within_s=LATEST_S, on_outcome=ended))
        except SpawnError as error:
            ended(Outcome(error=str(error)))

    def stoppables(self) -> Sequence[Stoppable]:
        """The profilers that run, to be stopped with the host."""
        return [each for each in self._children if each.child.is_running]
