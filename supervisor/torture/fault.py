"""A fault: its name, the way it is provoked, and the behaviour of a good extension. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.torture.steps import Steps
    from supervisor.torture.trial import Trial

    Play = Callable[[Trial], Steps]


@dataclass(frozen=True)
class Fault:
    """One row of the table."""

    name: str
    family: str
    provoked: str
    """The fault, as a noun phrase."""
    good: str
    """The behaviour of a good extension, in one sentence."""
    play: Play
    """Returns the steps of one trial."""


class Family:
    """The faults of one family, in the order in which they are added."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.faults: list[Fault] = []

    def add(
        self, name: str, provoked: str, good: str
    ) -> Callable[[Callable[[Trial], Steps]], Callable[[Trial], Steps]]:
        def register(play: Callable[[Trial], Steps]) -> Callable[[Trial], Steps]:
            self.faults.append(Fault(name, self.name, provoked, good, play))
            return play

        return register
