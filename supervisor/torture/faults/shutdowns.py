"""Requests to stop that come early, late, twice or unheard, and reloads."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from supervisor.harness.harness import QUIET_S
from supervisor.torture.fault import Family
from supervisor.torture.steps import NotApplicableError, NotHeldError, Wait

if TYPE_CHECKING:
    from supervisor.torture.player import Player
    from supervisor.torture.steps import Steps
    from supervisor.torture.trial import Trial

SHUTDOWNS = Family("shutdown and reload")


def _shutdown(player: Player) -> bytes:
    frame = player.process.channel.session.stop()
    if not frame:
        raise NotApplicableError("its protocol has no request to stop: the end of its input is one")
    return frame


@SHUTDOWNS.add(
    "no-fault",
    "no fault: a start, a call, a request to stop",
    "It gets ready, answers once, writes only frames to stdout, ends by itself with exit status 0, leaves no process.",
)
def no_fault(trial: Trial) -> Steps:
    yield from trial.start()
    player = trial.player
    yield from player.works("without any fault")
    yield Wait(lambda: not player.is_running or bool(player.surplus(player.asked)), QUIET_S)
    yield from player.stops()
    if surplus := player.surplus(player.asked):
        raise NotHeldError(surplus)
    if player.junk:
        raise NotHeldError(f"it wrote a line that is no frame: {player.junk[0]}")


@SHUTDOWNS.add(
    "shutdown-in-call",
    "the request to stop right behind a call",
    "It finishes or refuses the call, and ends by itself before SIGTERM comes.",
)
def shutdown_in_call(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    asked = trial.player.ask()
    yield from trial.player.stops()
    trial.player.is_answered_once([asked])


@SHUTDOWNS.add(
    "shutdown-instead-of-greeting",
    "the request to stop as the answer to its hello",
    "It ends by itself, although it was never greeted.",
)
def shutdown_instead_of_greeting(trial: Trial) -> Steps:
    player = trial.launch(greets=False)
    frame = _shutdown(player)
    process = player.process
    yield Wait(lambda: process.hello is not None or not process.is_running, process.hello_s)
    player.write(frame)
    yield from player.stops(exit_status=None)


@SHUTDOWNS.add("shutdown-twice", "the request to stop, twice", "It ends once, in order, with exit status 0.")
def shutdown_twice(trial: Trial) -> Steps:
    yield from trial.start()
    trial.player.write(_shutdown(trial.player) * 2)
    yield from trial.player.ends(trial.player.process.patience.ask + 2.0, "after two requests to stop", status=0)


@SHUTDOWNS.add(
    "shutdown-unheard",
    "the request to stop while the host reads nothing and its stdout is full, then SIGTERM",
    "It has ended after SIGTERM at the latest, although it cannot write its last frames.",
)
def shutdown_unheard(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    player = trial.player
    player.stop_reading()
    for _ in range(trial.many):
        player.ask()
    yield Wait(lambda: not player.is_running, 0.3)
    player.write(player.process.channel.session.stop())
    player.end_input()
    yield Wait(lambda: not player.is_running, 1.0)
    player.signal(signal.SIGTERM)
    yield from player.ends(player.term_s, "after SIGTERM, with a full pipe")


@SHUTDOWNS.add(
    "shutdown-while-stopped",
    "the request to stop and then SIGTERM while it is stopped by SIGSTOP, then SIGCONT",
    "It ends as soon as it goes on.",
)
def shutdown_while_stopped(trial: Trial) -> Steps:
    yield from trial.start()
    player = trial.player
    player.signal(signal.SIGSTOP)
    player.write(player.process.channel.session.stop())
    yield Wait(lambda: False, trial.rng.uniform(0.1, 0.4))
    player.signal(signal.SIGTERM)
    player.signal(signal.SIGCONT)
    yield from player.ends(player.term_s, "after SIGTERM and SIGCONT")


@SHUTDOWNS.add(
    "reload-while-busy",
    "a reload during calls: a second process with the same data folder starts while the first one works and stops",
    "The new process gets ready and answers; the old one answers its calls, and ends by itself.",
)
def reload_while_busy(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    old = trial.player
    asked = [old.ask() for _ in range(5)]
    yield from trial.start()
    yield from trial.player.works("in the new process, while the old one was busy")
    yield from old.awaits(asked, "in the old process, during a reload")
    yield from old.stops()
    yield from trial.player.works("in the new process, after the old one had ended")


@SHUTDOWNS.add(
    "two-at-once",
    "two processes at the same time with the same data folder, both asked in turns",
    "Both answer; neither takes a lock that makes the other one wait or fail.",
)
def two_at_once(trial: Trial) -> Steps:
    trial.needs_answers()
    for _ in range(2):
        yield from trial.start()
    for _ in range(trial.rng.randint(3, 6)):
        for player in trial.players:
            yield from player.works("while another process of it ran")
