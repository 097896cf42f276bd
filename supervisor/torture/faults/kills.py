"""Processes that are killed, or stopped and continued."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from supervisor.torture.fault import Family
from supervisor.torture.steps import NotHeldError, Wait

if TYPE_CHECKING:
    from supervisor.torture.player import Player
    from supervisor.torture.steps import Steps
    from supervisor.torture.trial import Trial

KILLS = Family("killed and stopped")
AGAIN = "in its next start, after it was killed"


def _kill(player: Player) -> Steps:
    player.signal(signal.SIGKILL)
    yield Wait(lambda: not player.is_running, player.answer_s)


def _starts_again(trial: Trial) -> Steps:
    """With the same folders as the first process."""
    try:
        yield from trial.start()
    except NotHeldError as error:
        raise NotHeldError(f"its next start failed: {error}") from None
    yield from trial.player.works(AGAIN)


@KILLS.add(
    "killed-in-call",
    "SIGKILL during a call",
    "It keeps no half-written state: its next start, with the same data folder, gets ready and answers.",
)
def killed_in_call(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    player = trial.player
    player.ask()
    yield Wait(lambda: False, trial.rng.uniform(0.0, 0.003))
    yield from _kill(player)
    yield from _starts_again(trial)


@KILLS.add(
    "killed-at-start",
    "SIGKILL at a random moment of its start",
    "Its next start, with the same data folder, gets ready and answers.",
)
def killed_at_start(trial: Trial) -> Steps:
    player = trial.launch()
    yield Wait(lambda: player.process.phase.is_over, trial.rng.uniform(0.0, 0.15))
    yield from _kill(player)
    yield from _starts_again(trial)


@KILLS.add(
    "killed-again-and-again",
    "SIGKILL in three starts in a row, each after some calls",
    "Nothing adds up from one killed process to the next: the fourth start gets ready and answers.",
)
def killed_again_and_again(trial: Trial) -> Steps:
    trial.needs_answers()
    for _ in range(3):
        yield from trial.start()
        for _ in range(trial.rng.randint(1, 5)):
            trial.player.ask()
        yield Wait(lambda: False, trial.rng.uniform(0.0, 0.01))
        yield from _kill(trial.player)
    yield from _starts_again(trial)


@KILLS.add(
    "stopped-in-call",
    "SIGSTOP during a call, SIGCONT after a while",
    "It goes on where it was: the call is answered once, and so is the next one.",
)
def stopped_in_call(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    player = trial.player
    asked = player.ask()
    player.signal(signal.SIGSTOP)
    yield Wait(lambda: False, trial.rng.uniform(0.2, 0.6))
    player.signal(signal.SIGCONT)
    yield from player.awaits([asked], "after it was stopped and continued")
    yield from player.works("after it was stopped and continued")
    player.is_answered_once([asked])


@KILLS.add(
    "stopped-while-calls-pile-up",
    "SIGSTOP, many calls while it is stopped, SIGCONT",
    "It reads all that has piled up, and answers each call once.",
)
def stopped_under_load(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    player = trial.player
    player.signal(signal.SIGSTOP)
    asked = [player.ask() for _ in range(trial.many // 2)]
    yield Wait(lambda: False, trial.rng.uniform(0.1, 0.3))
    player.signal(signal.SIGCONT)
    yield from player.awaits(asked, "after it was stopped and continued")
    player.is_answered_once(asked)
