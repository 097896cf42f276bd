"""How far one version of an extension has come: candidate, current, draining, gone. Pure."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from supervisor.extension.lifecycle import State

if TYPE_CHECKING:
    from collections.abc import Collection


FAILED = "reload failed: "
"""How the warning begins that a new version has not taken over."""


DRAINING_LIMIT = 8
"""Versions of one extension that still finish their calls; with so many no further one is started."""


class GenerationState(Enum):
    """What the processes of one version are to their extension."""

    CANDIDATE = "candidate"
    """Starting, beside the present ones; nobody asks them anything."""
    CURRENT = "present"
    """They are asked and told."""
    DRAINING = "leaving"
    """They finish what they were asked, or are being ended. Nothing of them is started again."""
    GONE = "left"
    """Nothing of them is there any more."""


class GenerationTrigger(Enum):
    PROMOTED = "promoted"
    DISMISSED = "dismissed"
    CLEARED = "cleared"


_TRANSITIONS = {
    (GenerationState.CANDIDATE, GenerationTrigger.PROMOTED): GenerationState.CURRENT,
    (GenerationState.CANDIDATE, GenerationTrigger.DISMISSED): GenerationState.DRAINING,
    (GenerationState.CURRENT, GenerationTrigger.DISMISSED): GenerationState.DRAINING,
    (GenerationState.DRAINING, GenerationTrigger.CLEARED): GenerationState.GONE,
}


def advance(standing: GenerationState, turn: GenerationTrigger) -> GenerationState:
    """The next standing; the same one where the turn means nothing."""
    return _TRANSITIONS.get((standing, turn), standing)


def may_take_over(states: Collection[State]) -> bool:
    """Whether a candidate whose processes are in these states takes the place of the present ones."""
    return all(state is State.READY for state in states)
