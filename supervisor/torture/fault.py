"""A fault: its name, the way it is provoked, and the behaviour of a good extension. Pure."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from supervisor.torture.trial import Trial


class Wait(NamedTuple):
    """The trial of a fault goes on when `is_over` holds, or after `seconds`."""

    is_over: Callable[[], bool]
    seconds: float


Steps = Generator[Wait, bool, None]
"""The steps of a trial. Each wait gives back whether it ended in time."""


class NotHeldError(Exception):
    """The extension does not do what a good one does; the text says in plain words what it does."""


class NotApplicableError(Exception):
    """The fault cannot be provoked with this extension; the text says why."""


@dataclass(frozen=True)
class Fault:
    """One row of the table."""

    name: str
    family: str
    provoked: str
    """The fault, as a noun phrase."""
    good: str
    """The behaviour of a good extension, in one sentence."""
    play: Callable[[Trial], Steps]


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
