"""The end of input at every stage, half lines at the end, and a host that has gone."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from supervisor.torture.fault import Family
from supervisor.torture.player import END_S
from supervisor.torture.steps import NotHeldError, Wait

if TYPE_CHECKING:
    from supervisor.torture.steps import Steps
    from supervisor.torture.trial import Trial

INPUT_ENDS = Family("end of input")


@INPUT_ENDS.add(
    "eof-before-hello",
    "end of input as soon as it starts",
    "It ends by itself, soon, and leaves no process.",
)
def eof_before_hello(trial: Trial) -> Steps:
    player = trial.launch(greets=False)
    player.end_input()
    yield from player.ends(END_S, "after the end of its input, before its hello")


@INPUT_ENDS.add(
    "eof-after-hello",
    "end of input after its hello, which is never answered",
    "It ends by itself, soon, and leaves no process.",
)
def eof_after_hello(trial: Trial) -> Steps:
    player = trial.launch(greets=False)
    process = player.process
    yield Wait(lambda: process.hello is not None or not process.is_running, process.hello_s)
    if process.hello is None:
        raise NotHeldError(process.failure or "it said no hello")
    player.end_input()
    yield from player.ends(END_S, "after the end of its input, behind its hello")


@INPUT_ENDS.add(
    "eof-after-ready",
    "end of input while it waits for work",
    "It ends by itself with exit status 0, soon, and leaves no process.",
)
def eof_after_ready(trial: Trial) -> Steps:
    yield from trial.start()
    trial.player.end_input()
    yield from trial.player.ends(END_S, "after the end of its input", status=0)


@INPUT_ENDS.add(
    "eof-in-call",
    "end of input right behind a call",
    "It ends by itself, with or without an answer, and leaves no process.",
)
def eof_in_call(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    asked = trial.player.ask()
    trial.player.end_input()
    yield from trial.player.ends(END_S, "after the end of its input, during a call")
    trial.player.is_answered_once([asked])


@INPUT_ENDS.add(
    "half-frame-then-eof",
    "half of a call, then end of input",
    "It drops the half and ends by itself; with length headers, whose readers wait, at SIGTERM.",
)
def half_frame_then_eof(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    player = trial.player
    asked = player.question()
    player.write(asked.data[: trial.rng.randint(2, len(asked.data) - 3)])
    player.end_input()
    if not trial.forms.separator:
        yield Wait(lambda: not player.is_running, player.process.patience.ask)
        player.signal(signal.SIGTERM)
    yield from player.ends(END_S, "after half a frame and the end of its input")
    if player.count(asked):
        raise NotHeldError("it answered a call of which it has got one half")


@INPUT_ENDS.add(
    "no-line-feed-then-eof",
    "a whole call without the line feed at its end, then end of input",
    "It answers the call at most once, and ends by itself.",
)
def no_line_feed_then_eof(trial: Trial) -> Steps:
    trial.needs_answers()
    trial.needs_lines()
    yield from trial.start()
    asked = trial.player.question()
    trial.player.write(asked.data.removesuffix(trial.forms.separator))
    trial.player.end_input()
    yield from trial.player.ends(END_S, "after a frame without a line feed and the end of its input")
    trial.player.is_answered_once([asked])


@INPUT_ENDS.add(
    "output-closed",
    "the host closes its end of stdout, asks twice, and then ends the input",
    "It takes the failed write, or SIGPIPE, as the end of its host, and has ended soon after the end of its input.",
)
def output_closed(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    player = trial.player
    player.close_output()
    for _ in range(2):
        if player.is_running:
            player.ask()
            yield Wait(lambda: not player.is_running, 0.1)
    player.end_input()
    yield from player.ends(END_S, "after both ends of its pipes were closed")


@INPUT_ENDS.add(
    "host-gone",
    "all pipes closed at once during a call, as when the host is killed",
    "It ends by itself, and leaves no process.",
)
def host_gone(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    trial.player.ask()
    trial.player.end_input()
    trial.player.close_output()
    child = trial.player.process.child
    if child is not None and child.stderr is not None:
        child.stderr.close()
    yield from trial.player.ends(END_S, "after its host was gone")
