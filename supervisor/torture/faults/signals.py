"""Signals. SIGUSR1 is left out: Node opens a port for a debugger on it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from supervisor.torture.fault import Family
from supervisor.torture.player import END_S
from supervisor.torture.steps import Wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.torture.steps import Steps
    from supervisor.torture.trial import Trial

SIGNALS = Family("signals")
MAY_END = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGALRM, signal.SIGUSR2)
"""Signals that end a program which does not handle them."""
GO_ON = (signal.SIGWINCH, signal.SIGCHLD, signal.SIGURG)
"""Signals without an effect on a program which does not handle them."""


@SIGNALS.add(
    "SIGTERM",
    "SIGTERM while it waits for work",
    "It ends within the second that a host waits before SIGKILL, and leaves no process.",
)
def sigterm(trial: Trial) -> Steps:
    yield from trial.start()
    trial.player.signal(signal.SIGTERM)
    yield from trial.player.ends(trial.player.term_s, "after SIGTERM")


@SIGNALS.add(
    "SIGTERM-in-call",
    "SIGTERM during calls",
    "It ends within the second that a host waits before SIGKILL, with or without its answers.",
)
def sigterm_in_call(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    asked = [trial.player.ask() for _ in range(5)]
    trial.player.signal(signal.SIGTERM)
    yield from trial.player.ends(trial.player.term_s, "after SIGTERM, during calls")
    trial.player.is_answered_once(asked)


@SIGNALS.add(
    "SIGTERM-at-start",
    "SIGTERM at a random moment of its start",
    "It ends within the second that a host waits before SIGKILL.",
)
def sigterm_at_start(trial: Trial) -> Steps:
    player = trial.launch()
    yield Wait(lambda: player.process.phase.is_over, trial.rng.uniform(0.0, 0.1))
    player.signal(signal.SIGTERM)
    yield from player.ends(player.term_s, "after SIGTERM, during its start")


def _may_end(number: signal.Signals) -> Callable[[Trial], Steps]:
    def play(trial: Trial) -> Steps:
        yield from trial.start()
        player = trial.player
        yield from player.works(f"before {number.name}")
        player.signal(number)
        asked = [] if trial.subject.probe is None else [player.ask()]
        is_over = lambda: not player.is_running or bool(asked and all(map(player.count, asked)))  # noqa: E731
        yield Wait(is_over, player.answer_s if asked else 1.0)
        if player.is_running and not (asked and all(map(player.count, asked))):
            yield from player.awaits(asked, f"after {number.name}, and it has not ended")
        if not player.is_running or (yield Wait(lambda: not player.is_running, 0.1)):
            yield from player.ends(END_S, f"after {number.name}")

    return play


def _goes_on(number: signal.Signals) -> Callable[[Trial], Steps]:
    def play(trial: Trial) -> Steps:
        yield from trial.start()
        for _ in range(trial.rng.randint(1, 5)):
            trial.player.signal(number)
            yield from trial.player.works(f"after {number.name}")

    return play


for _number in MAY_END:
    SIGNALS.add(
        _number.name,
        f"{_number.name} while it waits for work",
        "It ends in order and leaves no process, or goes on and answers the next call; it never hangs between the two.",
    )(_may_end(_number))
for _number in GO_ON:
    SIGNALS.add(_number.name, f"{_number.name}, some times, while it works", "It goes on, and answers the next call.")(
        _goes_on(_number)
    )
