"""Plays the faults, some at a time, each with processes and folders of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from supervisor.torture.faults.table import FAULTS
from supervisor.torture.first_start import get_to_know
from supervisor.torture.forms import FORMS
from supervisor.torture.score import Outcome, Row, Score, score_of
from supervisor.torture.steps import NotApplicableError, NotHeldError, Wait
from supervisor.torture.trial import Subject, Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.harness.harness import Harness
    from supervisor.harness.recorded_process import RecordedProcess
    from supervisor.torture.boxes import Boxes
    from supervisor.torture.fault import Fault
    from supervisor.torture.steps import Steps

AT_ONCE = 4
"""Maximum number of trials at a time."""
Verdict = tuple[Outcome, str]


@dataclass
class Torture:
    """The result for one extension. `rows` are in the order of the table."""

    subject: Subject
    seed: int
    rows: list[Row] = field(default_factory=list)
    failure: str = ""
    """Why no fault could be played: it does not start, or does not answer, without one."""

    @property
    def tried(self) -> list[Row]:
        """The rows with a trial: all of them, unless it was interrupted or has failed."""
        return [row for row in self.rows if row.trials]

    @property
    def score(self) -> Score:
        return score_of(self.rows)


def torture(
    harness: Harness,
    found: FoundExtension,
    *,
    seed: int,
    seconds: float = 0.0,
    faults: Sequence[Fault] = FAULTS,
    at_once: int = AT_ONCE,
    on_begin: Callable[[Torture], None] | None = None,
    on_trial: Callable[[Row], None] | None = None,
    boxes: Boxes | None = None,
) -> Torture:
    """Plays each fault once; then faults in random order until `seconds` are over. `on_begin` is called before the
    first one, and `on_trial` after each trial. `boxes` keeps the black box of the first trial of each fault that did
    not hold. Raises `HarnessInterruptedError`."""
    result = Torture(Subject(found, FORMS[found.manifest.dialect]), seed, [Row(fault) for fault in faults])
    trial = Trial(harness, result.subject, _chance(seed))
    first = _RunningTrial(harness, trial, get_to_know(trial, result.subject))
    harness.wait(first.advance, None)
    if first.verdict[0] is not Outcome.HELD:
        result.failure = first.verdict[1]
        return result
    if on_begin is not None:
        on_begin(result)
    clock = harness.loop.clock
    until = clock() + seconds
    numbers = _numbered(result.rows, _chance(f"{seed} order"), lambda: clock() < until)
    running: dict[_RunningTrial, Row] = {}

    def advance() -> bool:
        while True:
            for each, row in list(running.items()):
                if each.advance():
                    del running[each]
                    is_first = row.add(*each.verdict, clock() - each.began)
                    if is_first and boxes is not None and each.fallen is not None:
                        row.box = boxes.keep(row.fault.name, each.fallen, has_ended=each.has_ended, now=clock())
                    if on_trial is not None:
                        on_trial(row)
            following = next(numbers, None) if len(running) < at_once else None
            if following is None:
                return not running
            row, number = following
            trial = Trial(harness, result.subject, _chance(f"{seed} {row.fault.name} {number}"))
            running[_RunningTrial(harness, trial, row.fault.play(trial))] = row

    harness.wait(advance, None)
    return result


def _chance(seed: object) -> Random:
    return Random(str(seed))  # noqa: S311  (a run can be repeated)


def _numbered(rows: Sequence[Row], rng: Random, has_time: Callable[[], bool]) -> Iterator[tuple[Row, int]]:
    """All faults in order, and then again in random order while there is time. The number tells the trials of one
    fault apart."""
    number = 0
    yield from ((row, number) for row in rows)
    while has_time():
        number += 1
        for row in rng.sample(rows, len(rows)):
            if not has_time():
                return
            yield row, number


class _RunningTrial:
    """One trial; never waits."""

    def __init__(self, harness: Harness, trial: Trial, steps: Steps) -> None:
        self.trial = trial
        self.began = harness.loop.clock()
        self.verdict: Verdict = (Outcome.NOT_APPLICABLE, "")
        self.fallen: RecordedProcess | None = None
        """The process that does not do what a good one does."""
        self.has_ended = False
        """Whether that process had ended by then."""
        self._harness = harness
        self._clock = harness.loop.clock
        self._steps = self._whole(steps)
        self._wait = Wait(lambda: True, 0.0)
        self._deadline = 0.0
        self._has_begun = False

    def advance(self) -> bool:
        """Takes the steps that are due. Returns True at the end."""
        while (is_over := self._wait.is_over()) or self._clock() >= self._deadline:
            try:
                self._wait = self._steps.send(is_over) if self._has_begun else next(self._steps)
            except StopIteration:
                return True
            self._has_begun = True
            self._deadline = self._clock() + self._wait.seconds
            self._harness.loop.call_later(self._wait.seconds, lambda: None)  # the loop then looks again
        return False

    def _whole(self, steps: Steps) -> Generator[Wait, bool, None]:
        try:
            yield from steps
            self._judge_output()
            self.verdict = (Outcome.HELD, "")
        except NotHeldError as error:
            self.verdict = (Outcome.NOT_HELD, str(error))
            self.fallen = error.process or (self.trial.player.process if self.trial.players else None)
            self.has_ended = self.fallen is not None and not self.fallen.is_running
        except NotApplicableError as error:
            self.verdict = (Outcome.NOT_APPLICABLE, str(error))
        yield from self.trial.close()

    def _judge_output(self) -> None:
        """Lines that are no frames count against a fault only if the extension writes none without it."""
        junk = [line for player in self.trial.players for line in player.junk]
        if junk and not self.trial.subject.writes_junk:
            raise NotHeldError(f"it wrote a line that is no frame: {junk[0]}")
