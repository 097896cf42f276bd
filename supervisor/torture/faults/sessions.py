"""Two sessions whose frames alternate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.torture.fault import Family
from supervisor.torture.probe import sample_event
from supervisor.torture.steps import NotApplicableError, NotHeldError
from wire.dialects.base import RunSession

if TYPE_CHECKING:
    from supervisor.torture.player import Question
    from supervisor.torture.steps import Steps
    from supervisor.torture.trial import Trial

SESSIONS = Family("sessions")


@SESSIONS.add(
    "two-sessions",
    "calls and events of two sessions in turns, each with its session_id and its folder",
    "It answers each call once, never in the name of the other session, and goes on when one of them ends.",
)
def two_sessions(trial: Trial) -> Steps:
    trial.needs_answers()
    if not trial.forms.has_sessions:
        raise NotApplicableError("a process of its protocol serves one session")
    yield from trial.start()
    player = trial.player
    folders = (trial.paths.cwd, trial.prepare_other())
    runs = [RunSession(f"torture-{name}", folder) for name, folder in zip("ab", folders, strict=True)]
    session = player.process.channel.session
    for run in runs:
        if "session_start" in trial.subject.observes:
            player.write(session.tell(sample_event("session_start", "begin", run)))
    asked: list[tuple[Question, RunSession]] = []
    for _ in range(trial.rng.randint(4, 8)):
        asked += [(player.ask(f"of session {run.id}", run=run), run) for run in runs]
    yield from player.awaits([question for question, _ in asked], "of two sessions")
    player.is_answered_once([question for question, _ in asked])
    if "session_end" in trial.subject.observes:
        player.write(session.tell(sample_event("session_end", "", runs[0])))
    last = player.ask("of the session that goes on", run=runs[1])
    yield from player.awaits([last], "after the end of the other session")
    names = {question.key: run.id for question, run in (*asked, (last, runs[1]))}
    for said in player.process.heard:
        key = None if said.frame is None else trial.forms.key_of_answer(said.frame)
        if said.frame is not None and key in names and said.frame.get("session_id") not in (None, names[key]):
            raise NotHeldError("it answered a call in the name of the other session")
