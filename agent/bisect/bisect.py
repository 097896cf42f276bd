"""Finds the extensions that make a recorded run go bad."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from agent.bisect.checks import CommandCheck, DifferenceCheck, Judged, TimeCheck
from agent.bisect.outcome import as_stdout
from agent.bisect.search import FlakySearchError, Search, Verdict
from agent.bisect.trial_process import SPARE_S
from agent.trial.plan import TrialPlan
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.bisect.checks import Check
    from agent.bisect.outcome import RunOutcome
    from agent.bisect.search import Names
    from agent.bisect.trial_process import TrialProcesses
    from agent.trial.plan import RanTool


class BisectError(Exception):
    """The command or its recording cannot be used. The text says why and what to do."""


class Finding(Enum):
    """The result of a bisection."""

    FOUND = "found"
    NEVER_BAD = "never_bad"
    """The run is good with all extensions."""
    ALWAYS_BAD = "always_bad"
    """The run is bad without any extension."""
    UNRESOLVED = "unresolved"
    """It cannot be said whether the run is bad with all extensions."""
    FLAKY = "flaky"
    """The same extensions are bad in one trial and not in the next."""


class TrialRecord(msgspec.Struct, frozen=True):
    """One trial: `runs` runs with the same extensions."""

    extensions: Names
    """The extensions that it had, in the order of guards."""
    verdict: Verdict
    why: str
    seconds: float
    """The longest of its runs."""
    bad: int
    """The number of its bad runs."""
    runs: int
    complaints: tuple[str, ...] = ()
    """The host's notices about extensions in its last run with this verdict."""


class Flaky(NamedTuple):
    """Extensions whose runs had different outcomes."""

    extensions: Names
    bad: int
    """The number of their bad runs."""
    runs: int


class Bisection(msgspec.Struct, frozen=True):
    """The result of a bisection."""

    finding: Finding
    extensions: Names
    """All extensions of the run, in the order of guards."""
    culprits: Names
    trials: tuple[TrialRecord, ...]

    @property
    def runs(self) -> int:
        return sum(trial.runs for trial in self.trials)

    @property
    def flaky(self) -> Flaky | None:
        """Extensions whose runs had different outcomes; None if there are none."""
        for extensions in dict.fromkeys(trial.extensions for trial in self.trials):
            same = [trial for trial in self.trials if trial.extensions == extensions]
            bad, runs = sum(trial.bad for trial in same), sum(trial.runs for trial in same)
            if 0 < bad < runs:
                return Flaky(extensions, bad, runs)
        return None

    @property
    def decisive(self) -> TrialRecord:
        """The trial that shows the result: that of the culprits alone, or the last one."""
        alone = (each for each in self.trials if each.extensions == self.culprits and each.verdict is Verdict.BAD)
        return next(alone, self.trials[-1]) if self.finding is Finding.FOUND else self.trials[-1]


class BisectRequest(msgspec.Struct, frozen=True):
    """The run to bisect, and how."""

    program: tuple[str, ...]
    """The words that start zot."""
    flags: tuple[str, ...]
    """The flags and the words of a run, with `--json` and `--replay`."""
    wants_events: bool
    """Whether the user's command prints events: then a check by a command reads these, else the answer."""
    has_timeout: bool
    """Whether the command has a `--timeout` of its own."""
    check: Check
    longest_s: float
    """Seconds that a run may take."""
    repeat: int = 1
    """The number of runs of each trial."""


class BisectViewer(Protocol):
    """Follows a bisection."""

    def begins(self, kept: int, total: int, run: int) -> None:
        """A run begins, the first is 1; with `kept` of `total` extensions, 0 of 0 as long as they are unknown."""

    def ended(self, trial: TrialRecord, total: int) -> None:
        """All runs of a trial have ended."""


def bisect(request: BisectRequest, processes: TrialProcesses, viewer: BisectViewer) -> Bisection:
    """Runs trials until the result is known. Raises `BisectError`, `SpawnError`, and `KeyboardInterrupt`."""
    trials = _Trials(request, processes, viewer)
    with_all = trials.run(None)
    names = trials.names
    if with_all.verdict is not Verdict.BAD:
        trials.check_begun()
        finding = Finding.NEVER_BAD if with_all.verdict is Verdict.GOOD else Finding.UNRESOLVED
        return Bisection(finding, names, (), tuple(trials.done))
    # Once more, since all depends on it: a busy moment of the machine must not end the search.
    if trials.run(()).verdict is Verdict.BAD and trials.run(()).verdict is Verdict.BAD:
        trials.check_begun()
        return Bisection(Finding.ALWAYS_BAD, names, (), tuple(trials.done))
    try:
        culprits = Search(names, lambda kept: trials.run(kept).verdict).find()
    except FlakySearchError:
        return Bisection(Finding.FLAKY, names, (), tuple(trials.done))
    return Bisection(Finding.FOUND, names, culprits, tuple(trials.done))


