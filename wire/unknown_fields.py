"""Finds the unknown fields of a JSON file, and the names that were probably meant. Pure.

An unknown field is ignored, as in zot. A misspelt guarding field must not be ignored: a guard that should deny would
then allow. Such a field is a *near miss*: the same letters in another style (`onFailure`), one or two slips
(`on_failrue`), or another common word (`fail_closed`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from wire.suggestions import letters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

SLIPS_PER_LETTER = 0.25
"""Maximum number of slips per letter of a suggested name; one slip is always allowed."""
SHORT = 5
"""Minimum number of letters of a guarding field with near misses by slips: `dev` does not mean `env`."""
LONG = 9
"""Number of letters from which a guarding field may have two slips; a shorter one may have one."""
SHOWN = 40
"""Maximum length of a field's name in a message, in characters."""
NAMED = 8
"""Maximum number of fields that one line names; the others are counted."""
HINTED = 200
"""Maximum number of unknown fields of a file for which a meant name is searched, which takes 0.1 ms for each. Near
misses of guarding fields are searched in all of them."""


class UnknownField(NamedTuple):
    """An unknown field."""

    place: str
    """Its path, such as `limits.rss`."""
    meant: str
    """The name that was probably meant; empty if no name is similar."""
    is_near_miss: bool
    """Whether a guarding field was probably meant."""

    @property
    def hint(self) -> str:
        """`did you mean 'x'?`; "" without a meant name."""
        return f"did you mean {self.meant!r}?" if self.meant else ""


def _always(_value: Any) -> bool:
    return True


class Guarding(msgspec.Struct, frozen=True):
    """A field whose misspelling must not be ignored."""

    words: frozenset[str] = frozenset()
    """Other words for it, as `letters` returns them."""
    fits: Callable[[Any], bool] = _always
    """Whether the value of a field named like one of `words` can be meant for this field."""
    is_deep: bool = False
    """Whether it counts inside an unknown object, too."""
    part: str = ""
    values: frozenset[str] = frozenset()
    """A name with `part` in it also means this field if its value is one of `values`."""


class Vocabulary(msgspec.Struct, frozen=True):
    """The fields of a JSON file."""

    known: frozenset[str]
    """The fields that are read, or that belong to another program."""
    guarding: Mapping[str, Guarding]
    """The guarding fields among the known ones."""
    inside: Mapping[str, Sequence[str]] = msgspec.field(default_factory=dict)
    """The names inside known fields that are objects. An unknown field with such a name is in the wrong place."""

    def unknown(self, found: Mapping[str, Any]) -> list[UnknownField]:
        """Returns the unknown fields of a file's object, in its order."""
        unknown = [(name, value) for name, value in found.items() if name not in self.known]
        return [self._judge(name, value, has_hint=number < HINTED) for number, (name, value) in enumerate(unknown)]

    def guarding_of(self, name: str, value: Any) -> str:
        """Returns the guarding field that this field is or nearly misses, else ""."""
        return next((field for field, rule in self.guarding.items() if _is_near(name, value, field, rule)), "")

    def _judge(self, name: str, value: Any, *, has_hint: bool) -> UnknownField:
        if guarding := self.guarding_of(name, value):
            return UnknownField(short_name(name), guarding, is_near_miss=True)
        inner = {letters(each) for each in _names_in(value)}
        for guarding, rule in self.guarding.items():
            if rule.is_deep and _known_letters(guarding) in inner:
                return UnknownField(f"{short_name(name)}: {guarding} inside it", guarding, is_near_miss=True)
        found = letters(name)
        for parent, names in self.inside.items():
            for word in names:
                if _known_letters(word) == found:
                    # One word, such as `action`, has other meanings elsewhere.
                    return UnknownField(short_name(name), f"{parent}.{word}", parent in self.guarding and "_" in word)
        return UnknownField(short_name(name), self._meant(found) if has_hint else "", is_near_miss=False)

    def _meant(self, found: str) -> str:
        """Returns the known name nearest to these letters; "" if no name is near."""
        most = int(max(1, SLIPS_PER_LETTER * len(found)))
        slips = {
            known: _slips(found, _known_letters(known), most) for known in sorted(self.known - self.guarding.keys())
        }
        likest = min(slips, key=slips.__getitem__)
        return likest if slips[likest] <= most else ""


@cache
def _known_letters(name: str) -> str:
    """Cached `letters` of a known name: there are few of these names, and each is compared with every field."""
    return letters(name)


def split_words(text: str) -> frozenset[str]:
    """Returns the words of a text, for the tables of `Guarding`."""
    return frozenset(text.split())


def short_name(name: str) -> str:
    """Returns a field's name for a message: one line of limited length."""
    text = name if name.isprintable() else ascii(name)[1:-1]
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def remark(unknown: Sequence[UnknownField]) -> str:
    """Returns one line that names unknown fields; "" without any."""
    if not unknown:
        return ""
    said = [f"{each.place!r}" + (f" ({each.hint})" if each.hint else "") for each in unknown[:NAMED]]
    more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
    return f"nothing reads the field{'s' * (len(unknown) > 1)} {', '.join(said)}{more}"


def _is_near(name: str, value: Any, guarding: str, rule: Guarding) -> bool:
    found, wanted = letters(name), _known_letters(guarding)
    if found == wanted:
        return True
    if found in rule.words:
        return rule.fits(value)
    if rule.part and rule.part in found and isinstance(value, str) and letters(value) in rule.values:
        return True
    if any(len(word) >= LONG and _slips(found, word, 1) <= 1 for word in rule.words):
        return rule.fits(value)
    slips = 0 if len(wanted) < SHORT else 1 if len(wanted) < LONG else 2
    return _slips(found, wanted, slips) <= slips


def _names_in(value: Any) -> Iterator[str]:
    """Yields the names of all fields at any depth of a JSON value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _slips(first: str, second: str, most: int) -> int:
    """Returns the least number of letters left out, added, changed or swapped with the next one; any larger number if
    it is more than `most`."""
    if abs(len(first) - len(second)) > most or len(set(first) ^ set(second)) > 2 * most:
        return most + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        before, above, row = row, before, [i]
        for j, other in enumerate(second, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and (letter, first[i - 2]) == (second[j - 2], other):
                least = min(least, above[j - 2] + 1)
            row.append(least)
    return row[-1]
