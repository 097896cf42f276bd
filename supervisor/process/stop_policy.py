"""The steps by which a process tree is stopped, and how long each may take. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class Patience:
    """Seconds between the steps."""

    hint: float = 0.2
    """From the request to stop until stdin is closed, for a program that knows only end of file."""
    ask: float = 2.0
    """From the request to stop until SIGTERM."""
    term: float = 1.0
    """From SIGTERM until SIGKILL."""
    kill: float = 2.0
    """From SIGKILL until it is given up; only a process stuck in the kernel gets there."""


class Stage(Enum):
    """How far the stopping of one tree has gone."""

    ASKED = "asked"
    HINTED = "hinted"
    TERMINATED = "terminated"
    KILLED = "killed"
    GONE = "gone"
    STUCK = "stuck"


class Step(Enum):
    """What to do now."""

    WAIT = "wait"
    CLOSE_STDIN = "close stdin"
    TERMINATE = "terminate"
    KILL = "kill"
    FINISH = "finish"
    GIVE_UP = "give up"


def next_step(
    stage: Stage, *, since: float, leader_lives: bool, others_live: bool, patience: Patience
) -> tuple[Step, Stage]:
    """What to do with a tree whose current stage began `since` seconds ago, and the stage that follows.

    A leader that has gone leaves nobody to ask: what it left behind is terminated at once.
    """
    if not leader_lives and not others_live:
        return Step.FINISH, Stage.GONE
    if stage is Stage.ASKED and leader_lives:
        return (Step.CLOSE_STDIN, Stage.HINTED) if since >= patience.hint else (Step.WAIT, stage)
    if stage is Stage.HINTED and leader_lives:
        over = since >= patience.ask - patience.hint
        return (Step.TERMINATE, Stage.TERMINATED) if over else (Step.WAIT, stage)
    if stage in (Stage.ASKED, Stage.HINTED):
        return Step.TERMINATE, Stage.TERMINATED
    if stage is Stage.TERMINATED:
        return (Step.KILL, Stage.KILLED) if since >= patience.term else (Step.WAIT, stage)
    if stage is Stage.KILLED:
        if since >= patience.kill:
            return Step.GIVE_UP, Stage.STUCK
        return (Step.KILL if others_live else Step.WAIT), stage  # some fork faster than they are found
    return Step.WAIT, stage
