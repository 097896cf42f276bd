"""A full pipe, and storms of calls, events and cancellations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.torture.fault import Family
from supervisor.torture.probe import sample_event
from supervisor.torture.steps import NotApplicableError, Wait

if TYPE_CHECKING:
    from supervisor.torture.player import Question
    from supervisor.torture.steps import Steps
    from supervisor.torture.trial import Trial

STORMS = Family("full pipes and storms")


@STORMS.add(
    "host-does-not-read",
    "the host leaves stdout unread while it asks much, and then reads on",
    "It waits, loses nothing, and answers each call once, in whole frames.",
)
def host_does_not_read(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    player = trial.player
    player.stop_reading()
    asked = [player.ask() for _ in range(trial.many)]
    yield Wait(lambda: not player.is_running, trial.rng.uniform(0.5, 1.0))
    player.read_on()
    yield from player.awaits(asked, "after the host did not read for a while")
    player.is_answered_once(asked)


@STORMS.add("storm-of-calls", "about a hundred calls without a pause", "It answers each of them once, in any order.")
def storm_of_calls(trial: Trial) -> Steps:
    trial.needs_answers()
    yield from trial.start()
    asked = [trial.player.ask() for _ in range(trial.many)]
    yield from trial.player.awaits(asked, "in a storm")
    trial.player.is_answered_once(asked)


@STORMS.add(
    "storm-of-events",
    "hundreds of the events that it observes, without a pause",
    "It keeps up or drops some, writes no answer to them, and answers the next call.",
)
def storm_of_events(trial: Trial) -> Steps:
    observed = trial.subject.observes
    if not observed:
        raise NotApplicableError("it observes no events")
    yield from trial.start()
    player = trial.player
    session = player.process.channel.session
    for number in range(1, trial.rng.randint(200, 400)):
        player.write(session.tell(sample_event(trial.rng.choice(observed), f"event {number}", sequence=number)))
    yield from player.works("after a storm of events")


def _cancel(trial: Trial, question: Question) -> bytes:
    """Cancels a question. Raises `NotApplicableError` if the extension is not told of that."""
    frame = trial.forms.cancel(question.frame, trial.player.capabilities)
    if frame is None:
        raise NotApplicableError("it is not told of cancelled calls: its hello does not ask for that")
    return trial.forms.pack(frame)


def _needs_calls(trial: Trial) -> None:
    trial.needs_answers()
    if not trial.asks_calls:
        raise NotApplicableError("it has no calls that can be cancelled")


@STORMS.add(
    "cancel-before-call",
    "a cancellation, and only then its call",
    "It ignores a cancellation of a call that it does not know, and answers the next call.",
)
def cancel_before_call(trial: Trial) -> Steps:
    _needs_calls(trial)
    yield from trial.start()
    asked = trial.player.question()
    trial.player.write(_cancel(trial, asked) + asked.data)
    yield from trial.player.works("after a cancellation that came too early")
    trial.player.is_answered_once([asked])


@STORMS.add(
    "cancel-in-call",
    "a cancellation right behind its call",
    "It answers the cancelled call once or not at all, and answers the next one.",
)
def cancel_in_call(trial: Trial) -> Steps:
    _needs_calls(trial)
    yield from trial.start()
    asked = trial.player.question()
    trial.player.write(asked.data + _cancel(trial, asked))
    yield from trial.player.works("after a cancelled call")
    trial.player.is_answered_once([asked])


@STORMS.add(
    "cancel-after-answer",
    "a cancellation after the answer, given twice",
    "It ignores both: the call is over.",
)
def cancel_after_answer(trial: Trial) -> Steps:
    _needs_calls(trial)
    yield from trial.start()
    asked = trial.player.question()
    cancel = _cancel(trial, asked)
    trial.player.write(asked.data)
    yield from trial.player.awaits([asked], "before any cancellation")
    trial.player.write(cancel * 2)
    yield from trial.player.works("after a cancellation that came too late")
    trial.player.is_answered_once([asked])


@STORMS.add(
    "storm-of-cancellations",
    "many calls, each cancelled at once, between cancellations of calls that were never made",
    "It answers each call at most once, keeps nothing of it, and answers the next call.",
)
def storm_of_cancellations(trial: Trial) -> Steps:
    _needs_calls(trial)
    yield from trial.start()
    player = trial.player
    asked, data = [], []
    for _ in range(trial.many // 2):
        question, unmade = player.question(), player.question()
        asked.append(question)
        parts = [question.data + _cancel(trial, question), _cancel(trial, unmade)]
        trial.rng.shuffle(parts)
        data += parts
    player.write(b"".join(data))
    yield from player.works("after a storm of cancellations")
    player.is_answered_once(asked)
