"""The steps by which a process tree is stopped, and how long each may take. Pure."""

from __future__ import annotations

from enum import Enum

import msgspec


class Patience(msgspec.Struct, frozen=True):
    """Seconds between the steps."""

    hint: float = 0.2
    """From the request to stop until stdin is closed, for a program that only reacts to end of file."""
    ask: float = 2.0
    """From the request to stop until SIGTERM."""
    term: float = 1.0
    """From SIGTERM until SIGKILL."""
    kill: float = 2.0
    """From SIGKILL until the tree is given up; only a process stuck in the kernel lives that long."""

    @property
    def in_all(self) -> float:
        """From the request to stop until the tree is given up."""
        return self.ask + self.term + self.kill

    def lasts(self, stage: StopStage) -> float:
        """Returns the maximum of seconds that this stage lasts."""
        match stage:
            case StopStage.ASKED:
                return self.hint
            case StopStage.HINTED:
                return self.ask - self.hint
            case StopStage.TERMINATED:
                return self.term
            case _:
                return self.kill


class StopStage(Enum):
    """The stages in which a process tree is stopped."""

    ASKED = "asked"
    HINTED = "hinted"
    TERMINATED = "terminated"
    KILLED = "killed"
    GONE = "gone"
    STUCK = "stuck"


class StopStep(Enum):
    """The action that a teardown takes on a tree."""

    WAIT = "wait"
    CLOSE_STDIN = "close stdin"
    TERMINATE = "terminate"
    KILL = "kill"
    FINISH = "finish"
    GIVE_UP = "give up"


_NEXT = {
    StopStage.ASKED: (StopStep.CLOSE_STDIN, StopStage.HINTED),
    StopStage.HINTED: (StopStep.TERMINATE, StopStage.TERMINATED),
    StopStage.TERMINATED: (StopStep.KILL, StopStage.KILLED),
    StopStage.KILLED: (StopStep.GIVE_UP, StopStage.STUCK),
}


def next_step(
    stage: StopStage, *, since: float, leader_lives: bool, others_live: bool, patience: Patience
) -> tuple[StopStep, StopStage]:
    """Returns the step for a tree and the stage that follows. The current stage began `since` seconds ago.

    Once the leader is gone, no process can be asked to stop: its descendants get SIGTERM at once.
    """
    if not leader_lives and not others_live:
        return StopStep.FINISH, StopStage.GONE
    if stage in (StopStage.ASKED, StopStage.HINTED) and not leader_lives:
        return StopStep.TERMINATE, StopStage.TERMINATED
    if stage in _NEXT and since >= patience.lasts(stage):
        return _NEXT[stage]
    # Some trees fork faster than a read of the process table finds their processes: the kill is repeated.
    return (StopStep.KILL if stage is StopStage.KILLED and others_live else StopStep.WAIT), stage
