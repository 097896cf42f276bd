"""The checks that say whether a run was bad. Pure, but for the check by a command, whose exit status is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from agent.bisect.search import Verdict

if TYPE_CHECKING:
    import re

    from agent.bisect.outcome import RunOutcome

MIB = 2**20
SKIP = 125
"""The exit status of a check that cannot tell, as in `git bisect run`."""
QUOTED = 160
"""Maximum of a quoted text in characters."""


class Judged(NamedTuple):
    """A verdict, and the evidence in words."""

    verdict: Verdict
    why: str


class Check(Protocol):
    """One check of a bisection."""

    title: str
    """The check in words, as `longer than 5 s`."""

    def judge(self, outcome: RunOutcome) -> Judged:
        """The verdict about a trial."""
        ...


class TimeCheck:
    """Bad if the run takes longer than this."""

    def __init__(self, most_s: float) -> None:
        self.most_s = most_s
        self.title = f"the run takes longer than {most_s:g} s"

    def judge(self, outcome: RunOutcome) -> Judged:
        took = outcome.ending.seconds
        if outcome.ending.was_ended or took > self.most_s:
            ended = " and was ended" if outcome.ending.was_ended else ""
            return Judged(Verdict.BAD, f"it took {took:.1f} s{ended}")
        return _unless_dry(outcome, f"it took {took:.1f} s")


class MemoryCheck:
    """Bad if the processes of one extension together have had more memory than this."""

    def __init__(self, most_mib: float) -> None:
        self._most = most_mib * MIB
        self.title = f"an extension takes more than {most_mib:g} MiB"

    def judge(self, outcome: RunOutcome) -> Judged:
        name, peak = max(outcome.peaks.items(), key=lambda each: each[1], default=("", 0))
        if peak > self._most:
            return Judged(Verdict.BAD, f"{name} has had {peak / MIB:.0f} MiB")
        return _unless_ended(outcome, f"at most {peak / MIB:.0f} MiB, of {name}" if name else "no extension")


class TextCheck:
    """Bad if a text of the run matches a pattern. The recorded answer does not count: it is the same in each run."""

    def __init__(self, pattern: re.Pattern[str], last_text: str = "") -> None:
        """`last_text`: the text of the last recorded reply."""
        self._pattern = pattern
        self._last_text = last_text.strip()
        self.title = f"a text of the run matches {pattern.pattern}"

    def judge(self, outcome: RunOutcome) -> Judged:
        why = "no text matches"
        for place, text in outcome.texts():
            if (found := self._pattern.search(text)) is None:
                continue
            if text.strip() == self._last_text:
                why = "only the recorded answer matches, which is the same in each run"
                continue
            start = max(0, found.start() - QUOTED // 4)
            return Judged(Verdict.BAD, f"in {place}: {text[start : start + QUOTED].strip()}")
        return _unless_ended(outcome, why)


class CommandCheck:
    """Bad if a command says so by its exit status."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.title = f"{command} fails"

    def judge(self, outcome: RunOutcome) -> Judged:
        raise NotImplementedError  # `judge_status` does it once the command has ended

    def judge_status(self, outcome: RunOutcome, status: int | None, said: str) -> Judged:
        """`status`: the exit status, None if the command took too long; `said`: the last line of its output."""
        more = f": {said[:QUOTED]}" if said else ""
        if status is None:
            return Judged(Verdict.UNRESOLVED, "the check took too long and was ended")
        if (unresolved := _unless_ended(outcome, "")).verdict is Verdict.UNRESOLVED:
            return unresolved
        if status == SKIP:
            return Judged(Verdict.UNRESOLVED, f"the check has skipped it, with exit {SKIP}{more}")
        verdict = Verdict.GOOD if status == 0 else Verdict.BAD
        return Judged(verdict, f"the check ended with {'exit' if status >= 0 else 'signal'} {abs(status)}{more}")


class DifferenceCheck:
    """Bad if the run differs from the recording in the way in which it does with all extensions.

    Without its extensions a run lacks what they add, so it may differ in other ways: these are no evidence. Ask about
    the run with all extensions first, then about the one without any.
    """

    title = "the run is not as it was recorded"

    def __init__(self, replies: int, last_text: str) -> None:
        """`replies`: the number of recorded replies; `last_text`: the text of the last one."""
        self._replies = replies
        self._last_text = last_text
        self._sought: dict[str, str] = {}
        """The differences with all extensions by their keys, less those without any."""

    def judge(self, outcome: RunOutcome) -> Judged:
        found = self._differences(outcome)
        if not self._sought:
            self._sought = found
        shared = next((text for key, text in found.items() if key in self._sought), None)
        if shared is not None:
            return Judged(Verdict.BAD, shared)
        if found:
            return Judged(Verdict.UNRESOLVED, f"it differs in another way: {next(iter(found.values()))}")
        return Judged(Verdict.GOOD, "it is as recorded")

    def without_any(self, outcome: RunOutcome) -> Judged:
        """The verdict about the run without any extension: bad if it has all differences of the one with all."""
        found = self._differences(outcome)
        left = {key: text for key, text in self._sought.items() if key not in found}
        if not left:
            return Judged(Verdict.BAD, next(iter(self._sought.values()), "no difference"))
        self._sought = left
        return Judged(Verdict.GOOD, "it has not the differences of the run with all extensions")

    def _differences(self, outcome: RunOutcome) -> dict[str, str]:
        """Texts by keys, which are the same for the same difference of two trials."""
        found = {each.key: each.line for each in outcome.differences}
        if outcome.ran_dry:
            found["dry"] = f"it asks for more than the {self._replies} recorded replies"
        elif outcome.requests < self._replies:
            asked = outcome.requests
            found[f"requests {asked}"] = f"it asks for {asked} of {self._replies} recorded replies"
        if outcome.status != "ok":
            found[f"status {outcome.status}"] = f"its status is {outcome.status}: {outcome.reason[:QUOTED]}"
        elif outcome.text.strip() != self._last_text.strip():
            found[f"text {outcome.text}"] = f"its answer is another: {outcome.text[:QUOTED]}"
        return found


def _unless_ended(outcome: RunOutcome, why: str) -> Judged:
    """Good, or unresolved if the run was ended or its recording does not reach."""
    if outcome.ending.was_ended:
        return Judged(Verdict.UNRESOLVED, f"it was ended after {outcome.ending.seconds:.1f} s")
    return _unless_dry(outcome, why)


def _unless_dry(outcome: RunOutcome, why: str) -> Judged:
    if outcome.ran_dry:
        return Judged(Verdict.UNRESOLVED, "it asks for more replies than were recorded")
    return Judged(Verdict.GOOD, why)
