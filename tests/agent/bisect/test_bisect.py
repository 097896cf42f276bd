"""`agent.bisect.bisect`, with runs that are made up."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent.bisect.bisect import BisectError, Bisection, BisectRequest, Finding, bisect, majority
from agent.bisect.checks import DifferenceCheck, TextCheck, TimeCheck
from agent.bisect.outcome import RunOutcome, TrialEnding
from agent.bisect.search import Verdict
from agent.trial.plan import RanTool, ShownDifference

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.trial.plan import TrialPlan

NAMES = tuple("abcdefgh")
CHECK = TextCheck(re.compile("oops"))
MADE = RanTool("bash", "{}")


class MadeUpRuns:
    """Stands in for the processes: `says` gets the extensions of a trial and returns the text of its run."""

    report = Path("report")

    def __init__(self, says: Callable[[set[str]], str], **fields: Any) -> None:
        self.plans: list[TrialPlan] = []
        self.commands: list[tuple[str, ...]] = []
        self._says = says
        self._fields = {"names": NAMES, "owners": {"look": "a"}, "ran": (MADE,), **fields}

    def run(self, argv: Any, plan: TrialPlan, most_s: float) -> RunOutcome:
        self.commands.append(tuple(argv))
        self.plans.append(plan)
        result = {"type": "result", "status": "ok", "text": self._says(set(NAMES) - set(plan.without))}
        return RunOutcome(TrialEnding(0, 0.5), (result,), "", **self._fields)


class NoView:
    def begins(self, kept: int, total: int, run: int) -> None: ...
    def ended(self, trial: Any, total: int) -> None: ...


def bisected(runs: Any, check: Any = CHECK, repeat: int = 1, *, has_timeout: bool = False) -> Bisection:
    request = BisectRequest(("zot",), ("--json", "--replay", "f"), False, has_timeout, check, 30.0, repeat)
    return bisect(request, runs, NoView())


def test_one_and_a_pair_are_found():
    found = bisected(MadeUpRuns(lambda kept: "oops" if "c" in kept else ""))
    assert (found.finding, found.culprits, found.extensions) == (Finding.FOUND, ("c",), NAMES)
    assert (found.decisive.extensions, found.runs) == (("c",), len(found.trials))
    found = bisected(MadeUpRuns(lambda kept: "oops" if {"b", "g"} <= kept else ""))
    assert (found.culprits, found.decisive.why) == (("b", "g"), "in the answer: oops")


def test_a_run_that_is_never_or_always_bad_is_told_after_one_or_three_runs():
    never = bisected(MadeUpRuns(lambda _: "fine"))
    assert (never.finding, never.runs) == (Finding.NEVER_BAD, 1)
    always = bisected(MadeUpRuns(lambda _: "oops"))
    assert (always.finding, always.runs) == (Finding.ALWAYS_BAD, 3)
    dry = bisected(MadeUpRuns(lambda _: "fine", ran_dry=True))
    assert (dry.finding, dry.runs) == (Finding.UNRESOLVED, 1)


def test_one_bad_run_without_extensions_may_be_an_accident():
    answers = iter(["oops", "oops"])
    found = bisected(MadeUpRuns(lambda kept: next(answers, "oops" if "c" in kept else "")))
    assert (found.culprits, found.flaky) == (("c",), ((), 1, 2))


def test_later_trials_know_what_the_first_has_shown():
    runs = MadeUpRuns(lambda kept: "oops" if "c" in kept else "")
    bisected(runs)
    first, second = runs.plans[:2]
    assert (first.without, first.owners, first.ran) == ((), {}, None)
    assert (second.without, second.owners, second.ran) == (NAMES, {"look": "a"}, (MADE,))
    assert runs.commands[0] == ("zot", "--timeout", "35", "--json", "--replay", "f")


def test_a_limit_of_the_user_is_kept_and_a_check_of_time_ends_runs_sooner():
    runs = MadeUpRuns(lambda _: "")
    bisected(runs, has_timeout=True)
    bisected(runs, TimeCheck(2.0))
    assert runs.commands == [("zot", "--json", "--replay", "f"), ("zot", "--timeout", "7", "--json", "--replay", "f")]
    assert [plan.waits for plan in runs.plans] == [True, False]


def test_differing_outcomes_of_the_same_extensions_are_seen():
    answers = iter(["oops", "", "oops", *[""] * 3])

    def says(kept: set[str]) -> str:
        return next(answers, "oops" if "c" in kept else "")

    found = bisected(MadeUpRuns(says), repeat=3)
    assert found.culprits == ("c",)
    assert found.flaky is not None
    assert (found.flaky.extensions, found.flaky.bad, found.flaky.runs) == (NAMES, 2, 3)
    assert found.runs == 3 * len(found.trials)


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        ("BBG", Verdict.BAD),
        ("GGB", Verdict.GOOD),
        ("BG", Verdict.UNRESOLVED),
        ("BGU", Verdict.UNRESOLVED),
        ("B", Verdict.BAD),
    ],
)
def test_the_majority_counts(verdicts: str, verdict: Verdict):
    letters = {"B": Verdict.BAD, "G": Verdict.GOOD, "U": Verdict.UNRESOLVED}
    assert majority([letters[letter] for letter in verdicts]) is verdict


def test_a_recording_of_another_prompt_does_not_fit():
    other = (ShownDifference("k", "messages[0].content[0].text", 'messages[0]\n  recorded: "a"\n  asked: "b"'),)
    with pytest.raises(BisectError, match=r"does not fit.*messages\[0\].*recorded"):
        bisected(MadeUpRuns(lambda _: "oops", first=other))


def test_another_system_prompt_alone_is_no_misfit():
    other = (ShownDifference("k", "system", "a newer zot"),)
    assert bisected(MadeUpRuns(lambda kept: "oops" if "c" in kept else "", first=other)).culprits == ("c",)


def test_a_run_without_extensions_cannot_be_bisected():
    with pytest.raises(BisectError, match="no extension"):
        bisected(MadeUpRuns(lambda _: "oops", names=()))


def test_the_differences_of_the_run_without_extensions_count_only_if_no_others_are_left():
    lacks, corrupt = ShownDifference("lacks", "m", "lacks"), ShownDifference("corrupt", "m", "corrupt")

    class Runs(MadeUpRuns):
        def run(self, argv: Any, plan: TrialPlan, most_s: float) -> RunOutcome:
            kept = set(NAMES) - set(plan.without)
            differences = (*([] if "a" in kept else [lacks]), *([corrupt] if "f" in kept else []))
            self._fields |= {"differences": differences, "requests": 1}
            return super().run(argv, plan, most_s)

    found = bisected(Runs(lambda _: "done"), DifferenceCheck(1, "done"))
    assert (found.finding, found.culprits) == (Finding.FOUND, ("f",))
