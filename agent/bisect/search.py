"""Searches for a smallest set of extensions that makes a run bad. Pure: `test` runs the trials.

The shortest bad prefix of all extensions ends with one of the culprits. With it kept, the shortest bad prefix of those
before it ends with the next one, until the kept ones alone are bad. Each search takes log2 of the number of extensions
in trials: one culprit of fifty needs seven, a pair sixteen. The result was bad in a trial, whatever the others have
shown. Where trials are unresolved or a larger set is good, it may be too large; delta debugging then makes it smaller,
until it is bad and each set with one extension less is not.
"""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


STARTS = 4
"""Maximum number of searches, of which all but the last have met an accident."""


class Verdict(Enum):
    """The outcome of a trial."""

    GOOD = "good"
    BAD = "bad"
    UNRESOLVED = "unresolved"
    """The trial cannot tell: the recording does not fit the run any longer, or the check says so."""


Names = tuple[str, ...]


class FlakySearchError(Exception):
    """The same extensions were bad and then not, again and again."""


class Search:
    """One search among `names`, which are in the order of guards. `test` gets names in that order. All of `names`
    together were bad in a trial, and none was not.

    If the end of the shortest bad prefix is not bad alone, it is one of several culprits, or the trial of that prefix
    was an accident: it is made once more. If it is not bad then, that counts, and the search starts again with all that
    is known.
    """

    def __init__(self, names: Sequence[str], test: Callable[[Names], Verdict]) -> None:
        self._names = tuple(names)
        self._test = test
        self._known: dict[Names, Verdict] = {self._names: Verdict.BAD, (): Verdict.GOOD}
        self._confirmed: set[Names] = set()

    def find(self) -> Names:
        """A set of names that is bad and of which, one by one, none can be left out. Raises `FlakySearchError`."""
        for _ in range(STARTS):
            if (bad := self._narrow()) is not None:
                return self._minimal(bad)
        raise FlakySearchError

    def _narrow(self) -> Names | None:
        """A bad set; None if the trial on which the search relied was an accident."""
        kept: Names = ()
        end = len(self._names)
        while not self._is_bad(kept):
            relied_on = (*self._names[:end], *kept)
            if kept and not self._is_confirmed(relied_on):
                return None
            end = self._shortest_prefix(end, kept) - 1
            kept = (self._names[end], *kept)
        return kept

    def _is_confirmed(self, names: Names) -> bool:
        """Whether a set that was bad is bad in a second trial, too."""
        if names not in self._confirmed:
            self._confirmed.add(names)
            self._known[names] = self._test(names)
        return self._known[names] is Verdict.BAD

    def _shortest_prefix(self, end: int, kept: Names) -> int:
        """The length of a prefix that is bad together with `kept`, and is not if it is one shorter. The prefix of
        length `end` is bad, the empty one is not. An unresolved trial counts as not bad."""
        low, high = 0, end
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_bad((*self._names[:middle], *kept)):
                high = middle
            else:
                low = middle
        return high

    def _minimal(self, bad: Names) -> Names:
        """Delta debugging (Zeller and Hildebrandt, 2002): leaves ever smaller parts of a bad set out."""
        parts = 2
        while len(bad) > 1:
            pieces = _split(bad, parts)
            smaller = next((piece for piece in pieces if self._is_bad(piece)), None)
            if smaller is not None:
                bad, parts = smaller, 2
                continue
            rests = [tuple(name for name in bad if name not in piece) for piece in pieces] if parts > 2 else []
            smaller = next((rest for rest in rests if self._is_bad(rest)), None)
            if smaller is not None:
                bad, parts = smaller, max(parts - 1, 2)
            elif parts >= len(bad):
                break
            else:
                parts = min(2 * parts, len(bad))
        return bad

    def _is_bad(self, names: Names) -> bool:
        if names not in self._known:
            self._known[names] = self._test(names)
        return self._known[names] is Verdict.BAD


def _split(names: Names, parts: int) -> list[Names]:
    """The names in `parts` pieces of about the same length."""
    borders = [len(names) * index // parts for index in range(parts + 1)]
    return [names[start:end] for start, end in pairwise(borders)]