class _Trials:
    """Runs the trials of one bisection, and keeps what the first ones have shown."""

    def __init__(self, request: BisectRequest, processes: TrialProcesses, viewer: BisectViewer) -> None:
        self.names: Names = ()
        self._refusal = ""
        """Why the last run has not begun, as with an extension that cannot be loaded; empty if it has."""
        self.done: list[TrialRecord] = []
        self._request = request
        self._processes = processes
        self._viewer = viewer
        self._runs = 0
        self._owners: dict[str, str] = {}
        self._ran: tuple[RanTool, ...] | None = None
        self._first: frozenset[str] = frozenset()
        """The keys of the differences of the first request with all extensions."""

    def run(self, kept: Names | None) -> TrialRecord:
        """Runs one trial with these extensions; None: with all, which are not yet known."""
        outcomes = [self._one(kept) for _ in range(self._request.repeat)]
        has_begun = outcomes[0].status != Status.REQUIRED_EXTENSION.value
        self._refusal = "" if has_begun else str(outcomes[0].result.get("reason", ""))
        if kept is None:
            self._learn(outcomes)
        elif not kept:
            self._check_fit(outcomes)
        judged = [self._judge(outcome, kept) for outcome in outcomes]
        verdict = majority([each.verdict for each in judged])
        shown = next((index for index, each in enumerate(judged) if each.verdict is verdict), 0)
        record = TrialRecord(
            self.names if kept is None else kept,
            verdict,
            judged[shown].why,
            max(outcome.ending.seconds for outcome in outcomes),
            sum(each.verdict is Verdict.BAD for each in judged),
            len(judged),
            tuple(outcomes[shown].complaints),
        )
        self.done.append(record)
        self._viewer.ended(record, len(self.names))
        return record

    def check_begun(self) -> None:
        """Raises `BisectError` if the last run has not begun."""
        if self._refusal:
            raise BisectError(f"the run ends before its first request: {self._refusal}")

    def _one(self, kept: Names | None) -> RunOutcome:
        request, check = self._request, self._request.check
        self._runs += 1
        self._viewer.begins(len(self.names if kept is None else kept), len(self.names), self._runs)
        plan = TrialPlan(
            str(self._processes.report),
            without=() if kept is None else tuple(name for name in self.names if name not in kept),
            longest_s=request.longest_s,
            owners=self._owners,
            ran=self._ran,
            waits=not isinstance(check, TimeCheck),
            keeps_results=isinstance(check, DifferenceCheck),
        )
        most_s = min(check.most_s, request.longest_s) if isinstance(check, TimeCheck) else request.longest_s
        # If bisect itself is killed, the run ends by its own limit.
        limit = () if request.has_timeout else ("--timeout", f"{most_s + SPARE_S:g}")
        outcome = self._processes.run((*request.program, *limit, *request.flags), plan, most_s)
        if not outcome.result and not outcome.ending.was_ended and outcome.ending.exit_code == Status.USAGE.exit_code:
            lines = outcome.stderr.strip().splitlines() or ["it says nothing"]
            raise BisectError(f"the run cannot start: {lines[-1].removeprefix('zot: ')}")
        return outcome

    def _learn(self, outcomes: Sequence[RunOutcome]) -> None:
        self.names = outcomes[0].names
        if not self.names:
            raise BisectError("the run has no extension that could be left out; name them with --ext, or install them")
        self._owners = {tool: name for outcome in outcomes for tool, name in outcome.owners.items()}
        self._ran = tuple(dict.fromkeys(call for outcome in outcomes for call in outcome.ran))
        self._first = frozenset(each.key for each in outcomes[0].first if each.path != "system")

    def _check_fit(self, outcomes: Sequence[RunOutcome]) -> None:
        """Raises `BisectError` if the first request differs from the recorded one with and without extensions."""
        common = [each for each in outcomes[0].first if each.key in self._first]
        if common:
            raise BisectError(
                f"the recording does not fit; the first request differs with and without them: {common[0].line}"
            )

    def _judge(self, outcome: RunOutcome, kept: Names | None) -> Judged:
        check = self._request.check
        if isinstance(check, CommandCheck):
            stdout = as_stdout(outcome, as_json=self._request.wants_events)
            ended = self._processes.check(check.command, outcome, stdout, self._request.longest_s)
            return check.judge_status(outcome, ended.status, ended.said)
        if isinstance(check, DifferenceCheck) and kept == ():
            return check.without_any(outcome)
        return check.judge(outcome)


def majority(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of more than half of the runs; unresolved if there is none."""
    verdict, count = Counter(verdicts).most_common(1)[0]
    return verdict if 2 * count > len(verdicts) else Verdict.UNRESOLVED
